package dev.athanor.engine.lift.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.testing.TestTier;
import dev.athanor.vulkan.TestDevice;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Random kernels in Java give the same bits in plain Java and on a Vulkan device. */
class FuzzOnVulkanTest {

  private static final int KERNELS =
      Integer.getInteger("athanor.fuzz.kernels", TestTier.choose(2, 40, 1000));

  /**
   * Mesa's CPU driver computes about one kernel in 400 wrongly, and with vectors of another width
   * ({@code LP_NATIVE_VECTOR_WIDTH=512}) correctly. So only the sweep draws other kernels.
   */
  private static final long SEED = TestTier.current() == TestTier.SWEEP ? TestTier.seed() : 1;

  /** What has no translation: some kernels whose threads end at different places. */
  private static final String REFUSED = "may wait at a barrier in different branches";

  @BeforeAll
  static void requireDevice() {
    TestDevice.require();
  }

  @Test
  void kernelsComputeWhatPlainJavaComputes() {
    // kernels with faults are left out, since the device does not check accesses
    try (var device = TestDevice.open();
        var search =
            new DifferenceSearch(
                device,
                kernel -> !kernel.faults(),
                difference -> difference.toString().contains(REFUSED))) {
      assertThat(search.differences(SEED, KERNELS)).as("differences, from seed %d", SEED).isEmpty();
    }
  }
}
