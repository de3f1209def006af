package dev.athanor.ops.tile;

import dev.athanor.engine.device.Capability;
import java.util.Comparator;
import java.util.Optional;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;

/**
 * How blocks share K where there are fewer tiles than multiprocessors: each takes some stages of a
 * tile, and a second launch adds up what they have: {@link SplitVariant} after tensor cores.
 *
 * @param count how many shares there are
 * @param stages of a share; the last may have fewer
 */
public record Shares(int count, int stages) {

  /** The fewest stages that are worth a share. */
  private static final int LEAST_STAGES = 4;

  private static final int MOST = 256;

  /** The most blocks that shares give each multiprocessor. */
  private static final int MOST_FILLINGS = 4;

  /**
   * The cheapest number of shares, of those whose blocks fill the device once or more often;
   * nothing where the tiles alone do, or K is too short.
   *
   * @param stages of all K
   * @param blocks that compute a share
   * @param microseconds of a number of shares
   */
  public static Optional<Shares> cheapest(
      int stages, long blocks, Capability device, ToDoubleFunction<Shares> microseconds) {
    return IntStream.rangeClosed(1, MOST_FILLINGS)
        .mapToObj(fillings ->
            atMost(Math.min(MOST, (long) fillings * device.multiprocessors() / blocks), stages))
        .flatMap(Optional::stream)
        .distinct()
        .min(Comparator.comparingDouble(microseconds));
  }

  /**
   * So many shares, or fewer so that each has enough stages; nothing where that leaves one.
   *
   * @param stages of all K
   */
  public static Optional<Shares> atMost(long count, int stages) {
    long most = Math.min(count, stages / LEAST_STAGES);
    if (most < 2) {
      return Optional.empty();
    }
    int perShare = Math.ceilDiv(stages, (int) most);
    return Optional.of(new Shares(Math.ceilDiv(stages, perShare), perShare));
  }
}
