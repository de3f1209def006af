package dev.athanor.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.Devices;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.testing.TestTier;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.resource.ResourceInformation;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag(TestTier.THOROUGH_TAG)
class ExecutorDeviceTest {
  private static final Duration LONG = Duration.ofHours(1);
  private static final float[][] VECTORS = Vectors.random(1, 100, 20);
  private static final float[][] COLUMNS = Vectors.random(2, 30, 20);
  private static final ProductOptions OPTIONS = ProductOptions.DEFAULT.withBatchRows(9);

  @AfterEach
  void closeDevices() {
    ExecutorDevice.retireAll();
  }

  @Test
  void tasksUseTheGpuThatSparkAssigned() {
    assertThat(ExecutorDevice.name(gpus("3"))).isEqualTo("cuda:3");
    assertThat(ExecutorDevice.name(gpus("1", "2"))).isEqualTo("cuda:1");
    assertThat(ExecutorDevice.name(gpus())).isEqualTo("emulator");
    assertThat(ExecutorDevice.name(Map.of())).isEqualTo("emulator");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ExecutorDevice.name(gpus("GPU-7")))
        .withMessage(
            "Spark assigned the GPU \"GPU-7\" to this task, but its address must be a number such as 0. Let the script of spark.executor.resource.gpu.discoveryScript print device numbers.");
  }

  private static Map<String, ResourceInformation> gpus(String... addresses) {
    return Map.of("gpu", new ResourceInformation("gpu", addresses));
  }

  @Test
  void tasksShareOneDeviceAndOneCopyOfTheMatrix() throws Exception {
    var uploads = new AtomicInteger();
    Callable<Map<Long, List<Float>>> task =
        () -> {
          var products = new TreeMap<Long, List<Float>>();
          try (var product = product("shared", LONG, uploads)) {
            for (int first = 0; first < VECTORS.length; first += 9) {
              int count = Math.min(9, VECTORS.length - first);
              multiply(product, first, count).forEach(products::put);
            }
          }
          return products;
        };
    try (var threads = Executors.newFixedThreadPool(4)) {
      for (var result : threads.invokeAll(List.of(task, task, task, task))) {
        assertThat(result.get()).isEqualTo(Vectors.products(VECTORS, COLUMNS));
      }
    }
    assertThat(uploads).hasValue(1);
  }

  @Test
  void closedTasksLeaveOnlyTheMatrix() {
    var device = ExecutorDevice.acquire("emulator", LONG);
    var uploads = new AtomicInteger();
    try (var product = product("a", LONG, uploads)) {
      multiply(product, 0, 1);
    }
    long matrix = Math.ceilDiv(20 * 30 * Float.BYTES, 256) * 256L;
    assertThat(device.device().memory().used()).isBetween(20L * 30 * Float.BYTES, matrix);

    ExecutorDevice.forget("a");
    assertThat(device.device().memory().used()).isZero();
    device.release();
  }

  @Test
  void forgottenMatricesAreFreedAfterUse() {
    var device = ExecutorDevice.acquire("emulator", LONG);
    try (var product = product("a", LONG, new AtomicInteger())) {
      ExecutorDevice.forget("a");
      assertThat(multiply(product, 0, 1)).hasSize(1);
    }
    assertThat(device.device().memory().used()).isZero();
    device.release();
  }

  @Test
  void freesIdleMatrices() {
    var device = ExecutorDevice.acquire("emulator", Duration.ofMillis(1));
    var uploads = new AtomicInteger();
    product("a", LONG, uploads).close();
    while (device.device().memory().used() > 0) {
      Thread.onSpinWait();
    }
    product("a", LONG, uploads).close();
    assertThat(uploads).hasValue(2);
    device.release();
  }

  @Test
  void matricesInUseOutliveTheirIdleTime() {
    try (var device = Devices.open("emulator").device();
        var matrices = new ResidentMatrices(device, LONG)) {
      matrices.acquire("used", () -> Matrix.of(1, 1, 1));
      matrices.acquire("unused", () -> Matrix.of(1, 1, 1));
      matrices.release("unused");
      assertThat(matrices.freeUnused()).isEqualTo(1);
      assertThat(device.memory().used()).isPositive();
      matrices.release("used");
      matrices.release("used");
    }
  }

  @Test
  void freesUnusedMatricesWhenMemoryRunsOut() {
    var large = Matrix.of(1, 600_000, new float[600_000]);
    try (var device = new EmulatedDevice(EmulatorOptions.DEFAULT.withMemoryBytes(4L << 20));
        var matrices = new ResidentMatrices(device, LONG)) {
      matrices.acquire("a", () -> large);
      assertThatThrownBy(() -> matrices.acquire("b", () -> large))
          .isInstanceOf(DeviceException.OutOfMemory.class)
          .hasMessageStartingWith("cannot allocate 2400000 bytes of device memory: ");
      matrices.release("a");
      matrices.acquire("b", () -> large);
      matrices.release("b");
    }
  }

  @Test
  void retiredDevicesAreClosedByTheirLastTaskAndReopened() {
    var first = ExecutorDevice.acquire("emulator", LONG);
    var task = product("a", LONG, new AtomicInteger());
    first.release();
    first.retire();
    assertThat(multiply(task, 0, 3)).hasSize(3);
    task.close();
    assertThatThrownBy(() -> first.device().allocate(1)).isInstanceOf(IllegalStateException.class);

    var second = ExecutorDevice.acquire("emulator", LONG);
    assertThat(second).isNotSameAs(first);
    second.release();
  }

  @Test
  void failedProductsFreeTheirResources() {
    var device = ExecutorDevice.acquire("emulator", LONG);
    var huge = OPTIONS.withBatchRows(Integer.MAX_VALUE);
    assertThatThrownBy(() ->
            new DeviceProduct(
                ExecutorDevice.acquire("emulator", LONG),
                "a",
                20,
                30,
                () -> Vectors.ofColumns(COLUMNS),
                huge))
        .isInstanceOf(DeviceException.OutOfMemory.class);
    device.matrices().freeUnused();
    assertThat(device.device().memory().used()).isZero();
    device.release();
  }

  private static DeviceProduct product(String id, Duration idle, AtomicInteger uploads) {
    return new DeviceProduct(
        ExecutorDevice.acquire("emulator", idle),
        id,
        20,
        30,
        () -> {
          uploads.incrementAndGet();
          return Vectors.ofColumns(COLUMNS);
        },
        OPTIONS);
  }

  /** Multiplies some of the vectors. */
  private static Map<Long, List<Float>> multiply(DeviceProduct product, int first, int count) {
    for (int i = 0; i < count; i++) {
      for (int j = 0; j < 20; j++) {
        product.input().setAtIndex(ValueLayout.JAVA_FLOAT, i * 20L + j, VECTORS[first + i][j]);
      }
    }
    product.multiply(count);
    var products = new TreeMap<Long, List<Float>>();
    for (int i = 0; i < count; i++) {
      var row = new ArrayList<Float>();
      for (float value : product.result(i)) {
        row.add(value);
      }
      products.put((long) first + i, row);
    }
    return products;
  }
}
