package dev.athanor.engine.cuda;

import static org.assertj.core.api.Assumptions.assumeThat;

import dev.athanor.engine.cuda.driver.CudaDriver;
import dev.athanor.engine.cuda.driver.CudaDriver.Absent;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.GraphCompatibilityKit;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;

/** Runs the graph compatibility kit on the first GPU of this machine, if any. */
class CudaGraphTest extends GraphCompatibilityKit {

  @TempDir static Path cache;

  @BeforeAll
  static void requireGpu() {
    if (CudaDriver.probe() instanceof Absent(String reason)) {
      System.err.println("SKIPPED: CUDA graphs were not tested on a GPU: " + reason);
      assumeThat(reason).as("reason why there is no GPU").isNull();
    }
  }

  @Override
  protected Device open() {
    return CudaDevice.open(0, cache);
  }

  /** A fault ends all use of the GPU in a process: even a new context returns its error. */
  @Override
  protected boolean survivesFaults() {
    return Boolean.getBoolean("athanor.test.faults");
  }
}
