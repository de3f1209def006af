package dev.athanor.engine.lift;

import static dev.athanor.engine.lift.Gpu.blockDimX;
import static dev.athanor.engine.lift.Gpu.blockIdxX;
import static dev.athanor.engine.lift.Gpu.threadIdxX;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.emulator.EmulatedDevice;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

/** Launches that the host does not wait for, on arrays of the device. */
class KernelStreamTest {
  private static final EmulatedDevice DEVICE = new EmulatedDevice();
  private static final DeviceKernel ADD = Kernels.of(KernelStreamTest::add).on(DEVICE);
  private static final DeviceKernel STORE = Kernels.of(KernelStreamTest::store).on(DEVICE);

  @AfterAll
  static void close() {
    DEVICE.close();
  }

  @GpuKernel(blockSize = 32)
  static void add(int[] from, int[] to, int increment) {
    int i = threadIdxX() + blockIdxX() * blockDimX();
    if (i < from.length) {
      to[i] = from[i] + increment;
    }
  }

  @GpuKernel(blockSize = 32)
  static void store(int[] x, int index) {
    if (threadIdxX() == 0) {
      x[index] += 1;
    }
  }

  @GpuKernel(blockSize = 32)
  static void negate(boolean[] flags, short[] numbers) {
    int i = threadIdxX();
    if (i < flags.length) {
      flags[i] = !flags[i];
      numbers[i] = (short) -numbers[i];
    }
  }

  @Test
  void launchesRunInOrderOnArraysOfTheDevice() {
    try (var stream = KernelStream.open(DEVICE);
        var x = DeviceArray.copyOf(DEVICE, new int[] {1, 2, 3});
        var y = DeviceArray.allocate(DEVICE, int[].class, 3)) {
      ADD.launchAsync(stream, 1, x, y, 10);
      ADD.launchAsync(stream, 1, y, x, 100);
      assertThat(x.toArray()).containsExactly(111, 112, 113);
      x.copyFrom(new int[] {7, 8, 9});
      ADD.launch(1, x, y, 1);
      assertThat(y.toArray()).containsExactly(8, 9, 10);
      assertThat(y.length()).isEqualTo(3);
    }
  }

  @Test
  void arraysHaveElementsOfAllPrimitiveTypes() {
    var arrays =
        List.of(
            new byte[] {1, -2},
            new short[] {3, -4},
            new char[] {5, 'x'},
            new int[] {6, -7},
            new long[] {8, -9},
            new float[] {10, -11},
            new double[] {12, -13},
            new boolean[] {true, false},
            new float[0]);
    for (var array : arrays) {
      try (var copy = DeviceArray.copyOf(DEVICE, array)) {
        assertThat(copy.toArray()).isEqualTo(array);
      }
    }
    try (var flags = DeviceArray.copyOf(DEVICE, new boolean[] {true, false});
        var numbers = DeviceArray.copyOf(DEVICE, new short[] {5, 6})) {
      Kernels.of(KernelStreamTest::negate).on(DEVICE).launch(1, flags, numbers);
      assertThat(flags.toArray()).containsExactly(false, true);
      assertThat(numbers.toArray()).containsExactly((short) -5, (short) -6);
    }
  }

