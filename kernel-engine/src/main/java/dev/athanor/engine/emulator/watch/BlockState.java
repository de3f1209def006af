package dev.athanor.engine.emulator.watch;

import dev.athanor.engine.emulator.memory.GlobalMemory;
import dev.athanor.engine.emulator.memory.Memory;
import dev.athanor.engine.emulator.memory.Registers;
import java.util.List;

/**
 * The state of the blocks of one rank that a worker executes, one after the other. An {@link
 * Observer} may read it during its calls, while the worker waits for the calls to return. Warps and
 * threads are numbered in their block.
 */
public interface BlockState {

  /**
   * Lanes of a warp at an instruction.
   *
   * @param number of the instruction in the kernel
   * @param lanes lane 0 in the lowest bit
   * @param waits whether the lanes wait there for other threads or for an event
   */
  record Position(int number, int lanes, boolean waits) {}

  Registers registers();

  Memory shared();

  /** The local memories of the threads, one after the other. */
  Memory local();

  /** The parameters of the launch. */
  Memory parameters();

  /** The buffers of the launch. */
  GlobalMemory.Snapshot buffers();

  /** Returns the number of warps. */
  int warps();

  /** Returns the first warp that executes the instruction announced last. */
  int first();

  /** Returns the warp after the last one that executes the instruction announced last. */
  int end();

  /** Returns the positions of a warp's lanes, the executing ones first; none if all have exited. */
  List<Position> positions(int warp);
}
