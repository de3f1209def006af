package dev.athanor.engine.emulator.watch;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Report;
import dev.athanor.engine.emulator.memory.Allocation;
import dev.athanor.engine.emulator.memory.DeviceHeap;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Statement.Instruction;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Watches the blocks that one worker of a launch executes, one after the other. Nobody else calls
 * it, so it needs no locks.
 */
public interface Observer {

  /** The named barriers of a block, which {@link #arrive} and {@link #open} number from 0. */
  int BARRIERS = 16;

  /** Makes the observers of launches. */
  @FunctionalInterface
  interface Factory {
    /** An observer for one worker of a launch; workers ask for theirs at the same time. */
    Observer observe(Observed launch);
  }

  /**
   * A launch.
   *
   * @param number of the launch on its device, from 0
   * @param kernel as it is executed
   * @param instructions those of the kernel, in whose order they are numbered
   * @param added the numbers of those that the text of the kernel does not have, of whose
   *     executions nobody is told
   * @param cluster blocks that are resident together
   * @param sharedBytes shared memory of a block
   * @param localBytes local memory of a thread
   * @param heap the memory of kernels that allocate; null = none
   */
  record Observed(
      long number,
      Kernel kernel,
      List<Instruction> instructions,
      Set<Integer> added,
      Dim3 grid,
      Dim3 block,
      Dim3 cluster,
      int sharedBytes,
      int localBytes,
      @Nullable DeviceHeap heap) {}

  /**
   * A block begins.
   *
   * @param number in its grid, x running fastest
   */
  default void begin(long number) {}

  /** All threads of the block have ended. */
  default void end() {}

  /**
   * A warp executes an instruction.
   *
   * @param number of the instruction in the kernel
   * @param active the lanes that came to it together
   * @param chosen those for which its guard holds
   */
  default void execute(int number, int warp, int active, int chosen) {}

  /**
   * Whether this observer has to be told of the executions of an instruction; asked once for each.
   *
   * @param number of the instruction in the kernel
   */
  default boolean watches(int number) {
    return true;
  }

  /** Lanes of a warp are about to touch memory, for the instruction that was just announced. */
  default void touch(MemoryRequest touch) {}

  /** Lanes of a warp have touched memory that other threads may be writing. */
  default void touched(MemoryRequest touch) {}

  /** A thread has got memory from the device heap, which others may have used before. */
  default void allocated(Allocation heap, long offset, long bytes) {}

  /**
   * Lanes of a warp have waited for one another, and their accesses before are seen by them after.
   *
   * @param lanes those of one member mask
   */
  default void synchronize(int warp, int lanes) {}

  /** A warp comes to a barrier of the block, and may wait there. */
  default void arrive(int barrier, int warp) {}

  /**
   * All have come to a barrier of the block.
   *
   * @param waiting the warps that waited there, a bit each, and now go on
   */
  default void open(int barrier, int waiting) {}

  /** Lanes of a warp go on that have waited at the barrier of the cluster. */
  default void joined(int warp, int lanes) {}

  /**
   * A rule was broken that does not stop the block.
   *
   * @param thread its number in the block
   */
  default void complain(
      Report.Kind kind, int thread, Instruction instruction, String what, String remedy) {}
}