  @Test
  void argumentsThatDoNotMatchAreRefused() {
    try (var stream = KernelStream.open(DEVICE);
        var x = DeviceArray.copyOf(DEVICE, new int[4]);
        var floats = DeviceArray.copyOf(DEVICE, new float[4])) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> ADD.launchAsync(stream, 1, x, floats, 1))
          .withMessage(
              "`to` is int[], a DeviceArray<int[]> or a Buffer, got DeviceArray<float[]> of length 4");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> ADD.launch(1, x, floats, 1))
          .withMessageStartingWith("`to` is int[], a DeviceArray<int[]> or a Buffer, got Dev");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> ADD.launchAsync(stream, 1, x, new int[4], 1))
          .withMessage(
              "`to` is in memory of the host, and this launch is not awaited; pass a DeviceArray<int[]> or a Buffer");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> ADD.launchAsync(stream, 1, x, x, 1))
          .withMessage(
              "`from` and `to` are the same memory, and add writes `to`; pass different arrays");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> ADD.launchAsync(stream, 1, x, x.buffer(), 1))
          .withMessageStartingWith("`from` and `to` are the same memory");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> ADD.launchAsync(stream, 1, x, x, x))
          .withMessageStartingWith("`from` and `to` are the same memory");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> STORE.launchAsync(stream, 1, x, x))
          .withMessage("`index` is int, got DeviceArray<int[]> of length 4");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> x.copyFrom(new int[3]))
          .withMessage("the array on the device has 4 elements, that of the host has 3");
    }
    assertThatIllegalArgumentException()
        .isThrownBy(() -> DeviceArray.copyOf(DEVICE, new String[2]))
        .withMessage(
            "a device array has elements of a primitive type or records of these; got String[]");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> DeviceArray.allocate(DEVICE, int[].class, -1))
        .withMessage("an array has at least 0 elements, got -1");
  }

  @Test
  void aStreamTakesKernelsOfItsDeviceUntilItIsClosed() {
    var stream = KernelStream.open(DEVICE);
    try (var other = new EmulatedDevice();
        var x = DeviceArray.copyOf(other, new int[1])) {
      var kernel = Kernels.of(KernelStreamTest::store).on(other);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> kernel.launchAsync(stream, 1, x, 0))
          .withMessageMatching("the kernel is on emulator:0, the stream on emulator:0");
    }
    stream.close();
    stream.close();
    try (var x = DeviceArray.copyOf(DEVICE, new int[1])) {
      assertThatIllegalStateException()
          .isThrownBy(() -> STORE.launchAsync(stream, 1, x, 0))
          .withMessage("the stream is closed");
    }
  }

  @Test
  void theFirstFailedCheckIsThrownOnce() {
    try (var stream = KernelStream.open(DEVICE);
        var x = DeviceArray.copyOf(DEVICE, new int[4])) {
      STORE.launchAsync(stream, 1, x, 3);
      STORE.launchAsync(stream, 1, x, 4);
      STORE.launchAsync(stream, 1, x, 5);
      assertThatExceptionOfType(CheckFailedException.class)
          .isThrownBy(stream::synchronize)
          .withMessageContaining("index 4 is out of bounds for `x`, which has 4 elements");
      stream.synchronize();
      STORE.launchAsync(stream, 1, x, 3);
      assertThat(x.toArray()).containsExactly(0, 0, 0, 2);
      STORE.launchAsync(stream, 1, x, 6);
      assertThatExceptionOfType(CheckFailedException.class)
          .isThrownBy(x::toArray)
          .withMessageContaining("index 6 is out of bounds");
    }
  }

  @Test
  void aFailedCheckIsThrownWhenTheStreamIsClosed() {
    try (var x = DeviceArray.copyOf(DEVICE, new int[4])) {
      assertThatExceptionOfType(CheckFailedException.class)
          .isThrownBy(() -> {
            try (var stream = KernelStream.open(DEVICE)) {
              STORE.launchAsync(stream, 1, x, -1);
            }
          })
          .withMessageContaining("index -1 is out of bounds");
      assertThat(x.toArray()).as("the closed stream is not used").containsOnly(0);
    }
  }

  @Test
  void aStreamHoldsManyCheckedLaunches() {
    try (var stream = KernelStream.open(DEVICE);
        var x = DeviceArray.copyOf(DEVICE, new int[4])) {
      for (int i = 0; i < 200; i++) {
        STORE.launchAsync(stream, 1, x, i % 4);
      }
      assertThat(x.toArray()).containsOnly(50);
    }
  }

  @Test
  void capturedLaunchesRunAgain() {
    try (var stream = KernelStream.open(DEVICE);
        var x = DeviceArray.copyOf(DEVICE, new int[] {0, 5});
        var y = DeviceArray.copyOf(DEVICE, new int[2]);
        var graph =
            KernelStream.capture(
                DEVICE,
                capture -> {
                  ADD.launchAsync(capture, 1, x, y, 1);
                  ADD.launchAsync(capture, 1, y, x, 10);
                })) {
      assertThat(x.toArray()).containsExactly(0, 5);
      graph.launch(stream);
      graph.launch(stream);
      assertThat(x.toArray()).containsExactly(22, 27);
    }
  }

  @Test
  void aFailedCheckOfAGraphIsThrown() {
    try (var stream = KernelStream.open(DEVICE);
        var x = DeviceArray.copyOf(DEVICE, new int[] {0, 5});
        var graph =
            KernelStream.capture(
                DEVICE,
                capture -> {
                  for (int i = 0; i < 100; i++) {
                    STORE.launchAsync(capture, 1, x, 0);
                  }
                  STORE.launchAsync(capture, 1, x, 2);
                })) {
      for (int i = 1; i < 3; i++) {
        STORE.launchAsync(stream, 1, x, 3);
        graph.launch(stream);
        var failed = catchThrowableOfType(CheckFailedException.class, stream::synchronize);
        assertThat(failed).hasMessageContaining("index 3 is out of bounds");
        assertThat(failed.getSuppressed()[0]).hasMessageContaining("index 2 is out of bounds");
        assertThat(x.toArray()).containsExactly(100 * i, 5);
      }
      graph.launch(stream);
      assertThatExceptionOfType(CheckFailedException.class)
          .isThrownBy(graph::close)
          .withMessageContaining("index 2 is out of bounds");
      assertThatIllegalStateException().isThrownBy(() -> graph.launch(stream));
    }
  }

  @Test
  void aCaptureRefusesToWait() {
    assertThatIllegalStateException()
        .isThrownBy(() -> KernelStream.capture(DEVICE, KernelStream::synchronize))
        .withMessage(
            "a captured stream accepts launches, device-to-device copies and fills, got a synchronization");
  }

  @Test
  void aStreamWaitsForTheLastUserOfAnArray() {
    var calls = new ArrayList<String>();
    var device = recording(DEVICE, calls);
    var kernel = Kernels.of(KernelStreamTest::store).on(device);
    try (var first = KernelStream.open(device);
        var second = KernelStream.open(device);
        var x = DeviceArray.copyOf(device, new int[1]);
        var y = DeviceArray.copyOf(device, new int[1])) {
      calls.clear();
      kernel.launchAsync(first, 1, x, 0);
      kernel.launchAsync(first, 1, x, 0);
      kernel.launchAsync(second, 1, y, 0);
      assertThat(calls).containsExactly("launch", "launch", "launch");
      kernel.launchAsync(second, 1, x, 0);
      assertThat(calls.subList(3, calls.size())).containsExactly("record", "await", "launch");
    }
  }

  /** Returns a device that adds the names of calls on its streams, except fills, to a list. */
  private static Device recording(Device device, List<String> calls) {
    return (Device)
        Proxy.newProxyInstance(
            Device.class.getClassLoader(),
            new Class<?>[] {Device.class},
            (_, method, arguments) ->
                switch (method.getName()) {
                  case "equals" -> Proxy.isProxyClass(arguments[0].getClass());
                  case "hashCode" -> device.hashCode();
                  case "openStream" -> recording(device.openStream(), calls);
                  default -> method.invoke(device, arguments);
                });
  }

  private static Stream recording(Stream stream, List<String> calls) {
    return (Stream)
        Proxy.newProxyInstance(
            Stream.class.getClassLoader(),
            new Class<?>[] {Stream.class},
            (_, method, arguments) -> {
              if (!method.getName().equals("fill")) {
                calls.add(method.getName());
              }
              try {
                return method.invoke(stream, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  @Test
  void timesALaunch() {
    var x = new int[1];
    assertThat(STORE.time(1, x, 0)).isNotNegative();
    assertThat(x).containsExactly(1);
  }
}
