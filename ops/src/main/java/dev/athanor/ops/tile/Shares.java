package dev.athanor.ops.tile;

import dev.athanor.engine.device.Capability;
import java.util.Comparator;
import java.util.Optional;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;

/**
 * The division of K among blocks (split-K) if there are fewer tiles than multiprocessors. Each
 * block computes some stages of a tile, and a second launch adds the partial sums: {@link
 * SplitVariant} for tensor cores.
 *
 * @param count number of shares
 * @param stages stages per share; the last may have fewer
 */
public record Shares(int count, int stages) {

  /** Minimum number of stages per share. */
  private static final int LEAST_STAGES = 4;

  private static final int MOST = 256;

  /** Maximum number of blocks per multiprocessor. */
  private static final int MOST_FILLINGS = 4;

  /**
   * Returns the cheapest division whose blocks fill the device at least once. Returns empty if the
   * tiles alone fill the device, or if K is too short.
   *
   * @param stages number of stages of K
   * @param blocks number of blocks per share
   * @param microseconds estimates the time of a division
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
   * Returns a division into {@code count} shares, or fewer so that each has enough stages. Returns
   * empty if only one share remains.
   *
   * @param stages number of stages of K
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
