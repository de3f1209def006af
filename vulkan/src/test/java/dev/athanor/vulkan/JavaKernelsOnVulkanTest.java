package dev.athanor.vulkan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.lift.CheckFailedException;
import dev.athanor.engine.lift.DeviceArray;
import dev.athanor.engine.lift.Gpu;
import dev.athanor.engine.lift.GpuKernel;
import dev.athanor.engine.lift.KernelStream;
import dev.athanor.engine.lift.Kernels;
import java.util.Arrays;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class JavaKernelsOnVulkanTest {

  @BeforeAll
  static void requireDevice() {
    TestDevice.require();
  }

  @GpuKernel
  static void waitInBranches(int[] values) {
    if (values[Gpu.threadIdxX()] > 0) {
      values[0] = 1;
      Gpu.barrier();
      values[1] = 2;
    } else {
      values[2] = 3;
      Gpu.barrier();
      values[3] = 4;
    }
  }

  @Test
  void saysWhyAKernelIsNotLoaded() {
    try (var device = TestDevice.open()) {
      try (var stream = device.openStream();
          var earlier = device.allocate(4096)) {
        stream.fill(earlier, 0, 4096, (byte) 1); // what the kernel's memory contains
        stream.synchronize();
      }
      var kernel =
          Kernels.of(JavaKernelsOnVulkanTest.class, "waitInBranches").on(device).checked(true);
      assertThatThrownBy(() -> kernel.block(Dim3.of(64)).launch(Dim3.of(1), new int[64]))
          .isInstanceOf(DeviceException.LoadFailed.class)
          .hasMessageContaining("may wait at a barrier in different branches");
    }
  }

  /** Threads of one warp take turns, at most a thousand times. */
  @GpuKernel(blockSize = 4)
  static void takeTurns(int[] turn, double[] sums, float[] numbers) {
    int[] shared = Gpu.sharedInts(4);
    int i = Gpu.threadIdxX();
    Gpu.storeRelaxed(shared, i, 5);
    Gpu.barrier();
    boolean waits = true;
    for (int attempt = 0; attempt < 1000 && waits; attempt++) {
      if (Gpu.loadAcquire(turn, 0) == i) {
        sums[i] = (i == 0 ? 0 : sums[i - 1]) + Gpu.loadRelaxed(shared, i);
        Gpu.storeRelaxed(numbers, i, Gpu.loadAcquire(numbers, i) + i);
        Gpu.storeRelease(turn, 0, i + 1);
        waits = false;
      }
    }
  }

  @Test
  void loadsAndStoresInOrder() {
    try (var device = TestDevice.open()) {
      var turn = new int[1];
      var sums = new double[4];
      var numbers = new float[] {1, 1, 1, 1};
      Kernels.of(JavaKernelsOnVulkanTest::takeTurns)
          .on(device)
          .checked(false)
          .launch(1, turn, sums, numbers);
      assertThat(turn).containsExactly(4);
      assertThat(sums).containsExactly(5, 10, 15, 20);
      assertThat(numbers).containsExactly(1, 2, 3, 4);
    }
  }

  @GpuKernel(blockSize = 64)
  static void add(int[] from, int[] to, int increment) {
    int i = Gpu.threadIdxX() + Gpu.blockIdxX() * Gpu.blockDimX();
    to[i] = from[i] + increment;
  }

  @Test
  void runsStreamsAndGraphs() {
    int n = 1024;
    try (var device = TestDevice.open();
        var first = KernelStream.open(device);
        var second = KernelStream.open(device);
        var x = DeviceArray.copyOf(device, new int[n]);
        var y = DeviceArray.allocate(device, int[].class, n)) {
      var add = Kernels.of(JavaKernelsOnVulkanTest::add).on(device).checked(true);
      try (var graph =
          KernelStream.capture(
              device,
              stream -> {
                add.launchAsync(stream, n / 64, x, y, 1);
                add.launchAsync(stream, n / 64, y, x, 10);
              })) {
        for (int i = 0; i < 20; i++) {
          graph.launch(i % 2 == 0 ? first : second);
          add.launchAsync(second, n / 64, x, y, 100);
          add.launchAsync(first, n / 64, y, x, 0);
        }
        assertThat(x.toArray()).containsOnly(20 * 111);
        add.launchAsync(first, n / 64 + 1, x, y, 0);
        graph.launch(second);
        assertThatThrownBy(first::synchronize)
            .isInstanceOf(CheckFailedException.class)
            .hasMessageContaining("is out of bounds for `from`, which has 1024 elements");
      }
    }
  }

  private static final int[] SQUARES = {0, 1, 4, 9, 16};
  private static final byte[] SIGNS = {1, -1, 1, -1, 1, -1, 1};
  private static final double[] HALVES = {0.5, 1.5, 2.5};
  private static final short[] SHORTS = {-300, 301, -302};

  @GpuKernel(blockSize = 64)
  static void constants(double[] out) {
    int i = Gpu.threadIdxX();
    out[i] = SQUARES[i % 5] * SIGNS[i % 7] + HALVES[i % 3] + SHORTS[i % 3];
  }

  @Test
  void readsConstantArrays() {
    try (var device = TestDevice.open()) {
      var kernel = Kernels.of(JavaKernelsOnVulkanTest::constants);
      var expected = new double[64];
      kernel.inJava().launch(1, expected);
      var onDevice = new double[64];
      kernel.on(device).launch(1, onDevice);
      assertThat(onDevice).isEqualTo(expected);
    }
  }

  record Body(float x, float y, double mass, short kind, byte steps) {}

  record Step(float length, int n) {}

  @GpuKernel(blockSize = 64)
  static void move(Body[] bodies, Step step) {
    int i = Gpu.threadIdxX();
    if (i < step.n()) {
      var b = bodies[i];
      bodies[i] =
          new Body(
              b.x + step.length() * i, b.y, b.mass / 2, (short) (b.kind - i), (byte) (b.steps + 1));
    }
  }

  private static Body[] bodies() {
    var bodies = new Body[64];
    Arrays.setAll(bodies, i -> new Body(i, -i, i / 3.0, (short) (500 * i), (byte) (2 * i)));
    return bodies;
  }

  @Test
  void takesRecords() {
    try (var device = TestDevice.open()) {
      var kernel = Kernels.of(JavaKernelsOnVulkanTest::move);
      var expected = bodies();
      kernel.inJava().launch(1, expected, new Step(0.5f, 60));
      var onDevice = bodies();
      kernel.on(device).launch(1, onDevice, new Step(0.5f, 60));
      assertThat(onDevice).isEqualTo(expected);
    }
  }
}
