package dev.athanor.engine.lift;

import static org.assertj.core.api.Assumptions.assumeThat;

import dev.athanor.engine.cuda.CudaDevice;
import dev.athanor.engine.cuda.driver.CudaDriver;
import dev.athanor.engine.cuda.driver.CudaDriver.Absent;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.lift.SampleKernelsTest.Run;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Runs each sample on the first GPU of this machine, if any, and compares it with plain Java. */
class SampleKernelsOnGpuTest {

  @TempDir static Path cache;

  private static Device device;

  @BeforeAll
  static void open() {
    if (CudaDriver.probe() instanceof Absent(String reason)) {
      System.err.println("SKIPPED: kernels in Java were not tested on a GPU: " + reason);
      assumeThat(reason).as("reason why there is no GPU").isNull();
    }
    device = CudaDevice.open(0, cache);
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
