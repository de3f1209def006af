package dev.athanor.cli.command;

import dev.athanor.cli.argument.GpuOption;
import dev.athanor.cli.argument.OpArguments;
import dev.athanor.cli.argument.PluginsOption;
import dev.athanor.cli.report.AssembledKernel;
import dev.athanor.cli.report.Build;
import dev.athanor.cli.report.ProfileReport;
import dev.athanor.cli.report.ResultFile;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Module;
import dev.athanor.ops.Plan;
import dev.athanor.ops.profile.OpProfile;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code athanor profile OP}. */
@Command(
    name = "profile",
    description = {
      "Profiles an op on the emulator and prints lower bounds of its time on a GPU.",
      "Example: athanor profile matmul --shape a=64,64 --shape b=64,64 --dtype a=f16 --dtype b=f16 --gpu A100"
    },
    mixinStandardHelpOptions = true,
    versionProvider = Build.Provider.class)
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class ProfileCommand implements Callable<Integer> {

  @Spec private CommandSpec spec;

  @Mixin private OpArguments op;

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

  @Override
  public Integer call() {
    var target = gpu.gpu();
    if (blocks != null && blocks < 1) {
      throw usageError("--blocks %d: expected at least 1".formatted(blocks));
    }
    var problem = op.problem(plugins.catalogue());
    var plan = plan(op.plans(problem, OpProfile.capability(target)));
    var out = spec.commandLine().getOut();
    try {
      var profile = OpProfile.run(plan, problem, target, blocks == null ? Long.MAX_VALUE : blocks);
      var kernels =
          plan.kernels().stream().collect(Collectors.toMap(Kernel::name, kernel -> kernel));
      var launches =
          profile.launches().stream()
              .map(launch -> {
                var kernel = kernels.get(launch.kernel());
                if (kernel == null) {
                  throw new IllegalStateException("the plan has no kernel " + launch.kernel());
                }
                return ProfileReport.Launch.of(
                    launch, target, AssembledKernel.of(Module.of(kernel), kernel.name(), target));
              })
              .toList();
      var report = new ProfileReport(plan.kernel(), target.name(), plan.cost(), launches);
      if (json) {
        out.println(ResultFile.json(report));
      } else {
        report.text().forEach(out::println);
      }
      return CommandLine.ExitCode.OK;
    } catch (DeviceException e) {
      spec.commandLine().getErr().println("athanor profile: " + e.getMessage());
      return CommandLine.ExitCode.SOFTWARE;
    }
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
