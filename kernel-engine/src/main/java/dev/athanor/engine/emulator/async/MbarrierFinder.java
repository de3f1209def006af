package dev.athanor.engine.emulator.async;

import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.emulator.memory.Fault;
import dev.athanor.engine.emulator.step.Addresses;
import dev.athanor.engine.emulator.step.Block;
import dev.athanor.engine.emulator.watch.MemoryRequest;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Warps;
import org.jspecify.annotations.Nullable;

/** Finds the mbarriers that the lanes of a warp address with an operand. */
final class MbarrierFinder {
  private final AsyncState async;
  private final Block block;
  private final Instruction instruction;
  private final Addresses addresses;
  private final MemoryRequest touch;

  MbarrierFinder(AsyncState async, Instruction instruction, Addresses addresses) {
    this.async = async;
    this.block = async.block;
    this.instruction = instruction;
    this.addresses = addresses;
    this.touch = new MemoryRequest(instruction, MemoryRequest.Kind.ATOMIC);
  }

  /** Resolves the addresses of lanes; the other methods then refer to them. */
  void resolve(int warp, int mask) {
    addresses.resolve(warp, mask, Long.BYTES, touch);
  }

  void observe() {
    block.observe(touch);
  }

  /** Returns the block whose shared memory contains a lane's mbarrier. */
  AsyncState owner(int lane) {
    var owner = async.owner(touch.memory(lane));
    if (owner == null) {
      throw fault(Kind.RULE, lane, "an mbarrier is in shared memory, not there");
    }
    return owner;
  }

  /** Returns the offset of a lane's mbarrier in that shared memory. */
  long offset(int lane) {
    return touch.offsets[lane];
  }

  Mbarrier find(int lane) {
    return find(owner(lane), lane);
  }

  /** Returns the mbarrier at a lane's offset in another block. */
  Mbarrier find(AsyncState owner, int lane) {
    var barrier = owner.mbarriers.get(offset(lane));
    if (barrier == null) {
      throw fault(
          Kind.MBARRIER_MISSING,
          lane,
          "there is no mbarrier at %d%s"
              .formatted(
                  offset(lane),
                  owner == async ? "" : " of block %d of the cluster".formatted(owner.block.rank)));
    }
    if (!barrier.isIntact()) {
      throw fault(
          Kind.MBARRIER_OVERWRITTEN, lane, "something was stored over %s".formatted(barrier));
    }
    return barrier;
  }

  /** Throws a fault unless the violation is null. */
  void check(Kind kind, int lane, @Nullable String violation) {
    if (violation != null) {
      throw fault(kind, lane, violation);
    }
  }

  /** Reports a violated rule that does not stop the block. */
  void report(Kind kind, int lane, String what, String remedy) {
    block.reportViolation(kind, Warps.SIZE * touch.warp() + lane, instruction, what, remedy);
  }

  private Fault fault(Kind kind, int lane, String what) {
    return block.fault(kind, Warps.SIZE * touch.warp() + lane, instruction, what);
  }
}
