package dev.athanor.engine.ptx;

import static dev.athanor.engine.ptx.Row.pure;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * SIMD video instructions on whole registers (PTX ISA 9.7.18.2), as compilers emit them: without
 * masks and selectors of elements.
 */
final class VideoRows {

  /** The functions of elements by the beginnings of mnemonics, in the order of the rows. */
  private static final Map<String, String> FUNCTIONS =
      new TreeMap<>(
          Map.of(
              "vadd", "add",
              "vsub", "subtract",
              "vavrg", "average",
              "vabsdiff", "distance",
              "vmin", "min",
              "vmax", "max"));

  static final List<Form> ALL = all();

  private VideoRows() {}

  private static List<Form> all() {
    var rows = new ArrayList<Form>();
    for (var each : FUNCTIONS.entrySet()) {
      add(rows, "9.7.18.2.1", each.getKey() + "2", each.getValue(), "Halves");
      add(rows, "9.7.18.2.3", each.getKey() + "4", each.getValue(), "Bytes");
    }
    addSet(rows, "9.7.18.2.2", "vset2", "Halves");
    addSet(rows, "9.7.18.2.4", "vset4", "Bytes");
    return List.copyOf(rows);
  }

  private static void add(
      List<Form> rows, String section, String mnemonic, String function, String elements) {
    var types = mnemonic + ".<u32|s32>.<u32|s32>.<u32|s32>";
    var operands = " d:u32, a:word, b:word, c:word";
    var compute = function + elements + ">";
    rows.add(pure(section, "3.0", 30, types + operands, compute + "merge" + elements));
    rows.add(pure(section, "3.0", 30, types + ".sat" + operands, compute + "saturate" + elements));
    rows.add(pure(section, "3.0", 30, types + ".add" + operands, compute + "sum" + elements));
  }

  private static void addSet(List<Form> rows, String section, String mnemonic, String elements) {
    var types = mnemonic + ".<u32|s32>.<u32|s32>.cmp";
    var operands = " d:u32, a:word, b:word, c:word";
    var compute = "compare" + elements + ">";
    rows.add(pure(section, "3.0", 30, types + operands, compute + "merge" + elements));
    rows.add(pure(section, "3.0", 30, types + ".add" + operands, compute + "sum" + elements));
  }
}
