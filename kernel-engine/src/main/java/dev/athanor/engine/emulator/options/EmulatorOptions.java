package dev.athanor.engine.emulator.options;

import dev.athanor.engine.device.Report;
import dev.athanor.engine.emulator.watch.Observer;
import dev.athanor.engine.ptx.Target;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The options of an emulated device.
 *
 * @param target the newest target whose code it runs; determines tensor-core arithmetic
 * @param workers the number of clusters that run in parallel
 * @param memoryBytes the memory of the device, in bytes
 * @param asyncTiming when asynchronous operations complete
 * @param patience the number of backward jumps after which a block is reported as looping forever,
 *     if no thread stored anything, passed a barrier or exited meanwhile
 * @param schedule the order in which runnable threads execute
 * @param seed the seed of random choices; launches with one worker and one seed are identical
 * @param observers the observers of launches
 * @param blocks the maximum number of blocks run per launch, rounded up to whole clusters; of a
 *     larger grid the first block and others spread evenly run, and its results are incomplete
 * @param sanitize the level of the sanitizer; a launch with findings fails
 * @param ignored kinds of findings that the sanitizer does not report; faults that stop a kernel
 *     are always reported
 * @param execution how kernels are executed; results and faults are the same
 * @param heapBytes the size of the {@code malloc} heap in bytes, taken from the memory of the
 *     device when the first kernel is loaded that uses it
 * @param output receives the output of each launch that prints, in one piece when the launch ends,
 *     in the order of the blocks
 * @param timeout how long a launch may run before it fails; null = unlimited
 */
