package dev.athanor.cli.report;

import dev.athanor.engine.analysis.Assembler;
import dev.athanor.engine.analysis.Assembly.Usage;
import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.analysis.JCudaAssembler;
import dev.athanor.engine.analysis.sass.InnermostLoop;
import dev.athanor.engine.analysis.sass.InstructionClass;
import dev.athanor.engine.analysis.sass.InstructionCounts;
import dev.athanor.engine.analysis.sass.MachineCode;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.legal.Legalizer;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * The machine code of a kernel.
 *
 * @param threads threads per block
 * @param dynamicSharedBytes dynamic shared memory per block
 * @param blocksPerMultiprocessor resident blocks per multiprocessor, by GPU
 * @param warnings warnings of the assembler
 */
public record MachineCodeReport(
    String kernel,
    String assembler,
    String target,
    Usage usage,
    int threads,
    int dynamicSharedBytes,
    Map<String, Integer> blocksPerMultiprocessor,
    InstructionCounts instructions,
    List<InnermostLoop> loops,
    int indirectBranches,
    List<String> warnings) {

  /** The error message if no assembler is available. */
  static final String NO_ASSEMBLER =
      "--sass: no assembler found; put ptxas of a CUDA toolkit on the PATH, or use Linux on"
          + " x86-64, for which Athanor includes NVIDIA's PTX compiler library";

  /**
   * The parameters of a launch that affect occupancy.
   *
   * @param threads threads per block
   * @param dynamicSharedBytes dynamic shared memory per block
   */
  public record Launched(int threads, int dynamicSharedBytes) {}

  /**
   * Assembles a kernel.
   *
   * @param assembler empty if none is available
   * @param gpus the GPUs to compute the occupancy of
   * @throws IllegalArgumentException if there is no assembler or it rejects the kernel
   */
  public static MachineCodeReport of(
      Optional<Assembler> assembler,
      Kernel kernel,
      Target target,
      List<Gpu> gpus,
      Launched launched) {
    var machineCode =
        machineCode(
            assembler.orElseThrow(() -> new IllegalArgumentException(NO_ASSEMBLER)),
            kernel,
            target);
    var code = machineCode.of(kernel.name());
    var blocks = new TreeMap<String, Integer>();
    for (var gpu : gpus) {
      var occupancy = code.occupancy(gpu, launched.threads(), launched.dynamicSharedBytes());
      blocks.put(gpu.name(), occupancy.blocks());
    }
    return new MachineCodeReport(
        kernel.name(),
        machineCode.assembler(),
        target.toString(),
        code.usage(),
        launched.threads(),
        launched.dynamicSharedBytes(),
        blocks,
        code.instructions(),
        code.loops(),
        code.indirectBranches(),
        machineCode.warnings());
  }

  private static MachineCode machineCode(Assembler assembler, Kernel kernel, Target target) {
    try {
      return MachineCode.of(assembler, Legalizer.legalize(kernel, target).toString(), target);
    } catch (Assembler.AssemblyException e) {
      throw new IllegalArgumentException(
          "--sass: %s%nIf it does not support %s, put ptxas of a newer CUDA toolkit on the PATH."
              .formatted(e.getMessage(), target),
          e);
    }
  }

  /** Returns the report as lines of text. */
  public List<String> text() {
    var lines = new ArrayList<String>();
    lines.add(
        "%s: %s, %s, %d instructions".formatted(kernel, target, assembler, instructions.total()));
    JCudaAssembler.note(assembler).ifPresent(lines::add);
    lines.add("");
    var table = new Table("resource", "amount");
    table.add("registers per thread", "%d".formatted(usage.registers()));
    table.add("spilled bytes, stored", "%d".formatted(usage.spillStoreBytes()));
    table.add("spilled bytes, loaded", "%d".formatted(usage.spillLoadBytes()));
    table.add("stack bytes", "%d".formatted(usage.stackBytes()));
    table.add("shared bytes, static", "%d".formatted(usage.staticSharedBytes()));
    table.add("shared bytes, dynamic", "%d".formatted(dynamicSharedBytes));
    table.add("threads per block", "%d".formatted(threads));
    blocksPerMultiprocessor.forEach(
        (gpu, blocks) -> table.add("blocks per multiprocessor, " + gpu, "%d".formatted(blocks)));
    lines.addAll(table.text());
    if (loops.isEmpty()) {
      lines.add("");
      lines.add("no loops");
    }
    loops.forEach(loop -> lines.addAll(text(loop)));
    if (indirectBranches > 0) {
      lines.add("");
      lines.add(
          "%d indirect branches: loops reached only through them are not listed"
              .formatted(indirectBranches));
    }
    if (!warnings.isEmpty()) {
      lines.add("");
      lines.addAll(warnings);
    }
    return lines;
  }

  private static List<String> text(InnermostLoop loop) {
    var lines = new ArrayList<>(List.of(""));
    var counts = loop.instructions();
    lines.add(
        "innermost loop 0x%04x to 0x%04x, basic blocks: %d, matrix instructions: %d"
            .formatted(loop.start(), loop.end(), loop.blocks(), counts.matrix()));
    var table = new Table("instruction", "count", "per matrix instruction");
    counts
        .byClass()
        .forEach((kind, count) ->
            table.add(name(kind), "%d".formatted(count), ratio(counts, counts.perMatrix(kind))));
    table.add("all", "%d".formatted(counts.total()), ratio(counts, counts.perMatrix()));
    lines.addAll(table.text());
    return lines;
  }

  private static String name(InstructionClass kind) {
    return kind == InstructionClass.OTHER ? "other" : kind.name();
  }

  /** Returns a ratio to the matrix instructions; empty if there are none. */
  private static String ratio(InstructionCounts counts, double ratio) {
    return counts.matrix() == 0 ? "" : String.format(Locale.ROOT, "%.2f", ratio);
  }
}
