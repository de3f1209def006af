package dev.athanor.cli.report;

import dev.athanor.engine.analysis.Assembler;
import dev.athanor.engine.analysis.Assembly;
import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.analysis.JCudaAssembler;
import dev.athanor.engine.analysis.Liveness;
import dev.athanor.engine.ptx.InstructionForm;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.check.Verifier;
import dev.athanor.engine.ptx.check.Violation;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The statistics of a kernel.
 *
 * @param mix instructions by mnemonic
 * @param warnings warnings of the verifier
 * @param assembled empty unless requested
 * @param machineCode null unless requested
 */
public record KernelReport(
    String name,
    String version,
    String target,
    String ptx,
    long instructions,
    Map<String, Long> mix,
    int registersLive,
    int predicatesLive,
    int staticSharedBytes,
    int maxThreads,
    List<String> warnings,
    List<Assembled> assembled,
    @Nullable MachineCodeReport machineCode) {

  /** The result of an assembler. */
  public record Assembled(
      String assembler,
      String target,
      int registers,
      int spillStoreBytes,
      int spillLoadBytes,
      int stackBytes,
      List<String> warnings,
      Map<String, Integer> blocksPerMultiprocessor) {}

  /**
   * Counts the instructions and registers of a module of one kernel, and assembles it.
   *
   * @param target the target to assemble for; null for none
   * @throws IllegalArgumentException if the assembler rejects the kernel
   */
  public static KernelReport of(
      Module module, @Nullable Target target, @Nullable MachineCodeReport machineCode) {
    var kernel = module.kernels().getFirst();
    var ptx = module.toString();
    var liveness = Liveness.of(kernel);
    var mix =
        kernel
            .instructions()
            .map(Statement.Instruction::form)
            .collect(
                Collectors.groupingBy(
                    InstructionForm::mnemonic, TreeMap::new, Collectors.counting()));
    return new KernelReport(
        kernel.name(),
        module.version().toString(),
        module.target().toString(),
        ptx,
        kernel.instructions().count(),
        mix,
        liveness.mostWords(),
        liveness.mostPredicates(),
        kernel.staticSharedBytes(),
        kernel.maxThreads(),
        Verifier.warnings(module).stream().map(Violation::toString).toList(),
        target == null ? List.of() : assembled(kernel, ptx, target),
        machineCode);
  }

  private static List<Assembled> assembled(Kernel kernel, String ptx, Target target) {
    return Assembler.best().stream()
        .map(assembler -> {
          try {
            return assembled(assembler.name(), assembler.assemble(ptx, target), kernel, target);
          } catch (Assembler.AssemblyException e) {
            throw new IllegalArgumentException(e.getMessage(), e);
          }
        })
        .toList();
  }

  private static Assembled assembled(String name, Assembly assembly, Kernel kernel, Target target) {
    var usage = assembly.of(kernel.name());
    var blocks = new TreeMap<String, Integer>();
    for (var gpu : Gpu.ALL) {
      if (gpu.target().sm() == target.sm()) {
        blocks.put(
            gpu.name(),
            gpu.occupancy(kernel.maxThreads(), usage.registers(), usage.staticSharedBytes())
                .blocks());
      }
    }
    return new Assembled(
        name,
        target.toString(),
        usage.registers(),
        usage.spillStoreBytes(),
        usage.spillLoadBytes(),
        usage.stackBytes(),
        assembly.warnings(),
        blocks);
  }

  /** Returns the report as lines of text. */
  public List<String> text() {
    var lines = new ArrayList<String>();
    lines.add(
        "%s: .version %s, .target %s, %d instructions, at most %d live registers and %d live predicates, %d bytes of static shared memory, %d threads"
            .formatted(
                name,
                version,
                target,
                instructions,
                registersLive,
                predicatesLive,
                staticSharedBytes,
                maxThreads));
    lines.add("");
    var counts = new Table("instruction", "count", "share");
    mix.entrySet().stream()
        .sorted(Map.Entry.<String, Long>comparingByValue().reversed())
        .forEach(e ->
            counts.add(
                e.getKey(),
                Long.toString(e.getValue()),
                String.format(Locale.ROOT, "%.1f%%", 100.0 * e.getValue() / instructions)));
    lines.addAll(counts.text());
    warnings.forEach(lines::add);
    if (!assembled.isEmpty()) {
      lines.add("");
      var table =
          new Table(
              "assembler",
              "target",
              "registers",
              "spilled bytes",
              "stack bytes",
              "blocks per multiprocessor without dynamic shared memory");
      for (var made : assembled) {
        table.add(
            made.assembler(),
            made.target(),
            Integer.toString(made.registers()),
            Integer.toString(made.spillStoreBytes() + made.spillLoadBytes()),
            Integer.toString(made.stackBytes()),
            made.blocksPerMultiprocessor().entrySet().stream()
                .map(e -> e.getKey() + ": " + e.getValue())
                .collect(Collectors.joining(", ")));
      }
      lines.addAll(table.text());
      for (var made : assembled) {
        lines.addAll(made.warnings());
        JCudaAssembler.note(made.assembler()).ifPresent(lines::add);
      }
    }
    return lines;
  }
}
