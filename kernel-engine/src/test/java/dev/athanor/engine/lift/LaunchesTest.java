package dev.athanor.engine.lift;

import static dev.athanor.engine.lift.Gpu.blockDimX;
import static dev.athanor.engine.lift.Gpu.blockIdxX;
import static dev.athanor.engine.lift.Gpu.threadIdxX;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.lift.intrinsic.Lowered;
import dev.athanor.engine.lift.ir.Instructions;
import dev.athanor.engine.ptx.Operand;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

/** Launches kernels on the emulator: arguments, checks, and lowered methods. */
class LaunchesTest {
  private static final EmulatedDevice DEVICE = new EmulatedDevice();

  @AfterAll
  static void close() {
    DEVICE.close();
  }

  @GpuKernel(blockSize = 32)
  static void scale(float[] x, float[] y, float by) {
    int i = threadIdxX() + blockIdxX() * blockDimX();
    y[i] = by * x[i];
  }

  @GpuKernel
  static void divide(int[] x, int by) {
    x[threadIdxX()] /= by;
  }

  @GpuKernel(blockSize = 64, name = "waits")
  static void faultsBeforeABarrier(int[] x) {
    int[] all = Gpu.sharedInts(64);
    all[threadIdxX()] = x[threadIdxX()];
    Gpu.barrier();
    x[threadIdxX()] = all[63 - threadIdxX()];
  }

  @GpuKernel
  static void segment(MemorySegment in, MemorySegment out, long n) {
    long i = threadIdxX();
    if (i < n) {
      float value = in.getAtIndex(ValueLayout.JAVA_FLOAT, i);
      out.setAtIndex(ValueLayout.JAVA_DOUBLE, n - 1 - i, 2 * value);
    }
  }

  @GpuKernel
  static void dynamic(int[] x) {
    int[] shared = Gpu.dynamicSharedInts();
    shared[threadIdxX()] = x[threadIdxX()];
    Gpu.barrier();
    x[threadIdxX()] = shared[(threadIdxX() + 1) % shared.length];
  }

  @GpuKernel(blockSize = 128)
  static void roundToBfloat16(float[] x, short[] bits, float[] y, int n) {
    int i = threadIdxX() + 128 * Gpu.blockIdxX();
    if (i < n) {
      bits[i] = Gpu.floatToBfloat16(x[i]);
      y[i] = Gpu.bfloat16ToFloat(bits[i]);
    }
  }

  @GpuKernel
  static void dots(int[] a, int[] b, int[] sums) {
    sums[threadIdxX()] = dp4a(a[threadIdxX()], b[threadIdxX()], 1000);
  }

  /** The sum of the products of four bytes, and a number. */
  @Lowered(by = LaunchesTest.Lowerings.class, method = "dp4a")
  static int dp4a(int a, int b, int c) {
    int sum = c;
    for (int i = 0; i < 32; i += 8) {
      sum += (byte) (a >> i) * (byte) (b >> i);
    }
    return sum;
  }

  /** Lowerings of methods of this class. */
  public static final class Lowerings {
    private Lowerings() {}

    public static void dp4a(Instructions out, Operand result, List<Operand> arguments) {
      out.emit("dp4a.s32.s32", result, arguments.get(0), arguments.get(1), arguments.get(2));
    }
  }

  @Test
  void aKernelIsLiftedOnceAndLoadedOnceByADevice() {
    assertThat(Kernels.of(LaunchesTest::scale)).isSameAs(Kernels.of(LaunchesTest.class, "scale"));
    var loads = new AtomicInteger();
    var device = new EmulatedDevice();
    var counting =
        (Device)
            Proxy.newProxyInstance(
                Device.class.getClassLoader(),
                new Class<?>[] {Device.class},
                (_, method, arguments) -> {
                  loads.addAndGet(method.getName().equals("load") ? 1 : 0);
                  return method.invoke(device, arguments);
                });
    var y = new float[32];
    for (int i = 0; i < 3; i++) {
      Kernels.of(LaunchesTest::scale).on(counting).launch(1, new float[32], y, 2f);
      System.gc();
    }
    assertThat(loads).hasValue(1);
    device.close();
  }

