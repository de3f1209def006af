package dev.athanor.engine.emulator.async;

import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.device.TensorMap;
import dev.athanor.engine.emulator.async.TransferEndpoint.Reduction;
import dev.athanor.engine.emulator.async.TransferEndpoint.Row;
import dev.athanor.engine.emulator.memory.Allocation;
import dev.athanor.engine.emulator.memory.EncodedTensorMap;
import dev.athanor.engine.emulator.memory.Fault;
import dev.athanor.engine.emulator.memory.LaneAccess;
import dev.athanor.engine.emulator.memory.Memory;
import dev.athanor.engine.emulator.memory.Registers.Lanes;
import dev.athanor.engine.emulator.step.Addresses;
import dev.athanor.engine.emulator.step.Block;
import dev.athanor.engine.emulator.step.Step;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Warps;
import java.lang.invoke.VarHandle;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Instructions that issue {@link Transfer}s. */
final class BulkSteps {

  /** Size and alignment of bulk copies, in bytes. */
  private static final int UNIT = 16;

  /** Alignment of tiles in shared memory, in bytes. */
  private static final int TILE_ALIGNMENT = 128;

  /** Alignment of tensor maps, in bytes. */
  private static final int MAP_ALIGNMENT = 64;

  private BulkSteps() {}

  /**
   * How a transfer completes.
   *
   * @param barriers the mbarriers that are signaled; null = the transfer belongs to a bulk group
   * @param ranks the mask of the blocks that receive the bytes; null = the block that the target
   *     names
   */
  record Completion(@Nullable MbarrierFinder barriers, @Nullable Lanes ranks) {}

  /** A step that issues one transfer per lane. */
  abstract static class Issue implements Step {
    final AsyncState async;
    final Block block;
    final Instruction instruction;
    private final Completion completion;

    Issue(AsyncState async, Instruction instruction, Completion completion) {
      this.async = async;
      this.block = async.block;
      this.instruction = instruction;
      this.completion = completion;
    }

    @Override
    public final void execute(int first, int end, boolean whole) {
      for (int warp = first; warp < end; warp++) {
        for (int left = block.active[warp]; left != 0; left &= left - 1) {
          int in = Integer.numberOfTrailingZeros(left);
          if (completion.barriers != null) {
            completion.barriers.resolve(warp, 1 << in);
            completion.barriers.observe();
          }
          issue(Warps.thread(warp, in));
        }
      }
    }

    abstract void issue(int lane);

    /** Issues a transfer to global memory, as part of a bulk group. */
    void store(
        int lane,
        TransferEndpoint source,
        TransferEndpoint target,
        int bytes,
        @Nullable Reduction reduction) {
      var observer = block.asyncObserver;
      if (observer != null) {
        observer.issues(lane, source, target, bytes, async.bulkGroups.committed(lane));
      }
      var transfer =
          new Transfer(block, instruction, lane, source, target, bytes, reduction, null, null);
      async.bulkGroups.add(lane, transfer);
      async.pending.issue(transfer);
    }

    /**
     * Issues a transfer to shared memory.
     *
     * @param to the memory that the target names
     * @param target creates the target in a memory
     */
    void load(
        int lane,
        TransferEndpoint source,
        Memory to,
        Function<Memory, TransferEndpoint> target,
        int bytes,
        @Nullable Reduction reduction) {
      var barriers = completion.barriers;
      if (barriers == null) {
        throw new IllegalStateException(instruction + " tells no barrier");
      }
      if (completion.ranks == null) {
        var owner = barriers.owner(Warps.laneOf(lane));
        if (owner.block.sharedMemory != to) {
          throw fault(
              Kind.RULE, lane, "the mbarrier is not in the block to whose memory it copies");
        }
        load(lane, source, target, owner, barriers, bytes, reduction);
        return;
      }
      long ranks = completion.ranks.bits(lane) & 0xFFFF;
      for (long left = ranks; left != 0; left &= left - 1) {
        int rank = Long.numberOfTrailingZeros(left);
        if (rank >= block.cluster.size()) {
          throw fault(
              Kind.ABSENT_BLOCK,
              lane,
              "goes to block %d of the cluster, which has %d"
                  .formatted(rank, block.cluster.size()));
        }
        load(lane, source, target, async.peer(rank), barriers, bytes, reduction);
      }
    }

    private void load(
        int lane,
        TransferEndpoint source,
        Function<Memory, TransferEndpoint> target,
        AsyncState owner,
        MbarrierFinder barriers,
        int bytes,
        @Nullable Reduction reduction) {
      var barrier = barriers.find(owner, Warps.laneOf(lane));
      var to = target.apply(owner.block.sharedMemory);
      var observer = block.asyncObserver;
      var signal = observer == null ? null : observer.issues(lane, source, to, bytes, barrier);
      var transfer =
          new Transfer(block, instruction, lane, source, to, bytes, reduction, barrier, signal);
      barrier.addSignal(transfer);
      async.pending.issue(transfer);
    }

