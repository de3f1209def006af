package dev.athanor.spark;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.Devices;
import dev.athanor.engine.device.Capability;
import dev.athanor.ops.DType;
import dev.athanor.ops.TensorType;
import dev.athanor.testing.TestTier;
import java.util.HashSet;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag(TestTier.THOROUGH_TAG)
class DeviceProductTest {

  /** All batches on all devices use the same kernel, with one launch and no partial sums. */
  @ParameterizedTest
  @CsvSource({"768, 128", "37, 19", "4096, 4096", "1, 1", "100000, 3"})
  void kernelDoesNotDependOnTheBatch(int inner, int columns) {
    var kernels = new HashSet<String>();
    for (var device : devices()) {
      for (int rows : new int[] {1, 2, 7, 64, 1000, 1024, 100_000}) {
        var types =
            Map.of(
                "a", TensorType.of(DType.F32, rows, inner),
                "b", TensorType.of(DType.F32, inner, columns));
        var plan = DeviceProduct.plan(types, ProductOptions.DEFAULT.attributes(), device);
        kernels.add(plan.kernel());
        assertThat(plan.workspaceBytes()).isZero();
        assertThat(plan.kernels()).hasSize(1);
      }
    }
    assertThat(kernels).hasSize(1);
  }

  /** Devices with few and with many multiprocessors. */
  private static Iterable<Capability> devices() {
    try (var device = Devices.open("emulator").device()) {
      var emulator = device.capability();
      return java.util.List.of(
          emulator, withMultiprocessors(emulator, 1), withMultiprocessors(emulator, 132));
    }
  }

  private static Capability withMultiprocessors(Capability device, int multiprocessors) {
    return new Capability(
        device.id(),
        device.name(),
        device.target(),
        device.driver(),
        multiprocessors,
        device.maxThreadsPerBlock(),
        device.sharedBytesPerBlock(),
        device.sharedBytesPerBlockOptIn(),
        device.memoryBytes());
  }
}