public record EmulatorOptions(
    Target target,
    int workers,
    long memoryBytes,
    AsyncTiming asyncTiming,
    long patience,
    Schedule schedule,
    long seed,
    List<Observer.Factory> observers,
    long blocks,
    Sanitize sanitize,
    Set<Report.Kind> ignored,
    Execution execution,
    long heapBytes,
    Consumer<String> output,
    @Nullable Duration timeout) {

  /** CUDA's default heap size. */
  private static final long HEAP_BYTES = 8 << 20;

  /**
   * An sm_90 device with one worker per processor, lazy asynchronous copies, exact sums, hot
   * kernels compiled, no timeout, and twice the maximum Java heap as memory. Kernel output is
   * logged. The system property {@code athanor.sanitize} ({@code off}, {@code memory}, {@code
   * full}) sets the sanitizer level; builds set it for their tests.
   */
  public static final EmulatorOptions DEFAULT =
      new EmulatorOptions(
          Target.SM_90,
          Runtime.getRuntime().availableProcessors(),
          2 * Runtime.getRuntime().maxMemory(),
          AsyncTiming.LAZY,
          1L << 26,
          Schedule.CONVERGING,
          0,
          List.of(),
          Long.MAX_VALUE,
          Sanitize.of(System.getProperty("athanor.sanitize", "off")),
          Set.of(),
          Execution.TIERED,
          HEAP_BYTES,
          EmulatorOptions::log,
          null);

  private static void log(String text) {
    System.getLogger(EmulatorOptions.class.getName()).log(System.Logger.Level.INFO, text);
  }

  /** When asynchronous operations complete. A correct kernel gives the same results under all. */
  public enum AsyncTiming {
    /** Immediately; exposes copies that overwrite data still being read. */
    EAGER,
    /** Within the wait for them; exposes missing waits. */
    LAZY,
    /** At a random time in between, by the seed. */
    RANDOM,
    /** Within a wait, after other operations that need not complete yet, by the seed. */
    REORDERED
  }

  /** How kernels are executed. */
  public enum Execution {
    /** One instruction at a time, for all threads that have reached it. */
    INTERPRETED,
    /**
     * As JVM code wherever possible, even where the interpreter is faster; for tests. A thread runs
     * alone until it needs others. Observed launches, schedules other than {@link
     * Schedule#CONVERGING}, and clusters of several blocks are interpreted all the same.
     */
    COMPILED,
    /** Interpreted at first; hot kernels are compiled where that is faster. */
    TIERED
  }

  /** What the sanitizer checks beyond the faults that stop a kernel anyway. */
  public enum Sanitize {
    OFF,
    /** Uninitialized reads, addresses outside of their variable, and misused barriers. */
    MEMORY,
    /** The above, and data races. */
    FULL;

    /**
     * Returns the level of a lower-case name.
     *
     * @throws IllegalArgumentException if there is no such level
     */
    public static Sanitize of(String name) {
      return switch (name) {
        case "off" -> OFF;
        case "memory" -> MEMORY;
        case "full" -> FULL;
        default ->
            throw new IllegalArgumentException(
                "athanor.sanitize is \"%s\"; it takes off, memory or full".formatted(name));
      };
    }
  }

  public EmulatorOptions {
    observers = List.copyOf(observers);
    ignored = Set.copyOf(ignored);
    if (patience < 1) {
      throw new IllegalArgumentException("patience must be at least 1, got " + patience);
    }
    if (timeout != null && !timeout.isPositive()) {
      throw new IllegalArgumentException("timeout must be positive, got " + timeout);
    }
    if (blocks < 1) {
      throw new IllegalArgumentException("blocks must be at least 1, got " + blocks);
    }
    if (workers < 1) {
      throw new IllegalArgumentException("workers must be at least 1, got " + workers);
    }
    if (memoryBytes < 1) {
      throw new IllegalArgumentException("memoryBytes must be at least 1, got " + memoryBytes);
    }
    if (heapBytes < 1) {
      throw new IllegalArgumentException("heapBytes must be at least 1, got " + heapBytes);
    }
  }

  public EmulatorOptions withTarget(Target newTarget) {
    return with(draft -> draft.target = newTarget);
  }

  public EmulatorOptions withWorkers(int newWorkers) {
    return with(draft -> draft.workers = newWorkers);
  }

  public EmulatorOptions withMemoryBytes(long newMemoryBytes) {
    return with(draft -> draft.memoryBytes = newMemoryBytes);
  }

  public EmulatorOptions withAsyncTiming(AsyncTiming newAsyncTiming) {
    return with(draft -> draft.asyncTiming = newAsyncTiming);
  }

  public EmulatorOptions withPatience(long newPatience) {
    return with(draft -> draft.patience = newPatience);
  }

  public EmulatorOptions withSchedule(Schedule newSchedule) {
    return with(draft -> draft.schedule = newSchedule);
  }

  public EmulatorOptions withSeed(long newSeed) {
    return with(draft -> draft.seed = newSeed);
  }

  public EmulatorOptions withObservers(List<Observer.Factory> newObservers) {
    return with(draft -> draft.observers = newObservers);
  }

  public EmulatorOptions withBlocks(long newBlocks) {
    return with(draft -> draft.blocks = newBlocks);
  }

  public EmulatorOptions withSanitize(Sanitize newSanitize) {
    return with(draft -> draft.sanitize = newSanitize);
  }

  public EmulatorOptions withIgnored(Set<Report.Kind> newIgnored) {
    return with(draft -> draft.ignored = newIgnored);
  }

  public EmulatorOptions withExecution(Execution newExecution) {
    return with(draft -> draft.execution = newExecution);
  }

  public EmulatorOptions withHeapBytes(long newHeapBytes) {
    return with(draft -> draft.heapBytes = newHeapBytes);
  }

  public EmulatorOptions withOutput(Consumer<String> newOutput) {
    return with(draft -> draft.output = newOutput);
  }

  public EmulatorOptions withTimeout(@Nullable Duration newTimeout) {
    return with(draft -> draft.timeout = newTimeout);
  }

  private EmulatorOptions with(Consumer<Draft> change) {
    var draft = new Draft(this);
    change.accept(draft);
    return draft.options();
  }

  /** Options that may be changed. */
  private static final class Draft {
    private Target target;
    private int workers;
    private long memoryBytes;
    private AsyncTiming asyncTiming;
    private long patience;
    private Schedule schedule;
    private long seed;
    private List<Observer.Factory> observers;
    private long blocks;
    private Sanitize sanitize;
    private Set<Report.Kind> ignored;
    private Execution execution;
    private long heapBytes;
    private Consumer<String> output;
    private @Nullable Duration timeout;

    Draft(EmulatorOptions from) {
      target = from.target;
      workers = from.workers;
      memoryBytes = from.memoryBytes;
      asyncTiming = from.asyncTiming;
      patience = from.patience;
      schedule = from.schedule;
      seed = from.seed;
      observers = from.observers;
      blocks = from.blocks;
      sanitize = from.sanitize;
      ignored = from.ignored;
      execution = from.execution;
      heapBytes = from.heapBytes;
      output = from.output;
      timeout = from.timeout;
    }

    EmulatorOptions options() {
      return new EmulatorOptions(
          target,
          workers,
          memoryBytes,
          asyncTiming,
          patience,
          schedule,
          seed,
          observers,
          blocks,
          sanitize,
          ignored,
          execution,
          heapBytes,
          output,
          timeout);
    }
  }
}
