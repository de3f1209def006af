package dev.athanor.engine.emulator.async;

import dev.athanor.engine.emulator.memory.Memory;
import dev.athanor.engine.emulator.step.Block;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The asynchronous state of one block: its {@code cp.async} copies, its mbarriers, the groups of
 * its bulk copies, and its warpgroups.
 */
public final class AsyncState {

  final Block block;
  final PendingOperations pending;
  final AsyncCopies copies;
  final BulkGroups bulkGroups;

  /** By offset in the shared memory of the block. */
  final Map<Long, Mbarrier> mbarriers = new HashMap<>();

  /** Four warps each. */
  final List<WarpGroup> warpGroups = new ArrayList<>();

  private final AsyncCluster cluster;

  /** Null until an instruction uses it. */
  private @Nullable TensorMemory tensorMemory;

  AsyncState(Block block, AsyncCluster cluster) {
    this.block = block;
    this.cluster = cluster;
    this.pending = cluster.pending();
    this.copies = new AsyncCopies(block, pending);
    this.bulkGroups = new BulkGroups(block, pending);
    for (int warp = 0; warp < block.live.length; warp += WarpGroup.WARPS) {
      warpGroups.add(new WarpGroup(pending, warp));
    }
  }

  /** Discards the state of the previous block. */
  public void clear() {
    copies.clear();
    mbarriers.clear();
    bulkGroups.clear();
    warpGroups.forEach(WarpGroup::clear);
    if (tensorMemory != null) {
      tensorMemory.clear();
    }
  }

  /** Completes all copies of threads that exit. */
  public void exit(int warp, int lanes) {
    copies.finishAll(warp, lanes);
    if (tensorMemory != null && Arrays.stream(block.live).allMatch(live -> live == 0)) {
      tensorMemory.checkFreed(block);
    }
  }

  /** Returns the tensor memory of the block. */
  TensorMemory tensorMemory() {
    var memory = tensorMemory;
    if (memory == null) {
      memory = new TensorMemory(block, pending);
      tensorMemory = memory;
    }
    return memory;
  }

  /** The {@code cp.async} copies, which make their own steps. */
  public AsyncCopies copies() {
    return copies;
  }

  public BulkGroups bulkGroups() {
    return bulkGroups;
  }

  /** The state of another block of the cluster. */
  AsyncState peer(int rank) {
    return cluster.block(rank);
  }

  /** The state of the block that owns a shared memory of the cluster; null if none does. */
  @Nullable AsyncState owner(Memory shared) {
    var owner = block.cluster.owner(shared);
    return owner == null ? null : cluster.block(owner.rank);
  }
}
