package dev.athanor.engine.emulator;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Release and acquire by the threads of a block (PTX ISA 8.8): what fences cover, and what strong
 * accesses hand over and bring.
 */
final class Ordering {

  private final Clocks clocks;
  private final SyncPlaces buffers;
  private final SyncPlaces shared = new SyncPlaces();

  /** The time of a thread's last fence, towards its block and towards all; 0 = none. */
  private final int[] fencedNarrow;

  private final int[] fencedWide;

  /** What a fence of the thread would acquire. */
  private final @Nullable Knowledge[] pendingNarrow;

  private final @Nullable Knowledge[] pendingWide;
  private long block;

  /**
   * @param buffers what is released in global memory, by all blocks
   */
  Ordering(Clocks clocks, SyncPlaces buffers, int threads) {
    this.clocks = clocks;
    this.buffers = buffers;
    this.fencedNarrow = new int[threads];
    this.fencedWide = new int[threads];
    this.pendingNarrow = new @Nullable Knowledge[threads];
    this.pendingWide = new @Nullable Knowledge[threads];
  }

  void begin(long number) {
    block = number;
    shared.clear();
    Arrays.fill(fencedNarrow, 0);
    Arrays.fill(fencedWide, 0);
    Arrays.fill(pendingNarrow, null);
    Arrays.fill(pendingWide, null);
  }

  /** A fence: what strong reads have seen is acquired, what is done can be released. */
  void fence(int warp, int lanes, boolean wide) {
    int now = clocks.now(warp);
    for (int left = lanes; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      int thread = 32 * warp + lane;
      learn(warp, lane, pendingNarrow);
      fencedNarrow[thread] = now;
      if (wide) {
        learn(warp, lane, pendingWide);
        fencedWide[thread] = now;
      }
    }
    clocks.tick(warp);
  }

  private void learn(int warp, int lane, @Nullable Knowledge[] pending) {
    var news = pending[32 * warp + lane];
    if (news != null) {
      clocks.learn(warp, lane, news);
      pending[32 * warp + lane] = null;
    }
  }

  /** Lanes are about to write with strong accesses. */
  void write(Touch touch, Role role) {
    boolean released = false;
    for (int left = touch.mask; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      int thread = 32 * touch.warp + lane;
      boolean wide = role.strength() == Mark.WIDE;
      int upTo;
      if (role.releases()) {
        upTo = clocks.now(touch.warp);
      } else if (wide && fencedWide[thread] > 0) {
        upTo = fencedWide[thread];
      } else {
        wide = false;
        upTo = fencedNarrow[thread];
      }
      if (upTo > 0) {
        places(touch, lane)
            .release(touch.address(lane), block, wide, clocks, touch.warp, lane, upTo);
        released = true;
      }
    }
    if (released) {
      clocks.tick(touch.warp);
    }
  }

  /** Lanes have read with strong accesses. */
  void read(Touch touch, Role role) {
    boolean wide = role.strength() == Mark.WIDE;
    for (int left = touch.mask; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      var places = places(touch, lane);
      if (places.isEmpty()) {
        continue;
      }
      var news = places.acquire(touch.address(lane), block, wide);
      if (news == null) {
        continue;
      }
      if (role.acquires()) {
        clocks.learn(touch.warp, lane, news);
        continue;
      }
      var pending = wide ? pendingWide : pendingNarrow;
      int thread = 32 * touch.warp + lane;
      var known = pending[thread];
      if (known == null) {
        pending[thread] = news;
      } else {
        known.join(news);
      }
    }
  }

  private SyncPlaces places(Touch touch, int lane) {
    return touch.memory(lane) instanceof Allocation ? buffers : shared;
  }
}