  @Test
  void arraysAreCopiedAndWrittenOnesComeBack() {
    var x = new float[64];
    var y = new float[64];
    x[33] = 2;
    Kernels.of(LaunchesTest::scale).on(DEVICE).launch(2, x, y, 1.5f);
    assertThat(y[33]).isEqualTo(3);
    assertThat(x[33]).isEqualTo(2);
  }

  @Test
  void buffersStayOnTheDevice() {
    var x = new float[32];
    x[5] = 4;
    try (var y = DEVICE.allocate(128);
        var z = DEVICE.allocate(128)) {
      var scale = Kernels.of(LaunchesTest::scale).on(DEVICE);
      scale.launch(1, x, y, 2f);
      scale.launch(1, y, z, 2f);
      var back = new float[32];
      try (var stream = DEVICE.openStream()) {
        stream.download(z, 0, MemorySegment.ofArray(back));
        stream.synchronize();
      }
      assertThat(back[5]).isEqualTo(16);
    }
  }

  @Test
  void segmentsAreReadAndWritten() {
    try (var arena = Arena.ofConfined()) {
      var in = arena.allocateFrom(ValueLayout.JAVA_FLOAT, 1, 2, 3);
      var out = arena.allocate(24);
      Kernels.of(LaunchesTest::segment).on(DEVICE).block(Dim3.of(8)).launch(1, in, out, 3L);
      assertThat(out.toArray(ValueLayout.JAVA_DOUBLE)).containsExactly(6, 4, 2);
    }
  }

  @Test
  void plainJavaRejectsSegmentsOfOneThread() {
    try (var arena = Arena.ofConfined()) {
      var confined = arena.allocate(24);
      assertThatIllegalArgumentException()
          .isThrownBy(() ->
              Kernels.of(LaunchesTest::segment)
                  .inJava()
                  .block(Dim3.of(1))
                  .launch(1, confined, confined, 3L))
          .withMessage(
              "cannot launch segment: the segment for parameter in is confined to one thread; allocate it with Arena.ofShared() or Arena.ofAuto()");
    }
  }

  @Test
  void dynamicSharedMemoryHasTheLengthOfTheLaunch() {
    int[] x = {1, 2, 3, 4};
    Kernels.of(LaunchesTest::dynamic).on(DEVICE).block(Dim3.of(4)).dynamicShared(16).launch(1, x);
    assertThat(x).containsExactly(2, 3, 4, 1);
  }

  @Test
  void aLoweredMethodBecomesItsInstructions() {
    int[] a = {0x01020304, 0x7F80FF01};
    int[] b = {0x05060708, 0x80FF7F02};
    var onDevice = new int[2];
    var inJava = new int[2];
    var kernel = Kernels.of(LaunchesTest::dots);
    kernel.on(DEVICE).block(Dim3.of(2)).launch(1, a, b, onDevice);
    kernel.inJava().block(Dim3.of(2)).launch(1, a, b, inJava);
    assertThat(onDevice).isEqualTo(inJava);
    assertThat(kernel.module(false).toString()).contains("dp4a.s32.s32");
  }

  /** All patterns of the upper half, with lower halves around a tie. */
  @Test
  void bfloat16RoundsAsPlainJava() {
    int[] low = {0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF};
    var x = new float[low.length << 16];
    for (int i = 0; i < x.length; i++) {
      x[i] = Float.intBitsToFloat((i / low.length) << 16 | low[i % low.length]);
    }
    var kernel = Kernels.of(LaunchesTest::roundToBfloat16);
    var bits = new short[x.length];
    var y = new float[x.length];
    kernel.on(DEVICE).launch(x.length / 128, x, bits, y, x.length);
    for (int i = 0; i < x.length; i++) {
      assertThat(bits[i]).as("%x", Float.floatToRawIntBits(x[i])).isEqualTo(exact(x[i]));
      assertThat(Float.floatToRawIntBits(y[i])).isEqualTo(bits[i] << 16);
      assertThat(Gpu.floatToBfloat16(x[i])).isEqualTo(bits[i]);
      assertThat(Float.floatToRawIntBits(Gpu.bfloat16ToFloat(bits[i]))).isEqualTo(bits[i] << 16);
    }
  }

