package dev.athanor.engine.emulator;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Who in a cluster knows of whose doings: vector clocks over warps, numbered through its blocks,
 * and over threads where the lanes of a warp know different things.
 *
 * <p>Each warp has a clock, which goes on with everything by which others may come to know of its
 * doings. Clocks never go back, not even from one cluster of a worker to the next, so that what an
 * earlier one did is known to all.
 */
final class Clocks {

  private final int warps;
  private final int[] now;

  /** For each warp up to when all its lanes know what all lanes of each warp did. */
  private final int[][] seen;

  /** What all lanes of a warp know besides; shared, never changed. */
  private final Knowledge[] common;

  /** What a thread alone knows. */
  private final @Nullable Knowledge[] own;

  private final boolean[] anyOwn;
  private final int[][] barrierSeen;
  private final @Nullable Knowledge[] barrierCommon;
  private long cluster;

  /**
   * @param warps of the whole cluster
   * @param barriers how many there are in it
   */
  Clocks(int warps, int barriers) {
    this.warps = warps;
    this.barrierSeen = new int[barriers][warps];
    this.barrierCommon = new @Nullable Knowledge[barriers];
    this.now = new int[warps];
    Arrays.fill(now, 1);
    this.seen = new int[warps][warps];
    this.common = new Knowledge[warps];
    this.own = new @Nullable Knowledge[32 * warps];
    this.anyOwn = new boolean[warps];
  }

  void begin(long number) {
    cluster = number;
    int before = Arrays.stream(now).max().orElseThrow();
    Arrays.fill(now, before + 1);
    for (int[] each : seen) {
      Arrays.fill(each, before);
    }
    Arrays.fill(common, Knowledge.NONE);
    Arrays.fill(own, null);
    Arrays.fill(anyOwn, false);
    for (int[] each : barrierSeen) {
      Arrays.fill(each, 0);
    }
    Arrays.fill(barrierCommon, null);
  }

  /** The time of a warp. */
  int now(int warp) {
    return now[warp];
  }

  /** What a warp does from now on is not known to those that learnt what it did before. */
  void tick(int warp) {
    now[warp]++;
  }

  /** Up to when all lanes of a warp know what all lanes of each warp of the block did. */
  int[] seen(int warp) {
    return seen[warp];
  }

  /** Whether a thread knows what a thread did, which is not itself. */
  boolean knows(int warp, int lane, long otherCluster, int otherWarp, int otherLane, int time) {
    if (otherCluster == cluster && time <= seen[warp][otherWarp]) {
      return true;
    }
    var alone = own[32 * warp + lane];
    return common[warp].covers(otherCluster, otherWarp, otherLane, time)
        || (alone != null && alone.covers(otherCluster, otherWarp, otherLane, time));
  }

  /** Whether a thread knows anything that a thread of another cluster did. */
  boolean knowsAny(int warp, int lane, long otherCluster, int otherWarp, int otherLane) {
    return knows(warp, lane, otherCluster, otherWarp, otherLane, 1);
  }

  /** {@code bar.warp.sync}: lanes of a warp tell one another everything. */
  void synchronize(int warp, int lanes, int live) {
    var joined = common[warp];
    if (anyOwn[warp]) {
      joined = joined.copy();
      for (int left = lanes; left != 0; left &= left - 1) {
        var alone = own[32 * warp + Integer.numberOfTrailingZeros(left)];
        if (alone != null) {
          joined.join(alone);
        }
      }
    }
    if ((live & ~lanes) == 0) {
      common[warp] = joined;
      seen[warp][warp] = now[warp];
      forget(warp);
    } else {
      joined = anyOwn[warp] ? joined : joined.copy();
      for (int left = lanes; left != 0; left &= left - 1) {
        int lane = Integer.numberOfTrailingZeros(left);
        joined.raise(Knowledge.key(cluster, warp, lane), now[warp]);
      }
      for (int left = lanes; left != 0; left &= left - 1) {
        own[32 * warp + Integer.numberOfTrailingZeros(left)] = joined.copy();
      }
      anyOwn[warp] = true;
    }
    tick(warp);
  }

  private void forget(int warp) {
    if (anyOwn[warp]) {
      Arrays.fill(own, 32 * warp, 32 * warp + 32, null);
      anyOwn[warp] = false;
    }
  }

  /** A warp comes to a barrier, and all that it knows with it. */
  void arrive(int barrier, int warp) {
    int[] known = barrierSeen[barrier];
    int[] brought = seen[warp];
    for (int i = 0; i < warps; i++) {
      known[i] = Math.max(known[i], brought[i]);
    }
    known[warp] = now[warp];
    var joined = barrierCommon[barrier];
    if (joined == null) {
      joined = common[warp];
    } else if (joined != common[warp] && !common[warp].isEmpty()) {
      joined = joined.copy();
      joined.join(common[warp]);
    }
    if (anyOwn[warp]) {
      joined = joined.copy();
      for (int lane = 0; lane < 32; lane++) {
        var alone = own[32 * warp + lane];
        if (alone != null) {
          joined.join(alone);
        }
      }
    }
    barrierCommon[barrier] = joined;
    tick(warp);
  }

  /** A warp that came to a barrier, and that it has let go on, learns what was brought there. */
  void leave(int barrier, int warp) {
    int[] known = barrierSeen[barrier];
    for (int i = 0; i < warps; i++) {
      seen[warp][i] = Math.max(seen[warp][i], known[i]);
    }
    var joined = barrierCommon[barrier];
    if (joined != null) {
      common[warp] = joined;
    }
    forget(warp);
  }

  /** A barrier forgets what was brought to it. */
  void clear(int barrier) {
    Arrays.fill(barrierSeen[barrier], 0);
    barrierCommon[barrier] = null;
  }

  /**
   * Hands on what a thread knows.
   *
   * @param upTo the time up to which its own doings are told
   */
  void publish(int warp, int lane, int upTo, Knowledge to) {
    for (int other = 0; other < warps; other++) {
      to.raise(Knowledge.key(cluster, other, Knowledge.ALL), seen[warp][other]);
    }
    to.join(common[warp]);
    var alone = own[32 * warp + lane];
    if (alone != null) {
      to.join(alone);
    }
    to.raise(Knowledge.key(cluster, warp, lane), upTo);
  }

  /** A thread comes to know something. */
  void learn(int warp, int lane, Knowledge news) {
    if (news.isEmpty()) {
      return;
    }
    var alone = own[32 * warp + lane];
    if (alone == null) {
      own[32 * warp + lane] = news.copy();
      anyOwn[warp] = true;
    } else {
      alone.join(news);
    }
  }
}
