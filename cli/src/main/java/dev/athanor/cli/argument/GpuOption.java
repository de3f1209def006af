package dev.athanor.cli.argument;

import dev.athanor.engine.analysis.Gpu;
import java.util.stream.Collectors;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The option {@code --gpu}. */
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class GpuOption {

  @Spec(Spec.Target.MIXEE)
  private CommandSpec command;

  @Option(
      names = "--gpu",
      defaultValue = "H200",
      description =
          "the GPU to plan for: H200, H100, A100, RTX 4090, L4, RTX 5090, B200, RTX 6000 Ada,"
              + " RTX 3090, A10, RTX 2080 Ti, T4, V100; default: ${DEFAULT-VALUE}")
  private String name;

  /**
   * Returns the GPU.
   *
   * @throws ParameterException if the name is unknown
   */
  public Gpu gpu() {
    return named(command.commandLine(), name);
  }

  /**
   * Returns the GPU with the given name.
   *
   * @throws ParameterException if the name is unknown
   */
  public static Gpu named(CommandLine command, String name) {
    return Gpu.named(name)
        .orElseThrow(() ->
            new ParameterException(
                command,
                "--gpu %s: expected one of %s"
                    .formatted(
                        name, Gpu.ALL.stream().map(Gpu::name).collect(Collectors.joining(", ")))));
  }
}