    /** Returns the offset of the bytes of a lane. */
    long offset(Addresses addresses, int lane, long bytes, int alignment) {
      long offset = addresses.offset(lane, bytes, alignment);
      if (offset < 0) {
        throw addresses.fault(lane, bytes, alignment);
      }
      return offset;
    }

    Fault fault(Kind kind, int lane, String what) {
      return block.fault(kind, lane, instruction, what);
    }
  }

  /** {@code cp.async.bulk} and {@code cp.reduce.async.bulk}. */
  static final class Copy extends Issue {
    private final Addresses targets;
    private final Addresses sources;
    private final Lanes size;
    private final @Nullable Lanes mask;
    private final @Nullable Reduction reduction;
    private final boolean grouped;

    /**
     * @param mask which bytes of each 16 are written; null = all
     * @param reduction the reduction at the target; null = copy
     */
    Copy(
        AsyncState async,
        Instruction instruction,
        Completion completion,
        Addresses targets,
        Addresses sources,
        Lanes size,
        @Nullable Lanes mask,
        @Nullable Reduction reduction) {
      super(async, instruction, completion);
      this.targets = targets;
      this.sources = sources;
      this.size = size;
      this.mask = mask;
      this.reduction = reduction;
      this.grouped = completion.barriers() == null;
    }

    @Override
    void issue(int lane) {
      long bytes = size.bits(lane);
      if (bytes == 0 || bytes % UNIT != 0 || bytes > Integer.MAX_VALUE) {
        throw fault(Kind.COPY_SIZE, lane, "copies a multiple of 16 bytes, got " + bytes);
      }
      int count = (int) bytes;
      long from = offset(sources, lane, bytes, UNIT);
      var source = new Row(sources.memory(), from, bytes, Row.ALL);
      long to = offset(targets, lane, bytes, UNIT);
      if (grouped) {
        int written = mask == null ? Row.ALL : (int) mask.bits(lane);
        store(lane, source, new Row(targets.memory(), to, bytes, written), count, reduction);
      } else {
        load(
            lane,
            source,
            targets.memory(),
            memory -> new Row(memory, to, bytes, Row.ALL),
            count,
            reduction);
      }
    }
  }

  /** {@code cp.async.bulk.tensor} and {@code cp.reduce.async.bulk.tensor}. */
  static final class TensorCopy extends Issue {
    private final Addresses maps;
    private final List<Lanes> coordinates;
    private final Addresses shared;
    private final @Nullable Function<TensorMap, Reduction> reduction;
    private final boolean stores;

    /**
     * @param shared the address of the tile in shared memory
     * @param reduction creates the reduction for the elements of a tensor; null = copy
     */
    TensorCopy(
        AsyncState async,
        Instruction instruction,
        Completion completion,
        Addresses maps,
        List<Lanes> coordinates,
        Addresses shared,
        @Nullable Function<TensorMap, Reduction> reduction) {
      super(async, instruction, completion);
      this.maps = maps;
      this.coordinates = coordinates;
      this.shared = shared;
      this.reduction = reduction;
      this.stores = completion.barriers() == null;
    }

    @Override
    void issue(int lane) {
      long at = offset(maps, lane, TensorMap.BYTES, MAP_ALIGNMENT);
      EncodedTensorMap encoded;
      try {
        encoded = EncodedTensorMap.decode(maps.segment().asSlice(at, TensorMap.BYTES));
      } catch (IllegalArgumentException e) {
        throw fault(Kind.TENSOR_MAP, lane, String.valueOf(e.getMessage()));
      }
      var map = encoded.map();
      var observer = block.asyncObserver;
      if (observer != null && maps.memory() instanceof Allocation buffer) {
        observer.usesMap(lane, buffer, at);
      }
      if (map.sizes().size() != coordinates.size()) {
        throw fault(
            Kind.TENSOR_MAP,
            lane,
            "has %d coordinates, but the tensor map %d dimensions"
                .formatted(coordinates.size(), map.sizes().size()));
      }
      int[] start = coordinates.stream().mapToInt(c -> (int) c.bits(lane)).toArray();
      var tile = new TensorTile(encoded, start, block.memory);
      var problem = tile.problem();
      if (problem != null) {
        throw fault(Kind.OUT_OF_BOUNDS, lane, problem);
      }
      int bytes = map.tileBytes();
      long offset = offset(shared, lane, bytes, TILE_ALIGNMENT);
      if (stores) {
        var source = new TensorTile.Shared(shared.memory(), offset, bytes, map.swizzle());
        store(lane, source, tile, bytes, reduction(lane, map));
      } else {
        load(
            lane,
            tile,
            shared.memory(),
            memory -> new TensorTile.Shared(memory, offset, bytes, map.swizzle()),
            bytes,
            null);
      }
    }

