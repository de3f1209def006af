package dev.athanor.engine.emulator.sanitizer;

import dev.athanor.engine.device.TensorMap;
import dev.athanor.engine.emulator.memory.Allocation;
import dev.athanor.engine.emulator.sanitizer.clocks.SparseVectorClock;
import dev.athanor.engine.emulator.sanitizer.clocks.VectorClocks;
import dev.athanor.engine.ptx.Warps;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Map;

/**
 * The changes of tensor maps in global memory, and the fences of a cluster that make them visible
 * to tensor copies (PTX ISA 9.7.13.4).
 */
final class TensorMaps {

  /**
   * A change of a tensor map.
   *
   * @param stamp of thread and time
   * @param collective whether the lanes of the warp made it together
   */
  record Change(long stamp, int cluster, boolean collective) {}

  /**
   * A fence of a thread for one tensor map.
   *
   * @param cluster of the thread, and its warp there
   * @param time of the warp
   * @param known what the thread knew: the changes that the fence covers
   */
  private record Fence(int cluster, int warp, int time, SparseVectorClock known) {

    /** Returns whether a change happened before the fence. */
    boolean covers(Change change) {
      long stamp = change.stamp();
      boolean own =
          change.collective()
              && change.cluster() == cluster
              && AccessStamp.warp(stamp) == warp
              && AccessStamp.time(stamp) <= time;
      return own
          || known.covers(
              change.cluster(),
              AccessStamp.warp(stamp),
              AccessStamp.lane(stamp),
              AccessStamp.time(stamp));
    }
  }

  private final LaunchHistory launch;
  private final VectorClocks clocks;

  /** The last fence of each thread of the cluster, by the address of the tensor map. */
  private final Map<Long, Map<Integer, Fence>> fences = new HashMap<>();

  private int cluster;

  TensorMaps(LaunchHistory launch, VectorClocks clocks) {
    this.launch = launch;
    this.clocks = clocks;
  }

  /** A cluster begins. */
  void begin(int number) {
    cluster = number;
    fences.clear();
  }

  /** A thread changes a map by an instruction for tensor maps. */
  void change(Allocation buffer, long offset, int warp, int lane, boolean collective) {
    long stamp = AccessStamp.at(0, warp, lane, clocks.now(warp));
    launch.changedMaps.put(buffer.address() + offset, new Change(stamp, cluster, collective));
  }

  /** A thread executes a fence for a map. */
  void fence(Allocation buffer, long offset, int warp, int lane) {
    var known = new SparseVectorClock();
    clocks.publish(warp, lane, known);
    fences
        .computeIfAbsent(buffer.address() + offset, _ -> new HashMap<>())
        .put(Warps.thread(warp, lane), new Fence(cluster, warp, clocks.now(warp), known));
    clocks.tick(warp);
  }

  /** Returns whether a fence that a thread knows covers every change of a map in this launch. */
  boolean isFenced(Allocation buffer, long offset, int warp, int lane) {
    var changes = new ArrayList<Change>();
    for (var write : launch.shadow.lastWrites(buffer, offset, TensorMap.BYTES)) {
      if (!AccessStamp.has(write.stamp(), AccessStamp.COPY)) { // copies are not tracked
        changes.add(new Change(write.stamp(), write.cluster(), false));
      }
    }
    long address = buffer.address() + offset;
    var last = launch.changedMaps.get(address);
    if (last != null) {
      changes.add(last);
    }
    var known = new ArrayList<Fence>();
    fences
        .getOrDefault(address, Map.of())
        .forEach((thread, fence) -> {
          if (clocks.knowsThread(warp, lane, thread, fence.time())) {
            known.add(fence);
          }
        });
    return changes.stream()
        .allMatch(change -> known.stream().anyMatch(fence -> fence.covers(change)));
  }
}
