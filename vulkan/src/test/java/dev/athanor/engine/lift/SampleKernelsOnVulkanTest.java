package dev.athanor.engine.lift;

import dev.athanor.engine.device.Device;
import dev.athanor.engine.lift.SampleKernelsTest.Run;
import dev.athanor.vulkan.TestDevice;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Runs each sample kernel in Java on a Vulkan device, and compares it with plain Java. */
class SampleKernelsOnVulkanTest {

  private static Device device;

  @BeforeAll
  static void open() {
    TestDevice.require();
    device = TestDevice.open();
  }

  @AfterAll
  static void close() {
    if (device != null) {
      device.close();
    }
  }

  static List<Run> runs() {
    return SampleKernelsTest.RUNS;
  }

  @ParameterizedTest
  @MethodSource("runs")
  void computesWhatPlainJavaComputes(Run run) {
    var expected = SampleKernelsTest.inJava(run);
    for (boolean checked : new boolean[] {true, false}) {
      SampleKernelsTest.compute(run, run.kernel(), device, checked, expected);
    }
  }
}
