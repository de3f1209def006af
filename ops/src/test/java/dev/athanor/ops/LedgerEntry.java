package dev.athanor.ops;

import dev.athanor.engine.analysis.Assembler;
import dev.athanor.engine.analysis.sass.InnermostLoop;
import dev.athanor.engine.analysis.sass.InstructionClass;
import dev.athanor.engine.analysis.sass.KernelCode;
import dev.athanor.engine.analysis.sass.MachineCode;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Target;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Pattern;

/**
 * An entry of the ledger of machine code, for a kernel on a target. It is written {@code
 * sm_90=236:125/64/2}: registers of a thread, then instructions, matrix instructions and moves of
 * the main loop.
 *
 * @param registers registers of a thread
 * @param instructions instructions of the main loop: the innermost loop with the most matrix
 *     instructions, then the longest; 0 without loops
 * @param matrix matrix instructions of the main loop
 * @param moves moves between registers in the main loop
 */
public record LedgerEntry(Target target, int registers, int instructions, int matrix, int moves) {

  /** The maximum fraction of moves between registers in a loop with matrix instructions. */
  private static final double MAX_MOVES = 0.1;

  private static final Pattern PARTS = Pattern.compile("(\\w+)=(\\d+):(\\d+)/(\\d+)/(\\d+)");

  /** The entry of a kernel, and the faults of its machine code. */
  record Assembled(LedgerEntry entry, List<String> faults) {}

  /** Assembles a kernel for a target. */
  static Assembled assemble(Assembler assembler, String kernel, Module module, Target target) {
    var assembled = MachineCode.of(assembler, module.toString(), target);
    var code = assembled.of(kernel);
    var main =
        code.loops().stream()
            .max(
                Comparator.<InnermostLoop>comparingInt(loop -> loop.instructions().matrix())
                    .thenComparingInt(loop -> loop.instructions().total()));
    var entry =
        main.map(InnermostLoop::instructions)
            .map(loop ->
                new LedgerEntry(
                    target,
                    code.usage().registers(),
                    loop.total(),
                    loop.matrix(),
                    loop.of(InstructionClass.MOV)))
            .orElse(new LedgerEntry(target, code.usage().registers(), 0, 0, 0));
    return new Assembled(entry, faults(module, assembled, code));
  }

  private static List<String> faults(Module module, MachineCode assembled, KernelCode code) {
    var faults = new ArrayList<>(assembled.warnings());
    var usage = code.usage();
    int spilled = usage.spillStoreBytes() + usage.spillLoadBytes() + usage.stackBytes();
    if (spilled > 0) {
      faults.add("spills or stack of %d bytes".formatted(spilled));
    }
    for (var loop : code.loops()) {
      int moves = loop.instructions().of(InstructionClass.MOV);
      if (loop.instructions().matrix() > 0 && moves > MAX_MOVES * loop.instructions().total()) {
        faults.add(
            "%d of %d instructions of a loop are moves"
                .formatted(moves, loop.instructions().total()));
      }
    }
    boolean multipliesFp8 =
        module.toString().lines().anyMatch(line -> line.matches(" *mma\\..*\\.e[45]m[23]\\..*"));
    if (multipliesFp8 && code.instructions().of(InstructionClass.QMMA) == 0) {
      faults.add("mma of fp8 is emulated with HMMA");
    }
    return faults;
  }

  /**
   * Parses an entry.
   *
   * @throws IllegalArgumentException if the text is not an entry
   */
  public static LedgerEntry parse(String text) {
    var parts = PARTS.matcher(text);
    if (!parts.matches()) {
      throw new IllegalArgumentException(
          "not a ledger entry, such as sm_90=236:125/64/2: \"%s\"".formatted(text));
    }
    return new LedgerEntry(
        Target.of(parts.group(1)),
        Integer.parseInt(parts.group(2)),
        Integer.parseInt(parts.group(3)),
        Integer.parseInt(parts.group(4)),
        Integer.parseInt(parts.group(5)));
  }

  @Override
  public String toString() {
    return "%s=%d:%d/%d/%d".formatted(target, registers, instructions, matrix, moves);
  }
}
