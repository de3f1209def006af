package dev.athanor.engine.conformance;

import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The outcome of one probe.
 *
 * @param probe the instruction
 * @param values how many answers were compared
 * @param equal how many of them were the emulator's, bit by bit
 * @param wrong how many were further from it than the manual allows
 * @param unspecified how many were not compared, since the manual promises nothing for their
 *     operands
 * @param examples some that were wrong
 * @param refusal why the device could not load the kernel; empty when it did
 */
public record Finding(
    Probe probe,
    int values,
    int equal,
    int wrong,
    int unspecified,
    List<Example> examples,
    String refusal) {

  static final int EXAMPLES = 3;

  public Finding {
    examples = List.copyOf(examples);
  }

  static Finding refused(Probe probe, String refusal) {
    return new Finding(probe, 0, 0, 0, 0, List.of(), refusal);
  }

  public boolean ok() {
    return wrong == 0 && refusal.isEmpty();
  }

  /** Whether nothing was compared because the driver is older than the instruction. */
  public boolean isTooNew() {
    return refusal.contains("Unsupported .version");
  }

  /**
   * A wrong answer.
   *
   * @param thread whose it is
   * @param sources the bits of its sources
   * @param result which of the results
   * @param emulator the bits that the emulator answers
   * @param device the bits that the device answers
   */
  public record Example(int thread, List<Long> sources, int result, long emulator, long device) {

    /** One line, with bits in hexadecimal. */
    String sentence(Probe probe) {
      var of = probe.results().get(result);
      return "thread %d, %s: %s is %s, the emulator says %s"
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

  /** Whatever is wrong, a line each. */
  public List<String> lines() {
    if (!refusal.isEmpty()) {
      return List.of(refusal);
    }
    return examples.stream().map(example -> example.sentence(probe)).toList();
  }
}
