package dev.athanor.engine.emulator.sanitizer;

import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.emulator.memory.Allocation;
import dev.athanor.engine.emulator.watch.MemoryRequest;
import org.jspecify.annotations.Nullable;

/** Judges accesses in conflict with what one lane does now, or something that it has issued. */
final class ConflictClassifier implements ConflictListener {
  private final Sanitizer of;
  private final ClusterHistory watch;
  private final int lane;

  /** The last that was judged of a flight, and how; its bytes have often been touched alike. */
  private long last;

  private int lastCluster;
  private boolean lastWrote;
  private @Nullable Kind lastKind;

  ConflictClassifier(Sanitizer of, int lane) {
    this.of = of;
    this.watch = of.watch;
    this.lane = lane;
  }

  /** Something else is judged from now on. */
  void forget() {
    last = 0;
  }

  @Override
  public void judge(long before, int cluster, boolean wrote) {
    if (!role().isInFlight()) {
      report(kind(before, cluster, wrote), before, cluster, wrote);
      return;
    }
    if (before != last || cluster != lastCluster || wrote != lastWrote) {
      last = before;
      lastCluster = cluster;
      lastWrote = wrote;
      lastKind = flightKind(before, cluster, wrote);
    }
    report(lastKind, before, cluster, wrote);
  }

  private void report(@Nullable Kind kind, long before, int cluster, boolean wrote) {
    if (kind != null) {
      of.launch.reports.add(
          kind,
          AccessStamp.instruction(before),
          role().number(),
          of.block(),
          () ->
              of.sentences.conflict(
                  kind, before, cluster, wrote, of.block(), role(), of.now(), lane));
    }
  }

  private MemoryEffect role() {
    return of.role();
  }

  private boolean isNear(int cluster) {
    return cluster == (int) watch.cluster();
  }

  private boolean isOwn(long before, int cluster) {
    return isNear(cluster) && AccessStamp.thread(before) == 32 * of.warp() + lane;
  }

  private boolean knows(long before, int cluster, int time) {
    return watch.clocks.knows(
        of.warp(), lane, cluster, AccessStamp.warp(before), AccessStamp.lane(before), time);
  }

  private @Nullable Kind kind(long before, int cluster, boolean wrote) {
    var role = role();
    if (AccessStamp.has(before | role.mark(), AccessStamp.READ_ONLY)) {
      return Kind.READ_ONLY_WRITTEN;
    }
    if (AccessStamp.isFlight(before)) {
      return isOver(before, cluster, wrote) ? null : lateKind(before, cluster, wrote);
    }
    if (AccessStamp.has(before, AccessStamp.COPY)) {
      return copyKind(before, cluster, wrote);
    }
    if (isOwn(before, cluster)) {
      return null;
    }
    if (isNear(cluster)
        && AccessStamp.warp(before) == of.warp()
        && isSameMoment(before, AccessStamp.lane(before))) {
      return of.now().kind() == MemoryRequest.Kind.ATOMIC
              || of.now().agree(lane, AccessStamp.lane(before))
          ? null
          : Kind.LANES_COLLIDE;
    }
    if (knows(before, cluster, AccessStamp.time(before))) {
      return null;
    }
    int strength = AccessStamp.strength(before);
    if (strength != AccessStamp.WEAK && role.strength() != AccessStamp.WEAK) {
      return Math.min(strength, role.strength()) >= needed(before, cluster)
          ? null
          : Kind.NARROW_SCOPE;
    }
    if (AccessStamp.has(before | role.mark(), AccessStamp.ATOMIC)) {
      return Kind.ATOMIC_AND_PLAIN;
    }
    return wrote && isSameStore(before, cluster) ? null : race(before, cluster);
  }

  /**
   * Whether another thread of the block has stored the same with the same instruction: whoever was
   * last, memory holds one value.
   */
  private boolean isSameStore(long before, int cluster) {
    return isNear(cluster)
        && watch.rankOf(AccessStamp.warp(before)) == of.rank
        && AccessStamp.instruction(before) == AccessStamp.instruction(role().mark())
        && of.now().isThere(lane);
  }

  /** How far the scopes of accesses have to reach. */
  private int needed(long before, int cluster) {
    return !isNear(cluster)
        ? AccessStamp.DEVICE
        : watch.rankOf(AccessStamp.warp(before)) == of.rank
            ? AccessStamp.BLOCK
            : AccessStamp.CLUSTER;
  }

