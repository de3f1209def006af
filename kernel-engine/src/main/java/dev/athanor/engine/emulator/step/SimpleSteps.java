package dev.athanor.engine.emulator.step;

import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.emulator.memory.Registers.Lanes;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.meaning.AddressWindow;
import java.lang.invoke.VarHandle;
import java.util.List;

/** The steps of instructions that need no class of their own. */
public final class SimpleSteps {

  private SimpleSteps() {}

  /** Lane by lane, from registers to registers. */
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

  /** A step that reads a clock. */
  public record Timed(Block block, List<Lanes> clocks, Step step) implements Step {
    @Override
    public void execute(int first, int end, boolean whole) {
      long now = block.tick();
      for (var clock : clocks) {
        for (int lane = 32 * first; lane < 32 * end; lane++) {
          clock.set(lane, now);
        }
      }
      step.execute(first, end, whole);
    }
  }

  /** Orders accesses; in a block they are in order anyway. */
  public record Fence() implements Step {
    @Override
    public void execute(int first, int end, boolean whole) {
      VarHandle.fullFence();
    }
  }

  /** The number in the cluster of the block in whose shared memory an address is. */
  public record ClusterRank(Block block, Lanes result, Lanes address) implements Step {
    @Override
    public void execute(int first, int end, boolean whole) {
      for (int lane = 32 * first; lane < 32 * end; lane++) {
        if (block.isActive(lane)) {
          long slot = (address.bits(lane) & 0xFFFF_FFFFL) >>> AddressWindow.PEER_SHIFT;
          result.set(lane, slot == 0 ? block.rank : slot - 1);
        }
      }
    }
  }

  /** Changes nothing. */
  public record NoEffect() implements Step {
    @Override
    public void execute(int first, int end, boolean whole) {}
  }

  /** Stops the kernel. */
  public record Trap(Block block, Instruction instruction) implements Step {
    @Override
    public void execute(int first, int end, boolean whole) {
      for (int warp = first; warp < end; warp++) {
        if (block.active[warp] != 0) {
          throw block.fault(
              Kind.TRAP,
              32 * warp + Integer.numberOfTrailingZeros(block.active[warp]),
              instruction,
              "stops the kernel");
        }
      }
    }
  }

  /** An instruction that only says where to go on. */
  public record Nothing(Instruction instruction) implements Step {
    @Override
    public void execute(int first, int end, boolean whole) {
      throw new IllegalStateException(instruction + " is not executed");
    }
  }
}
