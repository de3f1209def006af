package dev.athanor.cli.argument;

import dev.athanor.engine.device.Report;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.emulator.options.Schedule;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The options that control scheduling and checks of the emulator. */
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class EmulatorArguments {

  @Spec(Spec.Target.MIXEE)
  private CommandSpec spec;

  @Option(
      names = "--schedule",
      paramLabel = "SCHEDULE",
      defaultValue = "converging",
      description = "thread scheduling: converging, ahead-first, one-by-one, random or apart")
  private String schedule;

  @Option(
      names = "--timing",
      paramLabel = "TIMING",
      defaultValue = "lazy",
      description = "completion of asynchronous operations: eager, lazy, random or reordered")
  private String timing;

  @Option(
      names = "--seed",
      paramLabel = "SEED",
      defaultValue = "0",
      description = "seed of random schedules and timing; equal seeds reproduce a run")
  private long seed;

  @Option(
      names = "--sanitize",
      description = {
        "checks for races, uninitialized reads, missing waits for asynchronous operations, and"
            + " misused",
        "barriers; prints a line `report: KIND: ...` per finding and then exits with status 1"
      })
  private boolean sanitize;

  @Option(
      names = "--ignore",
      paramLabel = "KIND",
      split = ",",
      description = {
        "kinds of findings that --sanitize ignores, such as PROXY_FENCE,TENSOR_MAP_FENCE; faults",
        "that stop the kernel are always reported"
      })
  private List<String> ignored = new ArrayList<>();

  /**
   * Returns the options of the emulator.
   *
   * @throws ParameterException if a name is unknown
   */
  public EmulatorOptions options() {
    return EmulatorOptions.DEFAULT
        .withSchedule(choice("--schedule", schedule, Schedule.values()))
        .withAsyncTiming(choice("--timing", timing, AsyncTiming.values()))
        .withSeed(seed)
        .withSanitize(sanitize ? Sanitize.FULL : Sanitize.OFF)
        .withIgnored(ignored());
  }

  private Set<Report.Kind> ignored() {
    if (!ignored.isEmpty() && !sanitize) {
      throw usageError("--ignore %s: requires --sanitize".formatted(String.join(",", ignored)));
    }
    return ignored.stream()
        .map(name -> choice("--ignore", name, Report.Kind.values(), Report.Kind::name))
        .collect(Collectors.toSet());
  }

  private <E extends Enum<E>> E choice(String option, String text, E[] choices) {
    return choice(option, text, choices, EmulatorArguments::name);
  }

  private <E> E choice(String option, String text, E[] choices, Function<E, String> names) {
    return Stream.of(choices)
        .filter(choice -> names.apply(choice).equals(text))
        .findFirst()
        .orElseThrow(() ->
            usageError(
                "%s %s: expected one of %s"
                    .formatted(
                        option,
                        text,
                        Stream.of(choices).map(names).collect(Collectors.joining(", ")))));
  }

  private static String name(Enum<?> choice) {
    return choice.name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  private ParameterException usageError(String sentence) {
    return new ParameterException(spec.commandLine(), sentence);
  }
}
