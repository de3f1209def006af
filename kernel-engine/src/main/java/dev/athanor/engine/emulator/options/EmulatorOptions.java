package dev.athanor.engine.emulator.options;

import dev.athanor.engine.device.Report;
import dev.athanor.engine.emulator.watch.Observer;
import dev.athanor.engine.ptx.Arithmetic;
import dev.athanor.engine.ptx.Target;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * How the emulator is set up.
 *
 * @param target the newest code that it runs, whose tensor-core arithmetic it follows
 * @param workers how many blocks run at once
 * @param memoryBytes the memory of the device
 * @param asyncTiming when asynchronous copies happen
 * @param patience after how many jumps backward, within which no thread of a block stored anything,
 *     passed a barrier or ended, the block is said to hang
 * @param schedule in which order threads go on
 * @param seed of what is random; launches with one worker are alike for one seed
 * @param observers who watches launches
 * @param blocks the most blocks of a launch that are run, those with the lowest numbers in whole
 *     clusters; where a grid has more, its results are not complete
 * @param arithmetic how closely the sums of matrix instructions follow the hardware
 * @param sanitize what is looked for in launches; a launch in which something is found fails
 * @param ignored kinds of findings that the sanitizer does not report; a fault that stops a kernel
 *     is reported all the same
 * @param execution how kernels are executed; results and faults are the same
 * @param heapBytes how much kernels may get from {@code malloc} together; taken from the memory of
 *     the device when the first kernel is loaded that calls it
 * @param output takes what kernels print, in one piece at the end of each launch that prints, the
 *     text of the block with the lowest number first
 * @param timeout how long a launch may run before it fails; null = for ever
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
    Arithmetic arithmetic,
    Sanitize sanitize,
    Set<Report.Kind> ignored,
    Execution execution,
    long heapBytes,
    Consumer<String> output,
    @Nullable Duration timeout) {

  /** The heap of CUDA where nothing else is set. */
  private static final long HEAP_BYTES = 8 << 20;

  /**
   * An sm_90 device with a worker a processor, late asynchronous copies, exact sums, hot kernels
   * compiled, no timeout, and twice the memory that the Java heap may take. What kernels print is
   * logged. Where nothing else was set the heap may take a quarter of the machine or container. The
   * system property {@code athanor.sanitize} ({@code off}, {@code memory}, {@code full}) sets what
   * is looked for; builds set it for their tests.
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
          Arithmetic.EXACT,
          Sanitize.of(System.getProperty("athanor.sanitize", "off")),
          Set.of(),
          Execution.TIERED,
          HEAP_BYTES,
          EmulatorOptions::log,
          null);

  private static void log(String text) {
    System.getLogger(EmulatorOptions.class.getName()).log(System.Logger.Level.INFO, text);
  }

  /** When asynchronous work is done. A right kernel gives the same results with all. */
  public enum AsyncTiming {
    /** At once. Shows a copy that overwrites what is still being read. */
    EAGER,
    /** Within the wait for it. Shows a wait that is missing. */
    LAZY,
    /** At any time between, as the seed says. */
    RANDOM,
    /** Within a wait, with other work done first that need not wait, as the seed says. */
    REORDERED
  }

  /** How kernels are executed. */
  public enum Execution {
    /** One instruction after the other, each for all threads that are there. */
    INTERPRETED,
    /**
     * As JVM code wherever that can be, even where the interpreter is faster, which is for tests: a
     * thread goes on alone in it until it needs others. Where somebody watches, under schedules
     * other than {@link Schedule#CONVERGING}, and in clusters of several blocks, kernels are
     * interpreted all the same.
     */
    COMPILED,
    /** Interpreted at first; compiled, where that is faster, once a kernel has executed much. */
    TIERED
  }

  /** What is looked for beyond what stops a kernel anyway. */
  public enum Sanitize {
    OFF,
    /** Bytes that nobody has written, addresses that leave their variable, misused barriers. */
    MEMORY,
    /** That, and accesses that nothing orders. */
    FULL;

    /**
     * The level of a name in lower case.
     *
     * @throws IllegalArgumentException if it names none
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

  public EmulatorOptions withArithmetic(Arithmetic newArithmetic) {
    return with(draft -> draft.arithmetic = newArithmetic);
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
    private Arithmetic arithmetic;
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
      arithmetic = from.arithmetic;
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
          arithmetic,
          sanitize,
          ignored,
          execution,
          heapBytes,
          output,
          timeout);
    }
  }
}
