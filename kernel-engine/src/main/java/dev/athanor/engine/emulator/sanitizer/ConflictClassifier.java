package dev.athanor.engine.emulator.sanitizer;

import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.emulator.memory.Allocation;
import dev.athanor.engine.emulator.sanitizer.clocks.ProxyMemory;
import dev.athanor.engine.emulator.watch.MemoryRequest;
import dev.athanor.engine.ptx.Warps;
import org.jspecify.annotations.Nullable;

/** Decides whether two accesses of which one writes are a race, and of which kind. */
final class ConflictClassifier implements ConflictListener {
  private final ClusterHistory history;
  private final LaunchHistory launch;
  private final int rank;

  /**
   * The last access that was compared with an asynchronous one, and the result: most bytes of an
   * asynchronous operation were accessed alike.
   */
  private long last;

  private int lastCluster;
  private boolean lastWrote;
  private @Nullable Kind lastKind;

  /**
   * @param rank of the block that accesses
   */
  ConflictClassifier(ClusterHistory history, int rank) {
    this.history = history;
    this.launch = history.launch;
    this.rank = rank;
  }

  /** Forgets the last result, because another asynchronous access follows. */
  void forget() {
    last = 0;
  }

  @Override
  public void conflict(Access access, int lane, long before, int cluster, boolean wrote) {
    if (!access.effect().isAsync()) {
      report(access, lane, kind(access, lane, before, cluster, wrote), before, cluster, wrote);
      return;
    }
    if (before != last || cluster != lastCluster || wrote != lastWrote) {
      last = before;
      lastCluster = cluster;
      lastWrote = wrote;
      lastKind = asyncKind(access, lane, before, cluster, wrote);
    }
    report(access, lane, lastKind, before, cluster, wrote);
  }

  private void report(
      Access access, int lane, @Nullable Kind kind, long before, int cluster, boolean wrote) {
    if (kind != null) {
      launch.reports.add(
          kind,
          AccessStamp.instruction(before),
          access.effect().number(),
          access.block,
          () -> launch.messages.conflict(kind, before, cluster, wrote, access, lane));
    }
  }

  private static boolean isSameThread(Access access, int lane, long before, int cluster) {
    return cluster == access.cluster
        && AccessStamp.thread(before) == Warps.SIZE * access.warp() + lane;
  }

  private boolean knows(Access access, int lane, long before, int cluster, int time) {
    return history.clocks.knows(
        access.warp(), lane, cluster, AccessStamp.warp(before), AccessStamp.lane(before), time);
  }

  /** Returns the kind of conflict of a thread's access; null = none. */
  private @Nullable Kind kind(Access access, int lane, long before, int cluster, boolean wrote) {
    var effect = access.effect();
    if (AccessStamp.has(before | effect.mark(), AccessStamp.READ_ONLY)) {
      return Kind.READ_ONLY_WRITTEN;
    }
    if (AccessStamp.isAsync(before)) {
      return isOver(access, lane, before, cluster, wrote)
          ? null
          : pendingKind(access, before, cluster, wrote);
    }
    if (AccessStamp.has(before, AccessStamp.COPY)) {
      return copyKind(access, lane, before, cluster, wrote);
    }
    if (isSameThread(access, lane, before, cluster)) {
      return null;
    }
    if (cluster == access.cluster
        && AccessStamp.warp(before) == access.warp()
        && isSameMoment(access, lane, before)) {
      var request = access.request();
      return request.kind() == MemoryRequest.Kind.ATOMIC
              || request.agree(lane, AccessStamp.lane(before))
          ? null
          : Kind.LANES_COLLIDE;
    }
    if (knows(access, lane, before, cluster, AccessStamp.time(before))) {
      return null;
    }
    int strength = AccessStamp.strength(before);
    if (strength != AccessStamp.WEAK && effect.strength() != AccessStamp.WEAK) {
      return Math.min(strength, effect.strength()) >= commonScope(access, before, cluster)
          ? null
          : Kind.NARROW_SCOPE;
    }
    if (AccessStamp.has(before | effect.mark(), AccessStamp.ATOMIC)) {
      return Kind.ATOMIC_AND_PLAIN;
    }
    return wrote && isSameStore(access, lane, before, cluster)
        ? null
        : race(access, before, cluster);
  }

  /**
   * Returns whether another thread of the block has stored the same value with the same
   * instruction: the order of the two does not matter.
   */
  private boolean isSameStore(Access access, int lane, long before, int cluster) {
    return cluster == access.cluster
        && history.rankOf(AccessStamp.warp(before)) == rank
        && AccessStamp.instruction(before) == AccessStamp.instruction(access.effect().mark())
        && access.request().isThere(lane);
  }

  /** Returns the narrowest scope that includes both threads. */
  private int commonScope(Access access, long before, int cluster) {
    return cluster != access.cluster
        ? AccessStamp.DEVICE
        : history.rankOf(AccessStamp.warp(before)) == rank
            ? AccessStamp.BLOCK
            : AccessStamp.CLUSTER;
  }

