package dev.athanor.engine.emulator.sanitizer;

import dev.athanor.engine.emulator.watch.MemoryRequest;
import dev.athanor.engine.ptx.Warps;

/**
 * An access to memory with its context: what the lanes of a warp, or an asynchronous operation that
 * a lane has issued, do with one instruction. Every block has one object, which is filled anew for
 * each access and passed along.
 */
final class Access {

  /** The number of the block in the grid. */
  final long block;

  /** The number of its cluster in the grid. */
  final int cluster;

  /** For each lane the time of its {@link AccessStamp}. */
  final int[] times = new int[Warps.SIZE];

  private MemoryEffect effect;
  private MemoryRequest request;
  private int warp;
  private int[] seen = {};
  private int[] seenWrites = {};

  Access(long block, int cluster, MemoryEffect effect) {
    this.block = block;
    this.cluster = cluster;
    this.effect = effect;
    this.request = new MemoryRequest(effect.instruction(), MemoryRequest.Kind.LOAD);
  }

  /**
   * Fills in another access.
   *
   * @param newWarp its number in its cluster
   * @param newSeen the times up to which the warp knows the events of each warp
   * @param newSeenWrites the times up to which the access is ordered after the writes of each warp:
   *     the same times, or for the async proxy those up to which its events are behind a proxy
   *     fence
   */
  Access set(
      MemoryEffect newEffect,
      MemoryRequest newRequest,
      int newWarp,
      int[] newSeen,
      int[] newSeenWrites) {
    effect = newEffect;
    request = newRequest;
    warp = newWarp;
    seen = newSeen;
    seenWrites = newSeenWrites;
    return this;
  }

  MemoryEffect effect() {
    return effect;
  }

  MemoryRequest request() {
    return request;
  }

  /** Returns the number of the warp in its cluster. */
  int warp() {
    return warp;
  }

  /** Returns for each warp of the cluster the time up to which this warp knows its events. */
  int[] seen() {
    return seen;
  }

  /** Returns for each warp of the cluster the time up to which its writes precede this access. */
  int[] seenWrites() {
    return seenWrites;
  }

  boolean writes() {
    return request.kind() != MemoryRequest.Kind.LOAD;
  }

  /** Returns whether this is the load of an instruction that copies with {@code cp.async}. */
  boolean isCopySource() {
    return effect.kind() == MemoryEffect.Kind.COPY && !writes();
  }

  /** Returns the stamp of a lane. */
  long stamp(int lane) {
    return AccessStamp.at(effect.mark(), warp, lane, times[lane]);
  }
}
