package dev.athanor.cli.command;

import dev.athanor.cli.argument.DeviceOption;
import dev.athanor.cli.argument.GpuOption;
import dev.athanor.cli.argument.OpArguments;
import dev.athanor.cli.argument.PluginsOption;
import dev.athanor.cli.report.Build;
import dev.athanor.cli.report.MachineCodeReport;
import dev.athanor.cli.report.MachineCodeReport.Launched;
import dev.athanor.cli.report.ResultFile;
import dev.athanor.cli.report.Table;
import dev.athanor.engine.analysis.Assembler;
import dev.athanor.engine.analysis.Assembly;
import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.analysis.JCudaAssembler;
import dev.athanor.engine.analysis.Liveness;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.ptx.InstructionForm;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.check.Verifier;
import dev.athanor.engine.ptx.check.Violation;
import dev.athanor.engine.ptx.legal.Legalizer;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Step;
import dev.athanor.ops.profile.OpProfile;
import dev.athanor.service.codec.KernelView;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code athanor ptx OP}. */
@Command(
    name = "ptx",
    description = {
      "Prints the PTX of an op.",
      "Example: athanor ptx matmul --shape a=64,64 --shape b=64,64 --dtype a=f16 --dtype b=f16 --stats"
    },
    mixinStandardHelpOptions = true,
    versionProvider = Build.Provider.class)
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class PtxCommand implements Callable<Integer> {

  /** The column of annotations; those of longer lines follow after one space. */
  private static final int ANNOTATION_COLUMN = 64;

  @Spec private CommandSpec spec;

  @Mixin private OpArguments op;

  @Mixin private PluginsOption plugins;

  @Mixin private DeviceOption device;

  @Option(names = "--explain", description = "prints the candidates of the planner instead of PTX")
  private boolean explain;

  @Option(
      names = "--annotate",
      description = "adds to each line its Java source line and the number of live registers")
  private boolean annotate;

  @Option(names = "--stats", description = "prints counts instead of PTX")
  private boolean stats;

  @Option(
      names = "--assemble",
      paramLabel = "TARGET",
      description =
          "assembles for a target such as sm_80 and prints registers, spills and occupancy instead of"
              + " PTX; with --sass, the target of the machine code")
  private @Nullable String assemble;

  @Option(
      names = "--gpu",
      paramLabel = "GPU",
      description =
          "plans for a GPU, present or not, instead of the device: H200, H100, A100, RTX"
              + " 4090, L4, RTX 5090, B200, RTX 6000 Ada, RTX 3090, A10, RTX 2080 Ti, T4, V100")
  private @Nullable String gpu;

  @Option(
      names = "--sass",
      description =
          "prints a report of the machine code instead of PTX: registers, spills, shared memory,"
              + " occupancy, and the instructions of the innermost loops")
  private boolean sass;

  @Option(names = "--json", description = "prints JSON")
  private boolean json;

  private record Result(String kernel, List<Stats> kernels, String explanation) {}

  /** The statistics of a kernel. */
  private record Stats(
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
      @Nullable MachineCodeReport machineCode) {}

  /** The result of an assembler. */
  private record Assembled(
      String assembler,
      String target,
      int registers,
      int spillStoreBytes,
      int spillLoadBytes,
      int stackBytes,
      List<String> warnings,
      Map<String, Integer> blocksPerMultiprocessor) {}

  @Override
  public Integer call() {
    var out = spec.commandLine().getOut();
    var target = target();
    var wanted = gpu == null ? null : GpuOption.named(spec.commandLine(), gpu);
    var capability = wanted == null ? capability() : OpProfile.capability(wanted);
    var plan = op.plans(plugins.catalogue(), capability).getFirst();
    if (explain && !json) {
      out.println(plan.explain());
      return 0;
    }
    if (!json && !stats && !sass && target == null) {
      plan.kernels()
          .forEach(kernel ->
              text(Legalizer.legalize(kernel, capability.target())).forEach(out::println));
      return 0;
    }
    var codeTarget = target == null ? capability.target() : target;
    var kernels =
        plan.kernels().stream()
            .map(kernel ->
                stats(
                    Legalizer.legalize(kernel, codeTarget),
                    target,
                    sass ? machineCode(plan, kernel, codeTarget, wanted) : null))
            .toList();
    if (json) {
      out.println(ResultFile.json(new Result(plan.kernel(), kernels, plan.explain())));
      return 0;
    }
    for (var kernel : kernels) {
      var code = kernel.machineCode();
      if (stats || (target != null && !sass)) {
        report(kernel).forEach(out::println);
      }
      if (code != null) {
        code.text().forEach(out::println);
      }
    }
    return 0;
  }

  private Capability capability() {
    try (var opened = device.open().device()) {
      return opened.capability();
    }
  }

  private MachineCodeReport machineCode(
      Plan plan, Kernel kernel, Target target, @Nullable Gpu wanted) {
    var gpus =
        wanted != null
            ? List.of(wanted)
            : Gpu.ALL.stream().filter(each -> each.target().sm() == target.sm()).toList();
    try {
      return MachineCodeReport.of(Assembler.best(), kernel, target, gpus, launched(plan, kernel));
    } catch (IllegalArgumentException e) {
      throw new ParameterException(spec.commandLine(), String.valueOf(e.getMessage()), e);
    }
  }

  /** Returns the launch of a kernel that takes the most shared memory. */
  private static Launched launched(Plan plan, Kernel kernel) {
    var steps = plan instanceof LaunchPlan launches ? launches.steps() : List.<Step>of();
    return steps.stream()
        .filter(step -> step.variant().name().equals(kernel.name()))
        .max(Comparator.comparingInt(Step::sharedBytes))
        .map(step -> new Launched(step.threads(), step.sharedBytes()))
        .orElse(new Launched(kernel.maxThreads(), 0));
  }

  private @Nullable Target target() {
    try {
      return assemble == null ? null : Target.of(assemble);
    } catch (IllegalArgumentException e) {
      throw new ParameterException(
          spec.commandLine(), "--assemble %s: %s".formatted(assemble, e.getMessage()), e);
    }
  }

  private List<String> text(Module module) {
    return KernelView.of(module).lines().stream()
        .map(line -> annotate ? annotated(line) : line.text())
        .toList();
  }

  private static String annotated(KernelView.Line line) {
    var live = line.live();
    return live == null
        ? line.text()
        : "%s%s// %-26s %3d %s"
            .formatted(
                line.text(),
                " ".repeat(Math.max(1, ANNOTATION_COLUMN - line.text().length())),
                line.source(),
                live,
                "#".repeat(Math.ceilDiv(live, 4)));
  }

  private Stats stats(
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
    return new Stats(
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

  private List<Assembled> assembled(Kernel kernel, String ptx, Target target) {
    return Assembler.best().stream()
        .map(assembler -> {
          try {
            return assembled(assembler.name(), assembler.assemble(ptx, target), kernel, target);
          } catch (Assembler.AssemblyException e) {
            throw new ParameterException(spec.commandLine(), String.valueOf(e.getMessage()), e);
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

  private static List<String> report(Stats kernel) {
    var lines = new ArrayList<String>();
    lines.add(
        "%s: .version %s, .target %s, %d instructions, at most %d live registers and %d live predicates, %d bytes of static shared memory, %d threads"
            .formatted(
                kernel.name(),
                kernel.version(),
                kernel.target(),
                kernel.instructions(),
                kernel.registersLive(),
                kernel.predicatesLive(),
                kernel.staticSharedBytes(),
                kernel.maxThreads()));
    lines.add("");
    var mix = new Table("instruction", "count", "share");
    kernel.mix().entrySet().stream()
        .sorted(Map.Entry.<String, Long>comparingByValue().reversed())
        .forEach(e ->
            mix.add(
                e.getKey(),
                Long.toString(e.getValue()),
                String.format(
                    Locale.ROOT, "%.1f%%", 100.0 * e.getValue() / kernel.instructions())));
    lines.addAll(mix.text());
    kernel.warnings().forEach(lines::add);
    if (!kernel.assembled().isEmpty()) {
      lines.add("");
      var table =
          new Table(
              "assembler",
              "target",
              "registers",
              "spilled bytes",
              "stack bytes",
              "blocks per multiprocessor without dynamic shared memory");
      for (var made : kernel.assembled()) {
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
      for (var made : kernel.assembled()) {
        lines.addAll(made.warnings());
        JCudaAssembler.note(made.assembler()).ifPresent(lines::add);
      }
    }
    return lines;
  }
}