  /** The closest bfloat16 by comparing distances in double precision. */
  private static short exact(float x) {
    if (Float.isNaN(x)) {
      return 0x7FFF;
    }
    int below = Float.floatToRawIntBits(x) & 0xFFFF0000;
    double lower = Float.intBitsToFloat(below);
    boolean isInfinite = Double.isInfinite(lower);
    int above = below + 0x10000;
    // the successor of the largest number counts as 2^128, which is rounded to infinity
    double upper =
        Float.isInfinite(Float.intBitsToFloat(above))
            ? Math.copySign(0x1p128, lower)
            : Float.intBitsToFloat(above);
    double toLower = Math.abs(x - lower);
    double toUpper = Math.abs(upper - x);
    boolean isUp = toUpper < toLower || (toUpper == toLower && ((below >>> 16) & 1) == 1);
    return (short) ((isUp && !isInfinite ? above : below) >>> 16);
  }

  @Test
  void anIndexOutOfBoundsIsReported() {
    var kernel = Kernels.of(LaunchesTest::scale).on(DEVICE);
    var fault =
        catchThrowableOfType(
            CheckFailedException.class, () -> kernel.launch(2, new float[64], new float[60], 1f));
    assertThat(fault.getMessage())
        .matches(
            "LaunchesTest\\.java:\\d+: index 6[0-3] is out of bounds for `y`, which has 60 elements, in thread \\((28|29|30|31), 0, 0\\) of block \\(1, 0, 0\\) of scale");
    assertThat(fault.source().line()).isPositive();
  }

  @Test
  void aDivisionByZeroIsReported() {
    assertThatThrownBy(() ->
            Kernels.of(LaunchesTest::divide).on(DEVICE).block(Dim3.of(1)).launch(1, new int[1], 0))
        .isInstanceOf(CheckFailedException.class)
        .hasMessageContaining("integer division by zero, in thread (0, 0, 0) of block (0, 0, 0)");
  }

  @Test
  void aFaultBeforeABarrierIsReported() {
    assertThatThrownBy(
            () -> Kernels.of(LaunchesTest::faultsBeforeABarrier).on(DEVICE).launch(1, new int[63]))
        .isInstanceOf(CheckFailedException.class)
        .hasMessageContaining("index 63 is out of bounds for `x`, which has 63 elements");
  }