    private @Nullable Reduction reduction(int lane, TensorMap map) {
      try {
        return reduction == null ? null : reduction.apply(map);
      } catch (IllegalArgumentException e) {
        throw fault(Kind.TENSOR_MAP, lane, String.valueOf(e.getMessage()));
      }
    }
  }

  /** {@code st.async} and {@code red.async}. */
  static final class Store extends Issue {
    private final Addresses targets;
    private final List<Lanes> values;
    private final int size;
    private final @Nullable Reduction reduction;

    /**
     * @param values one element each
     * @param size bytes of an element
     */
    Store(
        AsyncState async,
        Instruction instruction,
        Completion completion,
        Addresses targets,
        List<Lanes> values,
        int size,
        @Nullable Reduction reduction) {
      super(async, instruction, completion);
      this.targets = targets;
      this.values = values;
      this.size = size;
      this.reduction = reduction;
    }

    @Override
    void issue(int lane) {
      int bytes = size * values.size();
      long offset = offset(targets, lane, bytes, bytes);
      long[] words = new long[2];
      for (int i = 0; i < values.size(); i++) {
        int at = i * size;
        words[at / Long.BYTES] |= values.get(i).bits(lane) << (8 * (at % Long.BYTES));
      }
      load(
          lane,
          new TransferEndpoint.Value(words[0], words[1]),
          targets.memory(),
          memory -> new Row(memory, offset, bytes, Row.ALL),
          bytes,
          reduction);
    }
  }

  /** Notifies the observer of a changed tensor map. */
  private static void changed(
      Block block, int lane, Memory memory, long offset, boolean collective) {
    var observer = block.asyncObserver;
    if (observer != null) {
      observer.changesMap(lane, memory, offset, collective);
    }
  }

  /** {@code fence.proxy.tensormap::generic.acquire}. */
  record FenceMap(Block block, Addresses maps) implements Step {
    @Override
    public void execute(int first, int end, boolean whole) {
      VarHandle.fullFence();
      var observer = block.asyncObserver;
      for (int lane = Warps.SIZE * first; lane < Warps.SIZE * end; lane++) {
        if (!block.isActive(lane)) {
          continue;
        }
        long at = maps.offset(lane, TensorMap.BYTES, MAP_ALIGNMENT);
        if (at < 0) {
          throw maps.fault(lane, TensorMap.BYTES, MAP_ALIGNMENT);
        }
        if (observer != null && maps.memory() instanceof Allocation buffer) {
          observer.fencesMap(lane, buffer, at);
        }
      }
    }
  }

  /** {@code tensormap.replace}. */
  record Replace(Block block, Addresses maps, int offset, Lanes value, int bytes) implements Step {
    @Override
    public void execute(int first, int end, boolean whole) {
      for (int lane = Warps.SIZE * first; lane < Warps.SIZE * end; lane++) {
        if (!block.isActive(lane)) {
          continue;
        }
        long at = maps.offset(lane, TensorMap.BYTES, MAP_ALIGNMENT);
        if (at < 0) {
          throw maps.fault(lane, TensorMap.BYTES, MAP_ALIGNMENT);
        }
        if (bytes == Long.BYTES) {
          maps.segment().set(LaneAccess.LONG, at + offset, value.bits(lane));
        } else {
          maps.segment().set(LaneAccess.INT, at + offset, (int) value.bits(lane));
        }
        changed(block, lane, maps.memory(), at, false);
      }
      block.stored();
    }
  }

  /** {@code tensormap.cp_fenceproxy}. */
  record CopyMap(Block block, Addresses targets, Addresses sources) implements Step.Collective {
    @Override
    public int needed(int warp, int mask) {
      return block.live[warp];
    }

    @Override
    public void execute(int first, int end, boolean whole) {
      for (int lane = Warps.SIZE * first; lane < Warps.SIZE * end; lane++) {
        if (!block.isActive(lane)) {
          continue;
        }
        long from = sources.offset(lane, TensorMap.BYTES, MAP_ALIGNMENT);
        long to = targets.offset(lane, TensorMap.BYTES, MAP_ALIGNMENT);
        if (from < 0 || to < 0) {
          throw (from < 0 ? sources : targets).fault(lane, TensorMap.BYTES, MAP_ALIGNMENT);
        }
        new Row(targets.memory(), to, TensorMap.BYTES, Row.ALL)
            .write(sources.segment().asSlice(from, TensorMap.BYTES));
        changed(block, lane, targets.memory(), to, true);
      }
      block.stored();
    }
  }
}
