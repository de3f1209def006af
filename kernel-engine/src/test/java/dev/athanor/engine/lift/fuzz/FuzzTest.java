package dev.athanor.engine.lift.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.lift.fuzz.Comparison.Difference;
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
 * not is shrunk and shown with its seed; {@code -Dathanor.fuzz.seed=…} starts with that one. There
 * are 200 kernels, with {@code -Dathanor.sweep=true} 10,000, with {@code -Dathanor.fuzz.kernels=…}
 * another number.
 */
class FuzzTest {
  private static final int KERNELS =
      Integer.getInteger(
          "athanor.fuzz.kernels", Boolean.getBoolean("athanor.sweep") ? 10_000 : 200);
  private static final long SEED = Long.getLong("athanor.fuzz.seed", 1);

  /** Kernels that are compiled at once. */
  private static final int BATCH = 50;

  /** Differences after which the search ends. */
  private static final int ENOUGH = Integer.getInteger("athanor.fuzz.differences", 3);

  private static final int SHRINKING_ATTEMPTS = 2000;

  /** Time for all runs of a kernel, which take milliseconds. */
  private static final Duration LIMIT = Duration.ofMinutes(2);

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
          var text = shrunk(Objects.requireNonNull(kernels.get(seed)), seed, each.getValue());
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
    return "seed %d, grid %s, block %s: %s%n%s"
        .formatted(
            seed,
            kernel.grid(),
            kernel.block(),
            compare(kernel, small, seed).orElse(difference),
            small.text());
  }

  private Optional<Difference> compare(ClassLoader loader, RandomKernel kernel, long seed) {
    try {
      var type = loader.loadClass(name(seed));
      return CompletableFuture.supplyAsync(() -> comparison.compare(type, kernel, seed), threads)
          .get(LIMIT.toSeconds(), TimeUnit.SECONDS);
    } catch (TimeoutException e) {
      var text = "seed %d has not ended after %s".formatted(seed, LIMIT);
      System.err.println("FuzzTest: " + text); // the device may not close
      return Optional.of(new Difference("no end", text));
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
