package dev.athanor.engine.lift.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.OperatingSystemMXBean;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.lift.fuzz.Comparison.Difference;
import dev.athanor.testing.HangDetector;
import dev.athanor.testing.TestTier;
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
import org.junit.jupiter.api.Test;

/**
 * Random kernels give the same bits in plain Java and lifted on the emulator. A kernel that does
 * not is shrunk and shown with its seed; {@code -Dathanor.seed=…} starts with that one, and {@code
 * -Dathanor.fuzz.kernels=…} sets the number of kernels.
 */
class FuzzTest {
  private static final int KERNELS =
      Integer.getInteger("athanor.fuzz.kernels", TestTier.choose(5, 200, 10_000));
  private static final long SEED = TestTier.seed();

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
  private final EmulatedDevice device =
      new EmulatedDevice(EmulatorOptions.DEFAULT.withSanitize(Sanitize.FULL));
  private final Comparison comparison = new Comparison(device);

  @Test
  void liftedKernelsComputeWhatPlainJavaComputes() {
    System.out.printf("FuzzTest: %d kernels, from seed %d%n", KERNELS, SEED);
    List<String> differences = new ArrayList<>();
    Set<String> known = new HashSet<>();
    for (int first = 0; first < KERNELS && differences.size() < ENOUGH; first += BATCH) {
      Map<Long, RandomKernel> kernels = new LinkedHashMap<>();
      Map<String, String> sources = new LinkedHashMap<>();
      for (int i = first; i < Math.min(first + BATCH, KERNELS); i++) {
        var kernel = RandomKernel.of(name(SEED + i), SEED + i);
        kernels.put(SEED + i, kernel);
        sources.put(name(SEED + i), kernel.text().text());
      }
      var loader = compiler.compile(sources);
      Map<Long, Difference> found = new ConcurrentSkipListMap<>();
      kernels.entrySet().parallelStream()
          .forEach(each ->
              compare(loader, each.getValue(), each.getKey())
                  .ifPresent(difference -> found.put(each.getKey(), difference)));
      for (var each : found.entrySet()) {
        if (differences.size() < ENOUGH && known.add(each.getValue().words())) {
          long seed = each.getKey();
          var kernel = Objects.requireNonNull(kernels.get(seed));
          var text =
              each.getValue().kind().equals(NO_END)
                  ? shown(kernel, kernel.text(), seed, each.getValue())
                  : shrunk(kernel, seed, each.getValue());
          System.err.println("FuzzTest: " + text);
          differences.add(text);
        }
      }
    }
    assertThat(differences).as("differences, from seed %d", SEED).isEmpty();
    device.close();
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
          CompletableFuture.supplyAsync(() -> comparison.compare(type, kernel, seed), threads));
    } catch (ExecutionException e) {
      if (e.getCause() instanceof VerifyError) {
        System.err.printf("FuzzTest: SKIPPED seed %d: javac's code is invalid%n", seed);
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
