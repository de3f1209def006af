package dev.athanor.engine.emulator.step;

import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.emulator.lanes.LaneLoop;
import dev.athanor.engine.emulator.memory.Registers.Lanes;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Warps;
import dev.athanor.engine.ptx.meaning.AddressWindow;
import java.lang.invoke.VarHandle;
import java.util.List;

/** Steps that need no class of their own. */
public final class SimpleSteps {

  private SimpleSteps() {}

  /** A lane-wise instruction from registers to registers. */
  public record Pure(Block block, LaneLoop loop) implements Step {
    @Override
    public void execute(int first, int end, boolean whole) {
      if (whole) {
        loop.all(first, end);
      } else {
        for (int warp = first; warp < end; warp++) {
          loop.some(warp, block.active[warp]);
        }
      }
    }
  }

  /** A step that reads clocks, which it sets first. */
  public record Timed(Block block, List<Lanes> clocks, Step step) implements Step {
    @Override
    public void execute(int first, int end, boolean whole) {
      long now = block.tick();
      for (var clock : clocks) {
        for (int lane = Warps.SIZE * first; lane < Warps.SIZE * end; lane++) {
          clock.set(lane, now);
        }
      }
      step.execute(first, end, whole);
    }
  }

  /** A memory fence; accesses within a block are ordered anyway. */
  public record Fence() implements Step {
    @Override
    public void execute(int first, int end, boolean whole) {
      VarHandle.fullFence();
    }
  }

  /** The rank of the block whose shared memory contains an address. */
  public record ClusterRank(Block block, Lanes result, Lanes address) implements Step {
    @Override
    public void execute(int first, int end, boolean whole) {
      for (int lane = Warps.SIZE * first; lane < Warps.SIZE * end; lane++) {
        if (block.isActive(lane)) {
          long slot = (address.bits(lane) & 0xFFFF_FFFFL) >>> AddressWindow.PEER_SHIFT;
          result.set(lane, slot == 0 ? block.rank : slot - 1);
        }
      }
    }
  }

  /** An instruction without effect on values. */
  public record NoEffect() implements Step {
    @Override
    public void execute(int first, int end, boolean whole) {}
  }

  /** {@code trap}, which stops the kernel. */
  public record Trap(Block block, Instruction instruction) implements Step {
    @Override
    public void execute(int first, int end, boolean whole) {
      for (int warp = first; warp < end; warp++) {
        if (block.active[warp] != 0) {
          throw block.fault(
              Kind.TRAP,
              Warps.firstThread(warp, block.active[warp]),
              instruction,
              "stops the kernel");
        }
      }
    }
  }

  /** A control-flow instruction, which the run loop executes. */
  public record Nothing(Instruction instruction) implements Step {
    @Override
    public void execute(int first, int end, boolean whole) {
      throw new IllegalStateException(instruction + " is not executed");
    }
  }
}
