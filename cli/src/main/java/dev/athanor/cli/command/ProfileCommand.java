package dev.athanor.cli.command;

import dev.athanor.cli.argument.GpuOption;
import dev.athanor.cli.argument.JavaKernelArguments;
import dev.athanor.cli.argument.JavaLaunch;
import dev.athanor.cli.argument.JavaLaunchArguments;
import dev.athanor.cli.argument.OpArguments;
import dev.athanor.cli.argument.PluginsOption;
import dev.athanor.cli.report.AssembledKernel;
import dev.athanor.cli.report.Build;
import dev.athanor.cli.report.ProfileReport;
import dev.athanor.cli.report.ResultFile;
import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.profile.Profile;
import dev.athanor.engine.profile.Profiler;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Module;
import dev.athanor.ops.Plan;
import dev.athanor.ops.profile.OpProfile;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code athanor profile}. */
@Command(
    name = "profile",
    customSynopsis = {
      "athanor profile OP [OPTIONS]",
      "       athanor profile CLASSES CLASS[::METHOD] [OPTIONS]"
    },
    description = {
      "Profiles an op, or a kernel in Java from CLASSES, a class folder or jar, on the emulator and"
          + " prints lower bounds of its time on a GPU.",
      "Example: athanor profile matmul --shape a=64,64 --shape b=64,64 --dtype a=f16 --dtype b=f16 --gpu A100",
      "Example: athanor profile target/classes Saxpy::saxpy --arg in:x.npy --arg in:y.npy --arg 0.5 --arg 4"
    },
    mixinStandardHelpOptions = true,
    versionProvider = Build.Provider.class)
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class ProfileCommand implements Callable<Integer> {

  /** The options that only ops have. */
  private static final List<String> OP_OPTIONS =
      List.of("--shape", "--dtype", "--attr", "--plugins", "--kernel");

  @Spec private CommandSpec spec;

  @Mixin private OpArguments op;

  @Parameters(
      index = "1",
      arity = "0..1",
      paramLabel = "CLASS[::METHOD]",
      description = "a kernel in Java, such as com.acme.Saxpy::saxpy, as in athanor ptx")
  private @Nullable String javaKernel;

  @Mixin private JavaKernelArguments java;

  @Mixin private JavaLaunchArguments javaLaunch;

  @Mixin private PluginsOption plugins;

  @Mixin private GpuOption gpu;

  @Option(
      names = "--kernel",
      paramLabel = "NAME",
      description = "the kernel variant; default: the planner's choice")
  private @Nullable String variant;

  @Option(
      names = "--blocks",
      paramLabel = "N",
      description =
          "runs only N blocks of each launch, spread evenly over its grid; bounds are extrapolated from them, except for DRAM")
  private @Nullable Long blocks;

  @Option(names = "--json", description = "prints JSON")
  private boolean json;

  /**
   * What is profiled.
   *
   * @param cost null if unknown
   * @param launches runs the launches on the emulator
   */
  private record Profiled(
      String name,
      List<Kernel> kernels,
      Plan.@Nullable Cost cost,
      Supplier<List<Profile>> launches) {}

  @Override
  public Integer call() {
    var target = gpu.gpu();
    if (blocks != null && blocks < 1) {
      throw usageError("--blocks %d: expected at least 1".formatted(blocks));
    }
    var profiled = javaKernel == null ? op(target) : java(javaKernel, target);
    var profiles = profiled.launches.get();
    var kernels =
        profiled.kernels.stream().collect(Collectors.toMap(Kernel::name, kernel -> kernel));
    var launches =
        profiles.stream()
            .map(launch -> {
              var kernel = kernels.get(launch.kernel());
              if (kernel == null) {
                throw new IllegalStateException("the plan has no kernel " + launch.kernel());
              }
              return ProfileReport.Launch.of(
                  launch, target, AssembledKernel.of(Module.of(kernel), kernel.name(), target));
            })
            .toList();
    var report = new ProfileReport(profiled.name, target.name(), profiled.cost, launches);
    var out = spec.commandLine().getOut();
    if (json) {
      out.println(ResultFile.json(report));
    } else {
      report.text().forEach(out::println);
    }
    return CommandLine.ExitCode.OK;
  }

  private Profiled op(Gpu target) {
    java.refuseOptionsOfKernels(op.name() + " is an op");
    var catalogue = plugins.catalogue();
    if (catalogue.find(op.name()).isEmpty()) {
      java.requireBothArguments(op.name());
    }
    var problem = op.problem(catalogue);
    var plan = plan(op.plans(problem, OpProfile.capability(target)));
    return new Profiled(
        plan.kernel(),
        plan.kernels(),
        plan.cost(),
        () -> OpProfile.run(plan, problem, target, mostBlocks()).launches());
  }

  private Profiled java(String name, Gpu target) {
    java.refuseOptionsOfOps(name, OP_OPTIONS);
    var launch = java.launch(op.name(), name, javaLaunch);
    requireCompleteOutputs(launch);
    return new Profiled(
        launch.kernel().name(),
        launch.kernel().module(launch.checked()).kernels(),
        null,
        () -> profiles(launch, target));
  }

  /** Refuses outputs of a launch that runs some of its blocks; a cooperative one runs all. */
  private void requireCompleteOutputs(JavaLaunch launch) {
    if (mostBlocks() >= launch.grid().count() || launch.kernel().isCooperative()) {
      return;
    }
    launch.tensors().stream()
        .flatMap(tensor -> tensor.target().stream())
        .findFirst()
        .ifPresent(file -> {
          throw usageError(
              "--blocks %d: %s would be incomplete; give in:FILE.npy or zeros:BYTES instead"
                  .formatted(blocks, file));
        });
  }

  private List<Profile> profiles(JavaLaunch launch, Gpu target) {
    var profiler = new Profiler();
    var options =
        EmulatorOptions.DEFAULT
            .withTarget(target.target())
            .withBlocks(mostBlocks())
            .withObservers(List.of(profiler));
    try {
      launch.run(options, (_, _) -> {});
    } catch (IllegalArgumentException e) {
      throw usageError(String.valueOf(e.getMessage()));
    }
    return profiler.profiles();
  }

  private long mostBlocks() {
    return blocks == null ? Long.MAX_VALUE : blocks;
  }

  private Plan plan(List<? extends Plan> plans) {
    if (variant == null) {
      return plans.getFirst();
    }
    return plans.stream()
        .filter(plan -> plan.kernel().equals(variant))
        .findFirst()
        .orElseThrow(() ->
            usageError(
                "--kernel %s: expected one of %s"
                    .formatted(
                        variant,
                        plans.stream().map(Plan::kernel).collect(Collectors.joining(", ")))));
  }

  private ParameterException usageError(String sentence) {
    return new ParameterException(spec.commandLine(), sentence);
  }
}