  @Test
  @SuppressWarnings("NullAway") // null is one of the mistakes
  void argumentsThatDoNotMatchAreRefused() {
    var kernel = Kernels.of(LaunchesTest::scale).on(DEVICE);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> kernel.launch(1, new float[32], new float[32]))
        .withMessage("scale has 3 parameters, got 2 arguments");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> kernel.launch(1, new int[32], new float[32], 1f))
        .withMessage("`x` is float[], a DeviceArray<float[]> or a Buffer, got int[32]");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> kernel.launch(1, new float[32], null, 1f))
        .withMessage("`y` is float[], a DeviceArray<float[]> or a Buffer, got null");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> kernel.launch(1, new float[32], new float[32], 1.0))
        .withMessage("`by` is float, got Double");
  }

  @Test
  void writtenMemoryIsPassedOnce() {
    var x = new float[32];
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Kernels.of(LaunchesTest::scale).on(DEVICE).launch(1, x, x, 1f))
        .withMessage(
            "`x` and `y` are the same memory, and scale writes `y`; pass different arrays");
  }

  @GpuKernel(blockSize = 32)
  static void sumOfSlices(MemorySegment x, MemorySegment y, int[] sum) {
    int i = threadIdxX();
    sum[i] = x.getAtIndex(ValueLayout.JAVA_INT, i) + y.getAtIndex(ValueLayout.JAVA_INT, i);
  }

  @GpuKernel(blockSize = 32)
  static void copySlice(MemorySegment from, MemorySegment to) {
    int i = threadIdxX();
    to.setAtIndex(ValueLayout.JAVA_INT, i, from.getAtIndex(ValueLayout.JAVA_INT, i));
  }

  @Test
  void overlappingSlicesCannotBeWritten() {
    var numbers = IntStream.range(0, 64).toArray();
    var memory = MemorySegment.ofArray(numbers);
    var copy = Kernels.of(LaunchesTest::copySlice).on(DEVICE);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> copy.launch(1, memory.asSlice(0, 128), memory.asSlice(100, 128)))
        .withMessage(
            "`from` and `to` overlap in 28 bytes, and copySlice writes `to`;"
                + " pass different arrays");
    var sum = Kernels.of(LaunchesTest::sumOfSlices).on(DEVICE);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> sum.launch(1, memory, MemorySegment.ofArray(new int[32]), numbers))
        .withMessage(
            "`x` and `sum` overlap in 256 bytes, and sumOfSlices writes `sum`;"
                + " pass different arrays");
    copy.launch(1, memory.asSlice(0, 128), memory.asSlice(128, 128));
    assertThat(Arrays.copyOfRange(numbers, 32, 64)).isEqualTo(Arrays.copyOf(numbers, 32));
  }

  @Test
  void overlappingSlicesCanBeRead() {
    var memory = MemorySegment.ofArray(IntStream.range(0, 64).toArray());
    var sums = new int[32];
    var sum = Kernels.of(LaunchesTest::sumOfSlices).on(DEVICE);
    sum.launch(1, memory.asSlice(0, 128), memory.asSlice(4, 128), sums);
    assertThat(sums).isEqualTo(IntStream.range(0, 32).map(i -> 2 * i + 1).toArray());
    sum.launch(1, memory, memory, sums);
    assertThat(sums).isEqualTo(IntStream.range(0, 32).map(i -> 2 * i).toArray());
  }

  @Test
  void blocksHaveTheDeclaredShape() {
    var kernel = Kernels.of(LaunchesTest::scale).on(DEVICE);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> kernel.block(Dim3.of(64)))
        .withMessage("scale declares blocks of 32x1x1 threads, got 64x1x1");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Kernels.of(LaunchesTest::divide).on(DEVICE).launch(1, new int[1], 1))
        .withMessage("divide declares no blockSize; set one with block()");
  }

  @GpuKernel(
      blockSize = {32, 4},
      minBlocks = 6)
  static void bounded(int[] x) {
    x[threadIdxX()] = 1;
  }

  @Test
  void launchBoundsAreThoseOfTheAnnotation() {
    assertThat(Kernels.of(LaunchesTest::bounded).module(false).toString())
        .contains(".reqntid 32, 4, 1")
        .contains(".minnctapersm 6");
  }

  @Test
  void allBlocksOfACooperativeLaunchFitOnTheDevice() {
    var kernel = Kernels.of(LaunchesTest::scale).on(DEVICE);
    assertThatIllegalArgumentException()
        .isThrownBy(
            () -> kernel.cooperative(true).launch(100_000, new float[32], new float[32], 1f))
        .withMessageContaining("a cooperative grid of 100000 blocks of 32x1x1 threads; only");
    var y = new float[64];
    kernel.cooperative(true).launch(2, new float[64], y, 1f);
  }

  @Test
  void kernelsAreMethodReferences() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Kernels.of((float[] x) -> {}))
        .withMessage(
            "a kernel is a method reference such as Saxpy::saxpy, not a lambda expression");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Kernels.of(LaunchesTest.class, "none"))
        .withMessageEndingWith("has 0 methods named `none`; a kernel needs exactly one");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Kernels.of(LaunchesTest::dp4a))
        .withMessageEndingWith("LaunchesTest.dp4a is no kernel; annotate it with @GpuKernel");
  }
}
