package dev.athanor.engine.emulator;

import dev.athanor.engine.ptx.Statement.Instruction;
import java.util.List;

/** What an instruction does to the lanes of a block, bound to the registers of a worker. */
interface Step {

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

  /** A kernel parameter, or the {@code size} bytes of each element of a vector. */
  record LoadParameter(Block block, long offset, List<Cells> results, int size) implements Step {
    @Override
    public void execute(int first, int end, boolean whole) {
      for (int lane = 32 * first; lane < 32 * end; lane++) {
        if (block.isActive(lane)) {
          for (int i = 0; i < results.size(); i++) {
            results.get(i).load(block.parameters, offset + (long) i * size, lane);
          }
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