  private Kind race(Access access, long before, int cluster) {
    int otherWarp = AccessStamp.warp(before);
    return cluster != access.cluster
        ? Kind.RACE_IN_GRID
        : otherWarp == access.warp()
            ? Kind.RACE_IN_WARP
            : history.rankOf(otherWarp) == rank ? Kind.RACE_IN_BLOCK : Kind.RACE_IN_CLUSTER;
  }

  /** Returns whether another lane of the same execution of the instruction made an access. */
  private static boolean isSameMoment(Access access, int lane, long before) {
    var request = access.request();
    int other = AccessStamp.lane(before);
    return AccessStamp.instruction(before) == AccessStamp.instruction(access.effect().mark())
        && AccessStamp.time(before) == access.times[lane]
        && other < lane
        && ((request.mask >>> other) & 1) != 0
        && request.memories[other] == request.memories[lane]
        && request.offsets[other] == request.offsets[lane];
  }

  /** Returns the kind of conflict with an earlier {@code cp.async}; null = none. */
  private @Nullable Kind copyKind(
      Access access, int lane, long before, int cluster, boolean wrote) {
    if (cluster != access.cluster) {
      return knows(access, lane, before, cluster, 1) ? null : Kind.RACE_IN_GRID;
    }
    int thread = AccessStamp.thread(before);
    int batch = AccessStamp.time(before);
    var copies = history.copies;
    if (copies.hasArrived(thread, batch, history.clocks, access.warp(), lane)) {
      return null;
    }
    if (!copies.isDone(thread, batch)) {
      return pendingKind(access, before, cluster, wrote);
    }
    return isSameThread(access, lane, before, cluster)
            || knows(access, lane, before, cluster, copies.time(thread, batch))
        ? null
        : race(access, before, cluster);
  }

  /** Returns the kind of conflict with a copy or product that may be pending. */
  private Kind pendingKind(Access access, long before, int cluster, boolean wrote) {
    if (cluster != access.cluster) {
      return Kind.RACE_IN_GRID;
    }
    var earlier = launch.effects.get(AccessStamp.instruction(before));
    if (earlier.kind() == MemoryEffect.Kind.PRODUCT) {
      return wrote ? Kind.PRODUCT_NOT_AWAITED : Kind.PRODUCT_OPERAND_WRITTEN;
    }
    return !wrote
        ? Kind.COPY_SOURCE_WRITTEN
        : access.writes() ? Kind.COPY_TARGET_WRITTEN : Kind.COPY_NOT_AWAITED;
  }

  /** Returns whether the thread knows that an asynchronous write, or read, is over. */
  private boolean isOver(Access access, int lane, long before, int cluster, boolean wrote) {
    return cluster == access.cluster
        ? history.async.isOver(AccessStamp.time(before), access.warp(), lane, wrote)
        : knows(access, lane, before, cluster, 1);
  }

  /** Returns the kind of conflict of an asynchronous access; null = none. */
  private @Nullable Kind asyncKind(
      Access access, int lane, long before, int cluster, boolean wrote) {
    var effect = access.effect();
    if (AccessStamp.has(before, AccessStamp.READ_ONLY)) {
      return Kind.READ_ONLY_WRITTEN;
    }
    if (AccessStamp.isAsync(before)) {
      boolean bothReduce =
          effect.reduces() && launch.effects.get(AccessStamp.instruction(before)).reduces();
      boolean bothInOrder =
          effect.isInTensorPipe()
              && launch.effects.get(AccessStamp.instruction(before)).isInTensorPipe();
      return bothReduce || bothInOrder || isOver(access, lane, before, cluster, wrote)
          ? null
          : pendingKind(access, before, cluster, wrote);
    }
    int time = AccessStamp.time(before);
    if (AccessStamp.has(before, AccessStamp.COPY)) {
      var kind = copyKind(access, lane, before, cluster, wrote);
      int thread = AccessStamp.thread(before);
      if (kind != null || cluster != access.cluster || !history.copies.isDone(thread, time)) {
        return kind;
      }
      time = history.copies.time(thread, time);
    } else if (!isSameThread(access, lane, before, cluster)
        && !knows(access, lane, before, cluster, time)) {
      return effect.reduces() && AccessStamp.has(before, AccessStamp.ATOMIC)
          ? null
          : race(access, before, cluster);
    }
    return wrote
            && effect.isInAsyncProxy()
            && !access.request().memory(lane).isTensorMemory()
            && !isFenced(access, lane, before, cluster, time)
        ? Kind.PROXY_FENCE
        : null;
  }

  private boolean isFenced(Access access, int lane, long before, int cluster, int time) {
    var memory =
        access.request().memory(lane) instanceof Allocation
            ? ProxyMemory.GLOBAL
            : ProxyMemory.SHARED;
    return history.clocks.knowsFenced(
        memory,
        access.warp(),
        lane,
        cluster,
        AccessStamp.warp(before),
        AccessStamp.lane(before),
        time);
  }
}
