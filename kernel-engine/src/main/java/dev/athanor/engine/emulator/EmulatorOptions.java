package dev.athanor.engine.emulator;

import dev.athanor.engine.ptx.Target;

/**
 * How the emulator is set up.
 *
 * @param target the newest code that it runs, whose tensor-core arithmetic it follows
 * @param workers how many blocks run at once
 * @param memoryBytes the memory of the device
 * @param asyncTiming when asynchronous copies happen
 * @param execution how kernels are executed; the results and the faults are the same
 */
public record EmulatorOptions(
    Target target, int workers, long memoryBytes, AsyncTiming asyncTiming, Execution execution) {

  /**
   * An sm_90 device with a worker a processor, late asynchronous copies, compiling what is hot, and
   * with twice the memory that the Java heap may take. Where nothing else was set the heap may take
   * a quarter of the machine or container.
   */
  public static final EmulatorOptions DEFAULT =
      new EmulatorOptions(
          Target.SM_90,
          Runtime.getRuntime().availableProcessors(),
          2 * Runtime.getRuntime().maxMemory(),
          AsyncTiming.LAZY,
          Execution.TIERED);

  /** When {@code cp.async} copies. A right kernel gives the same results with both. */
  public enum AsyncTiming {
    /** At once. Shows a copy that overwrites what is still being read. */
    EAGER,
    /** Within the wait for it. Shows a wait that is missing. */
    LAZY
  }

  /** How kernels are executed. */
  public enum Execution {
    /** One instruction after the other, each for all threads that are there. */
    INTERPRETED,
    /** As JVM code that runs a thread from one point where threads meet to the next. */
    COMPILED,
    /** Interpreted at first; compiled once a kernel has executed much. */
    TIERED
  }

  public EmulatorOptions {
    if (workers < 1) {
      throw new IllegalArgumentException("workers must be at least 1, got " + workers);
    }
    if (memoryBytes < 1) {
      throw new IllegalArgumentException("memoryBytes must be at least 1, got " + memoryBytes);
    }
  }

  public EmulatorOptions withTarget(Target newTarget) {
    return new EmulatorOptions(newTarget, workers, memoryBytes, asyncTiming, execution);
  }

  public EmulatorOptions withWorkers(int newWorkers) {
    return new EmulatorOptions(target, newWorkers, memoryBytes, asyncTiming, execution);
  }

  public EmulatorOptions withMemoryBytes(long newMemoryBytes) {
    return new EmulatorOptions(target, workers, newMemoryBytes, asyncTiming, execution);
  }

  public EmulatorOptions withAsyncTiming(AsyncTiming newAsyncTiming) {
    return new EmulatorOptions(target, workers, memoryBytes, newAsyncTiming, execution);
  }

  public EmulatorOptions withExecution(Execution newExecution) {
    return new EmulatorOptions(target, workers, memoryBytes, asyncTiming, newExecution);
  }
}
