package dev.athanor.engine.profile;

import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.analysis.sass.InnermostLoop;
import dev.athanor.engine.analysis.sass.InstructionClass;
import dev.athanor.engine.analysis.sass.KernelCode;
import dev.athanor.engine.profile.Cost.Unit;
import dev.athanor.engine.profile.Profile.Row;
import dev.athanor.engine.ptx.Semantics;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The instructions that the warp schedulers issue.
 *
 * <p>Machine code says how many instructions a loop has, but not how often it runs; the profile
 * counts executed PTX instructions. An anchor links them: a kind of instruction that an assembler
 * neither merges nor duplicates, such as a matrix product. The loop with the most matrix products
 * is the main loop; without products, all loops with anchors are. Executed anchors times
 * instructions per anchor are its issue slots, even if the assembler unrolled it.
 *
 * <ul>
 *   <li>Exact: a main loop with matrix products and without branches. Nothing else is counted, so
 *       the number is a lower bound.
 *   <li>Estimate: any other main loop. Loads and multiply-adds can be merged, and a branch in the
 *       loop can skip instructions. What is not executed as often as the anchors counts with the
 *       average number of machine instructions per PTX instruction outside the main loop, and at
 *       most one: slow paths, as of divisions, are code that rarely runs.
 *   <li>Estimate: code without such a loop, or whose main loop has another loop in it, with the
 *       average over the kernel.
 *   <li>Estimate: no machine code. Each PTX instruction counts as one.
 * </ul>
 *
 * @param perPtx issue slots for each executed PTX instruction, on average
 * @param estimate whether it is an estimate
 */
record IssueSlots(double perPtx, boolean estimate) {

  private static final IssueSlots OF_PTX = new IssueSlots(1, true);

  /** Kinds of instruction that machine code and PTX have in equal number. */
  private enum Anchor {
    MATRIX,
    MULTIPLY_ADD,
    GLOBAL,
    SHARED;

    /** Returns how many of the machine instructions of a loop are anchors. */
    int in(InnermostLoop loop) {
      var counts = loop.instructions();
      return switch (this) {
        case MATRIX -> counts.matrix();
        case MULTIPLY_ADD -> counts.of(InstructionClass.FFMA);
        case GLOBAL -> counts.of(InstructionClass.LDG) + counts.of(InstructionClass.LDGSTS);
        case SHARED -> counts.of(InstructionClass.LDS) + counts.of(InstructionClass.LDSM);
      };
    }

    /** Returns whether a PTX instruction is an anchor. */
    boolean matches(Row row) {
      var semantics = row.instruction().form().semantics();
      var modifiers = row.instruction().modifiers();
      boolean loads = semantics instanceof Semantics.Load;
      return switch (this) {
        case MATRIX -> row.cost().unit() == Unit.TENSOR;
        case MULTIPLY_ADD -> row.cost().unit() == Unit.F32 && row.cost().flops() == 2;
        case GLOBAL ->
            (loads && modifiers.has("global")) || semantics instanceof Semantics.AsyncCopy;
        case SHARED ->
            (loads && modifiers.has("shared")) || semantics instanceof Semantics.LoadMatrix;
      };
    }
  }

  /**
   * The main loop of a kernel, or several that run equally often.
   *
   * @param code the loops with anchors
   * @param rounds number of executions by a warp of each of its PTX instructions
   * @param anchors machine instructions of one round that are anchors, before unrolling
   */
  private record MainLoop(Anchor anchor, List<InnermostLoop> code, long rounds, double anchors) {

    int instructions() {
      return code.stream().mapToInt(loop -> loop.instructions().total()).sum();
    }

    /** Returns the rounds in an iteration of the machine code. */
    double unrolled() {
      return code.stream().mapToInt(anchor::in).sum() / anchors;
    }

    double issued() {
      return rounds * instructions() / unrolled();
    }

    boolean isExact() {
      return anchor == Anchor.MATRIX
          && code.stream().allMatch(loop -> loop.blocks() == 1)
          && unrolled() == Math.rint(unrolled());
    }
  }

  /** Counts the issue slots of a launch. */
  static IssueSlots of(Profile profile, Gpu gpu, @Nullable KernelCode code) {
    var rows = profile.rows().stream().filter(row -> row.issues() > 0).toList();
    if (code == null || rows.isEmpty()) {
      return OF_PTX;
    }
    double ptx = profile.rows().stream().filter(row -> row.cost().unit() != Unit.NONE).count();
    double machine = code.instructions().total();
    var found = mainLoop(rows, gpu, code);
    if (found.isEmpty()) {
      return new IssueSlots(machine / ptx, true);
    }
    var loop = found.get();
    double executed = executed(rows);
    if (loop.isExact()) {
      return new IssueSlots(loop.issued() / executed, false);
    }
    var inside = rows.stream().filter(row -> row.executed() == loop.rounds).toList();
    double around = ptx - inside.size();
    double ratio = around == 0 ? 0 : Math.min(1, (machine - loop.instructions()) / around);
    double outside = ratio * (executed - executed(inside));
    return new IssueSlots((loop.issued() + outside) / executed, true);
  }

  private static long executed(List<Row> rows) {
    return rows.stream().mapToLong(Row::executed).sum();
  }

  /** Returns the loop of the matrix products, or without products that of the most anchors. */
  private static Optional<MainLoop> mainLoop(List<Row> rows, Gpu gpu, KernelCode code) {
    if (rows.stream().anyMatch(Anchor.MATRIX::matches)) {
      return mainLoop(Anchor.MATRIX, rows, gpu, code);
    }
    return Arrays.stream(Anchor.values())
        .flatMap(anchor -> mainLoop(anchor, rows, gpu, code).stream())
        .max(Comparator.comparingDouble(loop -> loop.rounds * loop.anchors));
  }

  /** Empty if the innermost loops lack anchors of a round: their loop has another loop in it. */
  private static Optional<MainLoop> mainLoop(
      Anchor anchor, List<Row> rows, Gpu gpu, KernelCode code) {
    var all = rows.stream().filter(anchor::matches).toList();
    long rounds = all.stream().mapToLong(Row::executed).max().orElse(0);
    double anchors =
        all.stream()
            .filter(row -> row.executed() == rounds)
            .mapToDouble(row -> machineInstructions(row, gpu))
            .sum();
    var loops =
        code.loops().stream()
            .filter(loop -> anchor.in(loop) > 0)
            .sorted(Comparator.comparingInt(anchor::in).reversed())
            .limit(anchor == Anchor.MATRIX ? 1 : Long.MAX_VALUE)
            .toList();
    var found = new MainLoop(anchor, loops, rounds, anchors);
    return anchors > 0 && found.unrolled() >= 1 ? Optional.of(found) : Optional.empty();
  }

  /**
   * Returns the machine instructions of an anchor. The largest one for matrices is m16n8k16 of 16
   * bits, m16n8k8 of tf32, m16n8k32 of 8 bits, and m8n8k4 of f64; {@code wgmma} is one for each
   * warp.
   */
  private static double machineInstructions(Row row, Gpu gpu) {
    var tensor = row.cost().tensor();
    if (tensor == null || row.instruction().form().semantics() instanceof Semantics.Wgmma) {
      return 1;
    }
    double largest =
        switch (tensor) {
          case F16, F16_IN_F16, BF16 -> 4096;
          case TF32 -> 2048;
          case FP8 -> gpu.hasFp8Mma() ? 8192 : 4096;
          case INT8 -> 8192;
          case F64 -> 512;
        };
    return Math.max(1, row.cost().flops() / largest);
  }
}
