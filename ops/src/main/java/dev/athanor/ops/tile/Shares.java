package dev.athanor.ops.tile;

import dev.athanor.engine.device.Capability;
import java.util.Optional;

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

  private static final int MOST = 64;

  /**
   * As many shares as give each multiprocessor a block; nothing where the tiles alone do, or K is
   * too short.
   *
   * @param stages of all K
   * @param blocks that compute a share
   */
  public static Optional<Shares> of(int stages, long blocks, Capability device) {
    return atMost(Math.min(MOST, device.multiprocessors() / blocks), stages);
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
