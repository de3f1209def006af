package dev.athanor.engine.emulator;

import dev.athanor.engine.ptx.Arithmetic;
import dev.athanor.engine.ptx.Target;

/**
 * How the emulator is set up.
 *
 * @param target the newest code that it runs, whose tensor-core arithmetic it follows
 * @param workers how many blocks run at once
 * @param memoryBytes the memory of the device
 * @param asyncTiming when asynchronous copies happen
 * @param arithmetic how closely the sums of matrix instructions follow the hardware
 */
public record EmulatorOptions(
    Target target, int workers, long memoryBytes, AsyncTiming asyncTiming, Arithmetic arithmetic) {

  /**
   * An sm_90 device with a worker a processor, late asynchronous copies, exact sums, and twice the
   * memory that the Java heap may take. Where nothing else was set the heap may take a quarter of
   * the machine or container.
   */
  public static final EmulatorOptions DEFAULT =
      new EmulatorOptions(
          Target.SM_90,
          Runtime.getRuntime().availableProcessors(),
          2 * Runtime.getRuntime().maxMemory(),
          AsyncTiming.LAZY,
          Arithmetic.EXACT);

  /** When {@code cp.async} copies. A right kernel gives the same results with both. */
  public enum AsyncTiming {
    /** At once. Shows a copy that overwrites what is still being read. */
    EAGER,
    /** Within the wait for it. Shows a wait that is missing. */
    LAZY
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
    return new EmulatorOptions(newTarget, workers, memoryBytes, asyncTiming, arithmetic);
  }

  public EmulatorOptions withWorkers(int newWorkers) {
    return new EmulatorOptions(target, newWorkers, memoryBytes, asyncTiming, arithmetic);
  }

  public EmulatorOptions withMemoryBytes(long newMemoryBytes) {
    return new EmulatorOptions(target, workers, newMemoryBytes, asyncTiming, arithmetic);
  }

  public EmulatorOptions withAsyncTiming(AsyncTiming newAsyncTiming) {
    return new EmulatorOptions(target, workers, memoryBytes, newAsyncTiming, arithmetic);
  }

  public EmulatorOptions withArithmetic(Arithmetic newArithmetic) {
    return new EmulatorOptions(target, workers, memoryBytes, asyncTiming, newArithmetic);
  }
}
