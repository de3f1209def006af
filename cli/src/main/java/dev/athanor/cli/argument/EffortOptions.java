package dev.athanor.cli.argument;

import dev.athanor.ops.bench.Effort;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The options that control the duration of a measurement. */
public final class EffortOptions {

  @Spec(Spec.Target.MIXEE)
  @SuppressWarnings("NullAway.Init") // picocli sets it
  private CommandSpec command;

  @Option(
      names = "--warmup",
      paramLabel = "N",
      description = "launches before timing starts; default: 10, on the emulator 3")
  private @Nullable Integer warmup;

  @Option(
      names = "--repeat",
      paramLabel = "N",
      description = "minimum number of samples; default: 20, on the emulator 5")
  private @Nullable Integer repeat;

  @Option(
      names = "--min-time",
      paramLabel = "MS",
      description =
          "minimum total time of the samples in milliseconds; default: 200, on the emulator 0")
  private @Nullable Double minMillis;

  /**
   * Returns the duration, which by default is shorter on an emulator.
   *
   * @throws ParameterException if a value is below its minimum
   */
  public Effort effort(boolean emulated) {
    try {
      return new Effort(
          warmup != null ? warmup : emulated ? 3 : 10,
          repeat != null ? repeat : emulated ? 5 : 20,
          minMillis != null ? minMillis : emulated ? 0 : 200);
    } catch (IllegalArgumentException e) {
      throw new ParameterException(
          command.commandLine(), "--warmup, --repeat, --min-time: " + e.getMessage(), e);
    }
  }
}
