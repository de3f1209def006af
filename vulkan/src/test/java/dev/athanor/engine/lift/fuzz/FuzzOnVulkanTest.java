package dev.athanor.engine.lift.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.testing.TestTier;
import dev.athanor.vulkan.TestDevice;
import java.util.ArrayList;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Random kernels in Java give the same bits in plain Java and on a Vulkan device. */
class FuzzOnVulkanTest {

  private static final int KERNELS =
      Integer.getInteger("athanor.fuzz.kernels", TestTier.choose(2, 20, 1000));
  private static final long SEED = TestTier.seed();

  /** What has no translation: some kernels whose threads end at different places. */
  private static final String REFUSED = "may wait at a barrier in different branches";

  @BeforeAll
  static void requireDevice() {
    TestDevice.require();
  }

  @Test
  void kernelsComputeWhatPlainJavaComputes() throws ClassNotFoundException {
    var differences = new ArrayList<String>();
    try (var device = TestDevice.open();
        var compiler = new MemoryCompiler()) {
      var comparison = new Comparison(device);
      for (long seed = SEED; seed < SEED + KERNELS; seed++) {
        var kernel = RandomKernel.of("Random" + seed, seed);
        if (kernel.faults()) {
          continue; // the device does not check accesses
        }
        var type =
            compiler
                .compile(Map.of("Random" + seed, kernel.text().text()))
                .loadClass("Random" + seed);
        long number = seed;
        comparison
            .compare(type, kernel, seed)
            .filter(found -> !found.toString().contains(REFUSED))
            .ifPresent(found -> differences.add("seed %d: %s".formatted(number, found)));
      }
    }
    assertThat(differences).isEmpty();
  }
}
