package dev.athanor.ops;

import dev.athanor.engine.analysis.Assembler;
import dev.athanor.engine.analysis.JCudaAssembler;
import dev.athanor.engine.analysis.Ptxas;
import dev.athanor.engine.analysis.sass.InnermostLoop;
import dev.athanor.engine.analysis.sass.InstructionClass;
import dev.athanor.engine.analysis.sass.KernelCode;
import dev.athanor.engine.analysis.sass.MachineCode;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Target;
import dev.athanor.testing.Programs;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * An entry of the ledger of machine code, for a kernel on a target. It is written {@code
 * sm_90=236:125/64/2}: registers of a thread, then instructions, matrix instructions and moves of
 * the main loop. {@code sm_70=255+340:1310/0/12} has 340 bytes of spilled registers.
 *
 * @param registers registers of a thread
 * @param spilled bytes of a thread's spilled registers, which only targets may have for which
 *     kernels are rewritten
 * @param instructions instructions of the main loop: the innermost loop with the most matrix
 *     instructions, then the longest; 0 without loops
 * @param matrix matrix instructions of the main loop
 * @param moves moves between registers in the main loop
 */
public record LedgerEntry(
    Target target, int registers, int spilled, int instructions, int matrix, int moves) {

  /** The maximum fraction of moves between registers in a loop with matrix instructions. */
  private static final double MAX_MOVES = 0.1;

  /** The oldest target that has all instructions of the kernels. */
  private static final int AMPERE = 80;

  private static final Pattern PARTS =
      Pattern.compile("(\\w+)=(\\d+)(?:\\+(\\d+))?:(\\d+)/(\\d+)/(\\d+)");

  /** The entry of a kernel, and the faults of its machine code. */
  public record Assembled(LedgerEntry entry, List<String> faults) {}

  /** ptxas 13 assembles for Turing and later; the compiler of CUDA 12 in JCuda for Volta too. */
  public static Assembler assembler(Target target) {
    Optional<? extends Assembler> found = target.sm() < 75 ? JCudaAssembler.find() : Ptxas.find();
    return Programs.require(found, "an assembler for " + target, "install a CUDA toolkit");
  }

  /** Assembles a kernel for a target. */
  public static Assembled assemble(
      Assembler assembler, String kernel, Module module, Target target) {
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
                    spilled(code),
                    loop.total(),
                    loop.matrix(),
                    loop.of(InstructionClass.MOV)))
            .orElse(new LedgerEntry(target, code.usage().registers(), spilled(code), 0, 0, 0));
    return new Assembled(
        entry, target.sm() < AMPERE ? assembled.warnings() : faults(module, assembled, code));
  }

  private static int spilled(KernelCode code) {
    var usage = code.usage();
    return Math.max(usage.spillStoreBytes() + usage.spillLoadBytes(), usage.stackBytes());
  }

  private static List<String> faults(Module module, MachineCode assembled, KernelCode code) {
    var faults = new ArrayList<>(assembled.warnings());
    if (spilled(code) > 0) {
      faults.add("spills or stack of %d bytes".formatted(spilled(code)));
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
        parts.group(3) == null ? 0 : Integer.parseInt(parts.group(3)),
        Integer.parseInt(parts.group(4)),
        Integer.parseInt(parts.group(5)),
        Integer.parseInt(parts.group(6)));
  }

  @Override
  public String toString() {
    return "%s=%d%s:%d/%d/%d"
        .formatted(
            target, registers, spilled == 0 ? "" : "+" + spilled, instructions, matrix, moves);
  }
}
