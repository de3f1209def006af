package dev.athanor.cli.command;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.athanor.cli.argument.DeviceOption;
import dev.athanor.cli.argument.GpuOption;
import dev.athanor.cli.argument.JavaKernelArguments;
import dev.athanor.cli.argument.OpArguments;
import dev.athanor.cli.argument.PluginsOption;
import dev.athanor.cli.report.Build;
import dev.athanor.cli.report.KernelReport;
import dev.athanor.cli.report.MachineCodeReport;
import dev.athanor.cli.report.MachineCodeReport.Launched;
import dev.athanor.cli.report.PtxText;
import dev.athanor.cli.report.ResultFile;
import dev.athanor.engine.analysis.Assembler;
import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.legal.Legalizer;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Step;
import dev.athanor.ops.profile.OpProfile;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code athanor ptx}. */
@Command(
    name = "ptx",
    customSynopsis = {
      "athanor ptx OP [OPTIONS]",
      "       athanor ptx CLASSES CLASS[::METHOD] [OPTIONS]"
    },
    description = {
      "Prints the PTX of an op, or of a kernel in Java from CLASSES, a class folder or jar.",
      "Example: athanor ptx matmul --shape a=64,64 --shape b=64,64 --dtype a=f16 --dtype b=f16 --stats",
      "Example: athanor ptx target/classes Saxpy::saxpy"
    },
    mixinStandardHelpOptions = true,
    versionProvider = Build.Provider.class)
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class PtxCommand implements Callable<Integer> {

  /** The options that only ops have. */
  private static final List<String> OP_OPTIONS =
      List.of("--shape", "--dtype", "--attr", "--plugins", "--explain");

  @Spec private CommandSpec spec;

  @Mixin private OpArguments op;

  @Parameters(
      index = "1",
      arity = "0..1",
      paramLabel = "CLASS[::METHOD]",
      description =
          "a kernel in Java, such as com.acme.Saxpy::saxpy; the package may be left out if the"
              + " class name is unique, and the method if the class has one kernel")
  private @Nullable String javaKernel;

  @Mixin private JavaKernelArguments java;

  @Mixin private PluginsOption plugins;

  @Mixin private DeviceOption device;

  @Option(
      names = "--explain",
      description = "prints the candidates of the planner for an op instead of PTX")
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

  /**
   * The kernels to print.
   *
   * @param explanation the candidates of the planner; null for a kernel in Java
   */
  private record Found(String name, List<Printed> kernels, @Nullable String explanation) {}

  /** A kernel and the launch that determines its occupancy. */
  private record Printed(Kernel kernel, Launched launched) {}

  @JsonInclude(JsonInclude.Include.NON_NULL)
  private record Result(String kernel, List<KernelReport> kernels, @Nullable String explanation) {}

  @Override
  public Integer call() {
    var out = spec.commandLine().getOut();
    var target = target();
    var wanted = gpu == null ? null : GpuOption.named(spec.commandLine(), gpu);
    if (javaKernel == null) {
      java.refuseOptionsOfKernels(op.name() + " is an op");
    } else {
      java.refuseOptionsOfOps(javaKernel, OP_OPTIONS);
    }
    var capability = wanted == null ? capability() : OpProfile.capability(wanted);
    var found = javaKernel == null ? plan(capability) : java(javaKernel);
    if (explain && !json) {
      out.println(found.explanation());
      return 0;
    }
    if (!json && !stats && !sass && target == null) {
      for (var each : found.kernels()) {
        var module = Legalizer.legalize(each.kernel(), capability.target());
        PtxText.of(module, annotate).forEach(out::println);
      }
      return 0;
    }
    var codeTarget = target == null ? capability.target() : target;
    var kernels = found.kernels().stream().map(each -> report(each, codeTarget, wanted)).toList();
    if (json) {
      out.println(ResultFile.json(new Result(found.name(), kernels, found.explanation())));
      return 0;
    }
    for (var kernel : kernels) {
      var code = kernel.machineCode();
      if (stats || (target != null && !sass)) {
        kernel.text().forEach(out::println);
      }
      if (code != null) {
        code.text().forEach(out::println);
      }
    }
    return 0;
  }

  private Found plan(Capability capability) {
    var catalogue = plugins.catalogue();
    if (catalogue.find(op.name()).isEmpty()) {
      java.requireBothArguments(op.name());
    }
    var plan = op.plans(catalogue, capability).getFirst();
    var kernels =
        plan.kernels().stream().map(kernel -> new Printed(kernel, launched(plan, kernel))).toList();
    return new Found(plan.kernel(), kernels, plan.explain());
  }

  private Found java(String name) {
    var kernel = java.module(op.name(), name).kernels().getFirst();
    var launched = new Launched(kernel.maxThreads(), 0);
    return new Found(kernel.name(), List.of(new Printed(kernel, launched)), null);
  }

  private Capability capability() {
    try (var opened = device.open().device()) {
      return opened.capability();
    }
  }

  private KernelReport report(Printed printed, Target codeTarget, @Nullable Gpu wanted) {
    try {
      return KernelReport.of(
          Legalizer.legalize(printed.kernel(), codeTarget),
          assemble == null ? null : codeTarget,
          sass ? machineCode(printed, codeTarget, wanted) : null);
    } catch (IllegalArgumentException e) {
      throw usageError(String.valueOf(e.getMessage()));
    }
  }

  private static MachineCodeReport machineCode(
      Printed printed, Target target, @Nullable Gpu wanted) {
    var gpus =
        wanted != null
            ? List.of(wanted)
            : Gpu.ALL.stream().filter(each -> each.target().sm() == target.sm()).toList();
    return MachineCodeReport.of(
        Assembler.best(), printed.kernel(), target, gpus, printed.launched());
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
      throw usageError("--assemble %s: %s".formatted(assemble, e.getMessage()));
    }
  }

  private ParameterException usageError(String sentence) {
    return new ParameterException(spec.commandLine(), sentence);
  }
}