  private Kind race(long before, int cluster) {
    int otherWarp = AccessStamp.warp(before);
    return !isNear(cluster)
        ? Kind.RACE_IN_GRID
        : otherWarp == of.warp()
            ? Kind.RACE_IN_WARP
            : watch.rankOf(otherWarp) == of.rank ? Kind.RACE_IN_BLOCK : Kind.RACE_IN_CLUSTER;
  }

  /** Whether another lane did it with the same instruction, at the same time. */
  private boolean isSameMoment(long before, int other) {
    var touch = of.now();
    return AccessStamp.instruction(before) == AccessStamp.instruction(role().mark())
        && AccessStamp.time(before) == of.times[lane]
        && other < lane
        && ((touch.mask >>> other) & 1) != 0
        && touch.memories[other] == touch.memories[lane]
        && touch.offsets[other] == touch.offsets[lane];
  }

  /** Of a {@code cp.async} before. */
  private @Nullable Kind copyKind(long before, int cluster, boolean wrote) {
    if (!isNear(cluster)) {
      return knows(before, cluster, 1) ? null : Kind.RACE_IN_GRID;
    }
    int thread = AccessStamp.thread(before);
    int group = AccessStamp.time(before);
    if (watch.copies.hasArrived(thread, group, watch.clocks, of.warp(), lane)) {
      return null;
    }
    if (!watch.copies.isDone(thread, group)) {
      return lateKind(before, cluster, wrote);
    }
    return isOwn(before, cluster) || knows(before, cluster, watch.copies.time(thread, group))
        ? null
        : race(before, cluster);
  }

  /** What it is to touch what a copy may not have finished with. */
  private Kind lateKind(long before, int cluster, boolean wrote) {
    if (!isNear(cluster)) {
      return Kind.RACE_IN_GRID;
    }
    if (of.launch.roles.get(AccessStamp.instruction(before)).kind() == MemoryEffect.Kind.PRODUCT) {
      return Kind.PRODUCT_OPERAND_WRITTEN;
    }
    return !wrote
        ? Kind.COPY_SOURCE_WRITTEN
        : of.now().kind() == MemoryRequest.Kind.LOAD
            ? Kind.COPY_NOT_AWAITED
            : Kind.COPY_TARGET_WRITTEN;
  }

  /** Whether a flight of before is known to have written, or to have read. */
  private boolean isOver(long before, int cluster, boolean wrote) {
    if (!isNear(cluster)) {
      return knows(before, cluster, 1);
    }
    return watch.async.isOver(AccessStamp.time(before), of.warp(), lane, wrote);
  }

  /** Of what came before something that goes on beside the threads. */
  private @Nullable Kind flightKind(long before, int cluster, boolean wrote) {
    var role = role();
    if (AccessStamp.has(before, AccessStamp.READ_ONLY)) {
      return Kind.READ_ONLY_WRITTEN;
    }
    if (AccessStamp.isFlight(before)) {
      boolean both =
          role.combines() && of.launch.roles.get(AccessStamp.instruction(before)).combines();
      return both || isOver(before, cluster, wrote) ? null : lateKind(before, cluster, wrote);
    }
    int time = AccessStamp.time(before);
    if (AccessStamp.has(before, AccessStamp.COPY)) {
      var kind = copyKind(before, cluster, wrote);
      if (kind != null
          || !isNear(cluster)
          || !watch.copies.isDone(AccessStamp.thread(before), time)) {
        return kind;
      }
      time = watch.copies.time(AccessStamp.thread(before), time);
    } else if (!isOwn(before, cluster) && !knows(before, cluster, time)) {
      return role.combines() && AccessStamp.has(before, AccessStamp.ATOMIC)
          ? null
          : race(before, cluster);
    }
    var memory =
        of.now().memory(lane) instanceof Allocation ? ProxyMemory.GLOBAL : ProxyMemory.SHARED;
    return wrote
            && role.isInAsyncProxy()
            && !watch.clocks.knowsFenced(
                memory,
                of.warp(),
                lane,
                cluster,
                AccessStamp.warp(before),
                AccessStamp.lane(before),
                time)
        ? Kind.PROXY_FENCE
        : null;
  }
}
