package dev.athanor.engine.lift.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.testing.TestTier;
import org.junit.jupiter.api.Test;

/**
 * Random kernels give the same bits in plain Java and lifted on the emulator. {@code
 * -Dathanor.seed=…} starts with that kernel, and {@code -Dathanor.fuzz.kernels=…} sets the number
 * of kernels.
 */
class FuzzTest {
  private static final int KERNELS =
      Integer.getInteger("athanor.fuzz.kernels", TestTier.choose(5, 200, 10_000));

  @Test
  void liftedKernelsComputeWhatPlainJavaComputes() {
    long seed = TestTier.seed();
    System.out.printf("FuzzTest: %d kernels, from seed %d%n", KERNELS, seed);
    try (var device = new EmulatedDevice(EmulatorOptions.DEFAULT.withSanitize(Sanitize.FULL));
        var search = new DifferenceSearch(device, _ -> true, _ -> false)) {
      assertThat(search.differences(seed, KERNELS)).as("differences, from seed %d", seed).isEmpty();
    }
  }
}
