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
 * Observes the blocks that one worker of a launch executes, one after the other. Only that worker
 * calls it, so it needs no locks.
 */
public interface Observer {

  /** The named barriers of a block, which {@link #arrive} and {@link #open} number from 0. */
  int BARRIERS = 16;

  /** Makes the observers of launches. */
  @FunctionalInterface
  interface Factory {
    /** Returns a new observer for one worker of a launch. Workers call it at the same time. */
    Observer observe(Observed launch);
  }

  /**
   * A launch.
   *
   * @param number of the launch on its device, from 0
   * @param kernel as it is executed
   * @param instructions of the kernel, in the order of their numbers
   * @param added the numbers of those that are not in the text of the kernel; their executions are
   *     not announced
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

  /** Receives the state of the blocks that it observes. Called once, before the first begins. */
  default void attach(BlockState state) {}

  /**
   * A block begins.
   *
   * @param number of the block in its grid; x varies fastest
   */
  default void begin(long number) {}

  /** All threads of the block have exited. */
  default void end() {}

  /**
   * A warp executes an instruction.
   *
   * @param number of the instruction in the kernel
   * @param active the lanes that execute it together
   * @param chosen those of them whose guard predicate holds
   */
  default void execute(int number, int warp, int active, int chosen) {}

  /**
   * Returns whether the executions of an instruction must be announced. Called once for each.
   *
   * @param number of the instruction in the kernel
   */
  default boolean watches(int number) {
    return true;
  }

  /** Lanes of a warp are about to access memory with the instruction announced last. */
  default void touch(MemoryRequest request) {}

  /** Lanes of a warp have accessed memory that other threads may be writing. */
  default void touched(MemoryRequest request) {}

  /** A thread has got memory from the device heap, which others may have used before. */
  default void allocated(Allocation heap, long offset, long bytes) {}

  /**
   * Lanes of a warp have synchronized: accesses before are ordered before accesses after.
   *
   * @param lanes of one member mask
   */
  default void synchronize(int warp, int lanes) {}

  /** A warp arrives at a barrier of the block, where it may wait. */
  default void arrive(int barrier, int warp) {}

  /**
   * A barrier of the block opens because all warps have arrived.
   *
   * @param waiting the warps that have waited there and continue now, a bit each
   */
  default void open(int barrier, int waiting) {}

  /** Lanes of a warp continue after a wait at the barrier of the cluster. */
  default void joined(int warp, int lanes) {}

  /**
   * The sanitizer has made a report, on what the next call of this observer announces or on the
   * last instruction. Any worker of the launch may call it. It must return at once.
   */
  default void found(Report report) {}

  /**
   * A fault stops the launch. The state is that at the fault.
   *
   * @param reports what is wrong, of this block or of others
   */
  default void failed(List<Report> reports) {}

  /**
   * A thread has violated a rule that does not stop the block.
   *
   * @param thread its number in the block
   */
  default void reportViolation(
      Report.Kind kind, int thread, Instruction instruction, String what, String remedy) {}
}
