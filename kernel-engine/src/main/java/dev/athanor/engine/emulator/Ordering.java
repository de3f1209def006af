package dev.athanor.engine.emulator;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Release and acquire by the threads of a cluster (PTX ISA 8.8): what fences cover, and what strong
 * accesses hand over and bring. Warps and threads are numbered through the blocks of the cluster.
 */
final class Ordering {

  private static final int STRENGTHS = Mark.DEVICE + 1;

  private final Clocks clocks;
  private final SyncPlaces buffers;
  private final SyncPlaces shared = new SyncPlaces();
  private final int warpsOfBlock;

  /** By strength and thread the time of the last fence that reaches as far; 0 = none. */
  private final int[][] fenced;

  /** By strength and thread what a fence that reaches as far would acquire. */
  private final @Nullable Knowledge[][] pending;

  /**
   * The place of each thread's last strong read, its instruction, and what the place's version was.
   * A thread that waits in a loop reads the same over and over.
   */
  private final long[] lastKeys;

  private final int[] lastInstructions;
  private final long[] lastVersions;

  /** The groups of threads that a strong access reaches: its block, its cluster, all. */
  private final long[] groups = new long[STRENGTHS - 1];

  private long cluster;

  /**
   * @param buffers what is released in global memory, by all blocks
   */
  Ordering(Clocks clocks, SyncPlaces buffers, int warps, int warpsOfBlock) {
    this.clocks = clocks;
    this.buffers = buffers;
    this.warpsOfBlock = warpsOfBlock;
    this.fenced = new int[STRENGTHS][32 * warps];
    this.pending = new @Nullable Knowledge[STRENGTHS][32 * warps];
    this.lastKeys = new long[32 * warps];
    this.lastInstructions = new int[32 * warps];
    this.lastVersions = new long[32 * warps];
  }

  void begin(long number) {
    cluster = number;
    shared.clear();
    for (int strength = 0; strength < STRENGTHS; strength++) {
      Arrays.fill(fenced[strength], 0);
      Arrays.fill(pending[strength], null);
    }
    Arrays.fill(lastVersions, 0);
  }

  private void setGroups(int warp) {
    groups[0] = cluster * 32 + warp / warpsOfBlock;
    groups[1] = cluster * 32 + 31;
    groups[2] = SyncPlaces.EVERYBODY;
  }

  /** A fence: what strong reads have seen is acquired, what is done can be released. */
  void fence(int warp, int lanes, int strength) {
    int now = clocks.now(warp);
    for (int left = lanes; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      int thread = 32 * warp + lane;
      for (int reach = Mark.BLOCK; reach <= strength; reach++) {
        fenced[reach][thread] = now;
        var news = pending[reach][thread];
        if (news != null) {
          clocks.learn(warp, lane, news);
          pending[reach][thread] = null;
        }
      }
    }
    clocks.tick(warp);
  }

  /**
   * Lanes are about to write with strong accesses.
   *
   * @param keys of their places
   */
  void write(int warp, Touch touch, Role role, long[] keys) {
    setGroups(warp);
    boolean released = false;
    for (int left = touch.mask; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      int thread = 32 * warp + lane;
      int reach = role.strength();
      int upTo = clocks.now(warp);
      if (!role.releases()) {
        while (reach > Mark.WEAK && fenced[reach][thread] == 0) {
          reach--;
        }
        upTo = fenced[reach][thread];
      }
      if (reach > Mark.WEAK) {
        places(touch, lane).release(keys[lane], groups, reach, clocks, warp, lane, upTo);
        released = true;
      }
    }
    if (released) {
      clocks.tick(warp);
    }
  }

  /** Lanes have read with strong accesses. */
  void read(int warp, Touch touch, Role role, long[] keys) {
    setGroups(warp);
    for (int left = touch.mask; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      var places = places(touch, lane);
      if (!isNew(32 * warp + lane, keys[lane], role.number(), places.version(keys[lane]))) {
        continue;
      }
      if (role.acquires()) {
        var news = places.acquire(keys[lane], groups, role.strength());
        if (news != null) {
          clocks.learn(warp, lane, news);
        }
        continue;
      }
      for (int reach = Mark.BLOCK; reach <= role.strength(); reach++) {
        var news = places.acquire(keys[lane], groups, reach);
        if (news != null) {
          var known = pending[reach][32 * warp + lane];
          if (known == null) {
            pending[reach][32 * warp + lane] = news;
          } else {
            known.join(news);
          }
        }
      }
    }
  }

  /** Whether a strong read may bring what the thread's last one did not; it is taken note of. */
  private boolean isNew(int thread, long key, int instruction, long version) {
    if (version == 0
        || (lastVersions[thread] == version
            && lastKeys[thread] == key
            && lastInstructions[thread] == instruction)) {
      return false;
    }
    lastVersions[thread] = version;
    lastKeys[thread] = key;
    lastInstructions[thread] = instruction;
    return true;
  }

  private SyncPlaces places(Touch touch, int lane) {
    return touch.memory(lane) instanceof Allocation ? buffers : shared;
  }
}
