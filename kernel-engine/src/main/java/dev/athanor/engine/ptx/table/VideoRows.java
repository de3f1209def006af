package dev.athanor.engine.ptx.table;

import static dev.athanor.engine.ptx.table.Row.pure;

import dev.athanor.engine.ptx.InstructionForm;
import dev.athanor.engine.ptx.Modifiers;
import dev.athanor.engine.ptx.Semantics;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Video instructions (PTX ISA 9.7.18): scalar ones, which select bytes and halves of registers, and
 * SIMD ones with masks. SIMD permutations of source elements are not supported.
 */
public final class VideoRows {

  /** Element functions by prefix of the SIMD mnemonic, in the order of the rows. */
  private static final Map<String, String> FUNCTIONS =
      new TreeMap<>(
          Map.of(
              "vadd", "add",
              "vsub", "subtract",
              "vavrg", "average",
              "vabsdiff", "distance",
              "vmin", "min",
              "vmax", "max"));

  /** Scalar functions by mnemonic, in the order of the rows. */
  private static final Map<String, String> SCALARS =
      new TreeMap<>(
          Map.of(
              "vadd", "addScalars",
              "vsub", "subtractScalars",
              "vabsdiff", "scalarDistance",
              "vmin", "minOfScalars",
              "vmax", "maxOfScalars"));

  public static final List<InstructionForm> ALL = Row.forms(all());

  private VideoRows() {}

  private static List<Row> all() {
    var rows = new ArrayList<Row>();
    for (var each : SCALARS.entrySet()) {
      addScalar(rows, "9.7.18.1.1", each.getKey() + ".sign.sign.sign{.sat}", each.getValue());
    }
    addScalar(rows, "9.7.18.1.2", "vshl.sign.sign.u32{.sat}.<clamp|wrap>", "shiftScalarLeft");
    addScalar(rows, "9.7.18.1.2", "vshr.sign.sign.u32{.sat}.<clamp|wrap>", "shiftScalarRight");
    rows.add(
        pure(
            Semantics.LaneOperation.OTHER,
            "9.7.18.1.3",
            "2.0",
            20,
            "vmad.sign.sign.sign{.po}{.sat}{.<shr7|shr15>}"
                + "{.<a:negated|c:negated>}{.b:negated}{.asel}{.bsel} d:u32, a:u32, b:u32, c:u32",
            VideoRows::isNegatedOnce,
            "multiplyAddScalars"));
    addScalar(rows, "9.7.18.1.4", "vset.sign.sign.cmp", "compareScalars");
    for (var each : FUNCTIONS.entrySet()) {
      add(rows, "9.7.18.2.1", each.getKey() + "2", each.getValue(), "Halves", "halfmask");
      add(rows, "9.7.18.2.3", each.getKey() + "4", each.getValue(), "Bytes", "bytemask");
    }
    addSet(rows, "9.7.18.2.2", "vset2", "Halves", "halfmask");
    addSet(rows, "9.7.18.2.4", "vset4", "Bytes", "bytemask");
    return rows;
  }

  /** Returns whether at most one of product and addend is negated, and neither with {@code .po}. */
  private static boolean isNegatedOnce(Modifiers modifiers) {
    boolean product = modifiers.has("a:negated") || modifiers.has("b:negated");
    return !(product && modifiers.has("c:negated"))
        && !(modifiers.has("po") && (product || modifiers.has("c:negated")));
  }

  private static void addScalar(List<Row> rows, String section, String opcode, String function) {
    var two = "{.asel}{.bsel} d:u32, a:u32, b:u32";
    rows.add(pure(section, "2.0", 20, opcode + two, function));
    rows.add(pure(section, "2.0", 20, opcode + ".<add|min|max>" + two + ", c:u32", function));
    rows.add(pure(section, "2.0", 20, opcode + ".dsel" + two + ", c:u32", function));
  }

  private static void add(
      List<Row> rows,
      String section,
      String mnemonic,
      String function,
      String elements,
      String mask) {
    var types = mnemonic + ".sign.sign.sign";
    var operands = "{." + mask + "} d:u32, a:word, b:word, c:word";
    var compute = function + elements + ">";
    rows.add(pure(section, "3.0", 30, types + operands, compute + "merge" + elements));
    rows.add(pure(section, "3.0", 30, types + ".sat" + operands, compute + "saturate" + elements));
    rows.add(pure(section, "3.0", 30, types + ".add" + operands, compute + "sum" + elements));
  }

  private static void addSet(
      List<Row> rows, String section, String mnemonic, String elements, String mask) {
    var types = mnemonic + ".sign.sign.cmp";
    var operands = "{." + mask + "} d:u32, a:word, b:word, c:word";
    var compute = "compare" + elements + ">";
    rows.add(pure(section, "3.0", 30, types + operands, compute + "merge" + elements));
    rows.add(pure(section, "3.0", 30, types + ".add" + operands, compute + "sum" + elements));
  }
}
