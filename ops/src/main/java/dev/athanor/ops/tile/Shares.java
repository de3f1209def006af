package dev.athanor.ops.tile;

import dev.athanor.engine.device.Capability;
import java.util.Optional;

/**
 * How blocks share K where there are fewer tiles than multiprocessors: each takes some stages of a
 * tile, and {@link SplitVariant} adds up what they have.
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
    long most = Math.min(Math.min(MOST, stages / LEAST_STAGES), device.multiprocessors() / blocks);
    if (most < 2) {
      return Optional.empty();
    }
    int perShare = Math.ceilDiv(stages, (int) most);
    return Optional.of(new Shares(Math.ceilDiv(stages, perShare), perShare));
  }
}
