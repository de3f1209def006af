package dev.athanor.engine.conformance;

import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The outcome of a probe.
 *
 * @param probe the instruction
 * @param values number of compared results
 * @param equal number of results that match the emulator bit by bit
 * @param wrong number of results beyond the manual's error bound
 * @param unspecified number of results not compared because the manual leaves them undefined
 * @param examples some of the wrong results
 * @param failure why the device returned no results; empty if it did
 */
public record Finding(
    Probe probe,
    int values,
    int equal,
    int wrong,
    int unspecified,
    List<Example> examples,
    String failure) {

  static final int EXAMPLES = 3;

  public Finding {
    examples = List.copyOf(examples);
  }

  static Finding failed(Probe probe, String failure) {
    return new Finding(probe, 0, 0, 0, 0, List.of(), failure);
  }

  public boolean ok() {
    return wrong == 0 && failure.isEmpty();
  }

  /** Returns whether nothing was compared because the driver is older than the instruction. */
  public boolean isTooNew() {
    return failure.contains("Unsupported .version");
  }

  /**
   * A wrong result.
   *
   * @param thread index of the thread
   * @param sources bits of its sources
   * @param result index of the result
   * @param emulator bits of the emulator's result
   * @param device bits of the device's result
   */
  public record Example(int thread, List<Long> sources, int result, long emulator, long device) {

    /** Returns one line, with bits in hexadecimal. */
    String describe(Probe probe) {
      var of = probe.results().get(result);
      return "thread %d, %s: %s is %s, expected %s"
          .formatted(
              thread,
              IntStream.range(0, sources.size())
                  .mapToObj(i ->
                      probe.sources().get(i).register()
                          + "="
                          + bits(probe.sources().get(i), sources.get(i)))
                  .collect(Collectors.joining(" ")),
              of.register(),
              bits(of, device),
              bits(of, emulator));
    }

    private static String bits(Probe.Value value, long word) {
      int digits = Math.max(1, value.register().registerClass().bits() / 4);
      return String.format(Locale.ROOT, "%0" + digits + "x", word);
    }
  }

  /** Returns one line per problem. */
  public List<String> lines() {
    if (!failure.isEmpty()) {
      return List.of(failure);
    }
    return examples.stream().map(example -> example.describe(probe)).toList();
  }
}
