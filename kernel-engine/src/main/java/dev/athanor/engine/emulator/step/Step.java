package dev.athanor.engine.emulator.step;

import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.emulator.lanes.LaneLoop;
import dev.athanor.engine.emulator.memory.Registers.Lanes;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.meaning.AddressWindow;
import java.lang.invoke.VarHandle;
import java.util.List;

/** What an instruction does to the lanes of a block, bound to the registers of a worker. */
public interface Step {

  /**
   * Executes it for the active lanes of the warps from {@code first} to {@code end - 1}, which
   * {@link Block#active} names.
   *
   * @param whole whether all lanes that live are active, so that the registers of others are of no
   *     interest
   */
  void execute(int first, int end, boolean whole);

  /** An instruction that all lanes of a warp, or those it names, execute together. */
  interface Collective extends Step {

    /**
     * The living lanes that have to execute it together with these.
     *
     * @param mask the lanes of the warp that are there
     */
    int needed(int warp, int mask);

    /** Whether the instruction names those lanes, and does not mean the whole warp. */
    default boolean names() {
      return false;
    }
  }

  /** An instruction that waits until something has happened. */
  interface Event extends Step {

    /** Whether it has happened for all of these lanes. It is asked again after it has not. */
    boolean isReady(int warp, int mask);

    /**
     * Does a piece of pending work for which these lanes wait; answers whether there was any. It is
     * asked when nobody else goes on.
     */
    default boolean hasten(int warp, int mask) {
      return false;
    }

    /** Whether it goes on after a while though it has not happened. */
    default boolean expires() {
      return false;
    }

    /** What it is to wait for what can happen no more. */
    default Kind kind(int warp, int mask) {
      return Kind.DEADLOCK;
    }

    /** What these lanes wait for, when it can happen no more. */
    String missing(int warp, int mask);
  }

  /** Lane by lane, from registers to registers. */
  record Pure(Block block, LaneLoop loop) implements Step {
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
  record Timed(Block block, List<Lanes> clocks, Step step) implements Step {
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
  record Fence() implements Step {
    @Override
    public void execute(int first, int end, boolean whole) {
      VarHandle.fullFence();
    }
  }

  /** The number in the cluster of the block in whose shared memory an address is. */
  record ClusterRank(Block block, Lanes result, Lanes address) implements Step {
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
  record NoEffect() implements Step {
    @Override
    public void execute(int first, int end, boolean whole) {}
  }

  /** Stops the kernel. */
  record Trap(Block block, Instruction instruction) implements Step {
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
  record Nothing(Instruction instruction) implements Step {
    @Override
    public void execute(int first, int end, boolean whole) {
      throw new IllegalStateException(instruction + " is not executed");
    }
  }
}
