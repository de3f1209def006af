package dev.athanor.engine.ptx;

import dev.athanor.engine.ptx.table.InstructionTable;
import dev.athanor.engine.ptx.table.Row;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The files under {@code ptx-samples}: output of nvcc and handwritten PTX. */
public final class Samples {

  private static final Path ROOT = Path.of("src/test/resources/ptx-samples");

  private Samples() {}

  /** Returns the file names, such as {@code k01_saxpy.sm_80.ptx}. */
  public static List<String> names() {
    try (var walk = Files.walk(ROOT)) {
      return walk.filter(f -> f.toString().endsWith(".ptx"))
          .map(f -> ROOT.relativize(f).toString())
          .sorted()
          .toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns the text of a file. */
  public static String text(String name) {
    try {
      return Files.readString(ROOT.resolve(name));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Returns a row of the table, or a stub that accepts the operands. This tests the grammar
   * independently of the table.
   */
  public static Statement.Instruction anyInstruction(
      String opcode, List<Operand> operands, Statement.@Nullable Guard guard, Source source) {
    try {
      return InstructionTable.instruction(opcode, operands, guard, source);
    } catch (IllegalArgumentException missing) {
      var slots = new ArrayList<String>();
      for (int i = 0; i < operands.size(); i++) {
        slots.add("a:b32");
      }
      var words = opcode.split("\\.");
      var row =
          Row.row(
                  "",
                  "1.0",
                  20,
                  opcode + (slots.isEmpty() ? "" : " " + String.join(", ", slots)),
                  new Semantics.Exit(false))
              .forms()
              .getFirst();
      var modifiers = Arrays.stream(words).skip(1).map(Modifier::of).toList();
      return new Statement.Instruction(row, new Modifiers(modifiers), operands, guard, source);
    }
  }
}
