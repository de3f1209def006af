package dev.athanor.engine.emulator.async;

import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.emulator.memory.Fault;
import dev.athanor.engine.emulator.step.Addresses;
import dev.athanor.engine.emulator.step.Block;
import dev.athanor.engine.emulator.watch.MemoryRequest;
import dev.athanor.engine.ptx.Statement.Instruction;
import org.jspecify.annotations.Nullable;

/** Finds the barriers that the lanes of a warp name with an operand. */
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

  /** Looks at the addresses of some lanes, of which the other methods speak then. */
  void resolve(int warp, int mask) {
    addresses.resolve(warp, mask, Long.BYTES, touch);
  }

  void observe() {
    block.observe(touch);
  }

  /** The block in whose shared memory a lane's barrier is. */
  AsyncState owner(int lane) {
    var owner = async.owner(touch.memory(lane));
    if (owner == null) {
      throw fault(Kind.RULE, lane, "an mbarrier is in shared memory, not there");
    }
    return owner;
  }

  /** Where it is there. */
  long offset(int lane) {
    return touch.offsets[lane];
  }

  Mbarrier find(int lane) {
    return find(owner(lane), lane);
  }

  /** The barrier at a lane's offset in another block. */
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

  void complain(Kind kind, int lane, @Nullable String complaint) {
    if (complaint != null) {
      throw fault(kind, lane, complaint);
    }
  }

  /** Reports what breaks a rule but does not stop the block. */
  void report(Kind kind, int lane, String what, String remedy) {
    block.complain(kind, 32 * touch.warp() + lane, instruction, what, remedy);
  }

  private Fault fault(Kind kind, int lane, String what) {
    return block.fault(kind, 32 * touch.warp() + lane, instruction, what);
  }
}
