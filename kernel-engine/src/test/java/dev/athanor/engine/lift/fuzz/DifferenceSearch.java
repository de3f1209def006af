package dev.athanor.engine.lift.fuzz;

import com.sun.management.OperatingSystemMXBean;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.lift.fuzz.Comparison.Difference;
import dev.athanor.testing.HangDetector;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Predicate;

/**
 * A search for random kernels that do not give the same bits in plain Java and lifted on a device.
 * A kernel that does not is shrunk and shown with its seed.
 */
final class DifferenceSearch implements AutoCloseable {
  /** Kernels that are compiled at once. */
  private static final int BATCH = 50;

  /** Differences after which the search ends. */
  private static final int ENOUGH = Integer.getInteger("athanor.fuzz.differences", 3);

  private static final int SHRINKING_ATTEMPTS = 2000;

  /** Kind of the difference of a kernel that does not end, which is not shrunk. */
  private static final String NO_END = "no end";

  /**
   * Processor time of this process for all runs of a kernel. Most take milliseconds; kernels of
   * deep loops take half a minute, beside others that use the same processor time.
   */
  private static final Duration LIMIT = Duration.ofMinutes(15);

  private static final OperatingSystemMXBean SYSTEM =
      ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);

  private final ExecutorService threads =
      Executors.newThreadPerTaskExecutor(Thread.ofPlatform().daemon().factory());
  private final MemoryCompiler compiler = new MemoryCompiler();
  private final Comparison comparison;
  private final Predicate<RandomKernel> suitable;
  private final Predicate<Difference> known;

  /**
   * Creates a search.
   *
   * @param suitable the kernels to run
   * @param known the differences that are no fault
   */
  DifferenceSearch(Device device, Predicate<RandomKernel> suitable, Predicate<Difference> known) {
    this.comparison = new Comparison(device);
    this.suitable = suitable;
    this.known = known;
  }

  /** Returns a text for each kind of difference: the seed, the values, and a small kernel. */
  List<String> differences(long seed, int count) {
    List<String> differences = new ArrayList<>();
    Set<String> seen = new HashSet<>();
    for (int first = 0; first < count && differences.size() < ENOUGH; first += BATCH) {
      Map<Long, RandomKernel> kernels = new LinkedHashMap<>();
      Map<String, String> sources = new LinkedHashMap<>();
      for (int i = first; i < Math.min(first + BATCH, count); i++) {
        var kernel = RandomKernel.of(name(seed + i), seed + i);
        if (suitable.test(kernel)) {
          kernels.put(seed + i, kernel);
          sources.put(name(seed + i), kernel.text().text());
        }
      }
      var loader = compiler.compile(sources);
      Map<Long, Difference> found = new ConcurrentSkipListMap<>();
      kernels.entrySet().parallelStream()
          .forEach(each ->
              compare(loader, each.getValue(), each.getKey())
                  .ifPresent(difference -> found.put(each.getKey(), difference)));
      for (var each : found.entrySet()) {
        if (differences.size() < ENOUGH && seen.add(each.getValue().words())) {
          var kernel = Objects.requireNonNull(kernels.get(each.getKey()));
          var text =
              each.getValue().kind().equals(NO_END)
                  ? shown(kernel, kernel.text(), each.getKey(), each.getValue())
                  : shrunk(kernel, each.getKey(), each.getValue());
          System.err.println("Difference: " + text);
          differences.add(text);
        }
      }
    }
    return differences;
  }

  @Override
  public void close() {
    compiler.close();
    threads.close();
  }

  private static String name(long seed) {
    return "Random" + seed;
  }

  private String shrunk(RandomKernel kernel, long seed, Difference difference) {
    var small =
        new Shrinker(
                text ->
                    compare(kernel, text, seed)
                        .filter(found -> found.words().equals(difference.words()))
                        .isPresent(),
                SHRINKING_ATTEMPTS)
            .shrink(kernel.text());
    return shown(kernel, small, seed, compare(kernel, small, seed).orElse(difference));
  }

  private static String shown(RandomKernel kernel, Piece text, long seed, Difference difference) {
    return "seed %d, grid %s, block %s: %s%n%s"
        .formatted(seed, kernel.grid(), kernel.block(), difference, text.text());
  }

  private Optional<Difference> compare(ClassLoader loader, RandomKernel kernel, long seed) {
    try {
      var type = loader.loadClass(name(seed));
      return awaited(
              CompletableFuture.supplyAsync(() -> comparison.compare(type, kernel, seed), threads))
          .filter(known.negate());
    } catch (ExecutionException e) {
      if (e.getCause() instanceof VerifyError) {
        System.err.printf("SKIPPED seed %d: javac's code is invalid%n", seed);
        return Optional.empty();
      }
      throw new IllegalStateException("seed " + seed, e);
    } catch (ClassNotFoundException | InterruptedException e) {
      throw new IllegalStateException("seed " + seed, e);
    }
  }

  /** Waits for a comparison, as long as this process has not used up the processor time for it. */
  private static Optional<Difference> awaited(CompletableFuture<Optional<Difference>> comparison)
      throws ExecutionException, InterruptedException {
    long end = SYSTEM.getProcessCpuTime() + LIMIT.toNanos();
    while (SYSTEM.getProcessCpuTime() < end) {
      try {
        return comparison.get(1, TimeUnit.SECONDS);
      } catch (TimeoutException e) {
        // look at the processor time again
      }
    }
    System.err.println(HangDetector.stacks()); // now, since the device may not close
    return Optional.of(new Difference(NO_END, "after %s of processor time".formatted(LIMIT)));
  }

  private Optional<Difference> compare(RandomKernel kernel, Piece text, long seed) {
    try {
      var loader = compiler.compile(Map.of(name(seed), text.text()));
      var changed = new RandomKernel(text, kernel.grid(), kernel.block(), kernel.faults());
      return compare(loader, changed, seed);
    } catch (IllegalArgumentException notCompiled) {
      return Optional.empty();
    }
  }
}
