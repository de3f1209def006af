package dev.athanor.engine.lift;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.lift.host.GpuThread;
import dev.athanor.engine.lift.host.PlainJava;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The intrinsics of kernels in plain Java; {@link ReductionsInJavaTest} has the reductions. */
class GpuTest {
  private static final InJava KERNELS = new InJava(GpuTest.class);

  static void positions(int[] found) {
    int[] position = {
      Gpu.threadIdxX(), Gpu.threadIdxY(), Gpu.threadIdxZ(),
      Gpu.blockIdxX(), Gpu.blockIdxY(), Gpu.blockIdxZ(),
      Gpu.blockDimX(), Gpu.blockDimY(), Gpu.blockDimZ(),
      Gpu.gridDimX(), Gpu.gridDimY(), Gpu.gridDimZ(),
      Gpu.laneId(), Gpu.warpId()
    };
    int block = (Gpu.blockIdxZ() * 3 + Gpu.blockIdxY()) * 2 + Gpu.blockIdxX();
    int thread = (Gpu.threadIdxZ() * 4 + Gpu.threadIdxY()) * 5 + Gpu.threadIdxX();
    System.arraycopy(position, 0, found, (block * 60 + thread) * 14, 14);
  }

  @Test
  void threadsKnowTheirPosition() {
    var found = new int[2 * 3 * 2 * 60 * 14];
    KERNELS.run("positions", new Dim3(2, 3, 2), new Dim3(5, 4, 3), (Object) found);
    for (int block = 0; block < 12; block++) {
      for (int thread = 0; thread < 60; thread++) {
        int at = (block * 60 + thread) * 14;
        assertThat(Arrays.copyOfRange(found, at, at + 14))
            .containsExactly(
                thread % 5,
                thread / 5 % 4,
                thread / 20,
                block % 2,
                block / 2 % 3,
                block / 6,
                5,
                4,
                3,
                2,
                3,
                2,
                thread % 32,
                thread / 32);
      }
    }
  }

  static void reversed(int[] values) {
    int[] copy = Gpu.sharedInts(256);
    int thread = Gpu.threadIdxX();
    int size = Gpu.blockDimX();
    int first = size * Gpu.blockIdxX();
    copy[thread] = values[first + thread];
    Gpu.barrier();
    values[first + thread] = copy[size - 1 - thread];
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 31, 32, 33, 100, 256})
  void blocksReverseTheirPartThroughSharedMemory(int size) {
    var values = IntStream.range(0, 3 * size).toArray();
    KERNELS.run("reversed", Dim3.of(3), Dim3.of(size), (Object) values);
    for (int i = 0; i < values.length; i++) {
      assertThat(values[i]).isEqualTo(i / size * size + size - 1 - i % size);
    }
  }

  private static int through(int value) {
    int[] array = Gpu.sharedInts(1);
    if (Gpu.threadIdxX() == value) {
      array[0] = value;
    }
    Gpu.barrier();
    return array[0];
  }

  @SuppressWarnings("ReferenceEquality") // whether it is one array
  static void helpers(int[] found) {
    int one = through(1);
    int two = through(2);
    int sum = 0;
    int[] previous = null;
    for (int i = 0; i < 3; i++) {
      int[] array = Gpu.sharedInts(3);
      sum += previous == null || previous == array ? 1 : 0;
      previous = array;
    }
    found[Gpu.threadIdxX()] = 100 * one + 10 * two + sum;
  }

  @Test
  void eachCallHasItsSharedArray() {
    var found = new int[4];
    KERNELS.run("helpers", Dim3.of(1), Dim3.of(4), (Object) found);
    assertThat(found).containsOnly(123);
  }

  static void types(int[] found) {
    byte[] bytes = Gpu.sharedBytes(1);
    short[] shorts = Gpu.sharedShorts(2);
    long[] longs = Gpu.sharedLongs(3);
    float[] floats = Gpu.sharedFloats(4);
    double[] doubles = Gpu.sharedDoubles(5);
    found[0] = bytes.length + 10 * shorts.length + 100 * longs.length;
    found[1] = floats.length + 10 * doubles.length;
    found[2] = bytes[0] != 0 && shorts[1] != 0 && longs[2] != 0 ? 1 : 0;
    found[3] = Float.isNaN(floats[3]) && Double.isNaN(doubles[4]) ? 1 : 0;
  }

  @Test
  void sharedArraysStartWithAConspicuousPattern() {
    var found = new int[4];
    KERNELS.run("types", Dim3.of(1), Dim3.of(1), (Object) found);
    assertThat(found).containsExactly(321, 54, 1, 1);
  }

  static void dynamicDoubles(double[] found) {
    double[] array = Gpu.dynamicSharedDoubles();
    int thread = Gpu.threadIdxX();
    array[thread] = thread + 0.5;
    Gpu.barrier();
    found[thread] = array.length + array[Gpu.blockDimX() - 1 - thread];
  }

  static void dynamicOthers(int[] found) {
    found[0] = Gpu.dynamicSharedFloats().length;
  }

  static void dynamicShorts(int[] found) {
    found[0] = Gpu.dynamicSharedShorts().length;
  }

  @Test
  void theLaunchGivesTheSizeOfDynamicSharedMemory() {
    var found = new double[3];
    PlainJava.run(
        KERNELS.method("dynamicDoubles"),
        Dim3.of(1),
        Dim3.of(3),
        24,
        GpuThread.STANDARD_OUTPUT,
        (Object) found);
    assertThat(found).containsExactly(5.5, 4.5, 3.5);
    var lengths = new int[1];
    PlainJava.run(
        KERNELS.method("dynamicOthers"),
        Dim3.of(1),
        Dim3.of(1),
        24,
        GpuThread.STANDARD_OUTPUT,
        (Object) lengths);
    assertThat(lengths).containsExactly(6);
    PlainJava.run(
        KERNELS.method("dynamicShorts"),
        Dim3.of(1),
        Dim3.of(1),
        24,
        GpuThread.STANDARD_OUTPUT,
        (Object) lengths);
    assertThat(lengths).containsExactly(12);
  }

  static void shuffles(int[] ints, long[] longs, float[] floats, double[] doubles) {
    int lane = Gpu.threadIdxX();
    ints[lane] = Gpu.shuffle(lane * 3, lane + 33);
    ints[32 + lane] = Gpu.shuffleXor(lane * 3, 5);
    ints[64 + lane] = Gpu.shuffleUp(lane * 3, 4);
    ints[96 + lane] = Gpu.shuffleDown(lane * 3, 36);
    longs[lane] = Gpu.shuffle(lane * 5_000_000_000L, 7);
    longs[32 + lane] = Gpu.shuffleXor(lane * 5_000_000_000L, 16);
    longs[64 + lane] = Gpu.shuffleUp(lane * 5_000_000_000L, 1);
    longs[96 + lane] = Gpu.shuffleDown(lane * 5_000_000_000L, 31);
    floats[lane] = Gpu.shuffle(lane / 3f, -1);
    floats[32 + lane] = Gpu.shuffleXor(lane / 3f, 1);
    floats[64 + lane] = Gpu.shuffleUp(lane / 3f, 0);
    floats[96 + lane] = Gpu.shuffleDown(lane / 3f, 2);
    doubles[lane] = Gpu.shuffle(lane / 3.0, lane ^ 3);
    doubles[32 + lane] = Gpu.shuffleXor(lane / 3.0, 33);
    doubles[64 + lane] = Gpu.shuffleUp(lane / 3.0, 31);
    doubles[96 + lane] = Gpu.shuffleDown(lane / 3.0, 8);
  }

  @Test
  void shufflesReadAnotherLane() {
    var ints = new int[128];
    var longs = new long[128];
    var floats = new float[128];
    var doubles = new double[128];
    KERNELS.run("shuffles", Dim3.of(1), Dim3.of(32), ints, longs, floats, doubles);
    for (int lane = 0; lane < 32; lane++) {
      assertThat(ints[lane]).isEqualTo((lane + 1) % 32 * 3);
      assertThat(ints[32 + lane]).isEqualTo((lane ^ 5) * 3);
      assertThat(ints[64 + lane]).isEqualTo((lane < 4 ? lane : lane - 4) * 3);
      assertThat(ints[96 + lane]).isEqualTo((lane < 28 ? lane + 4 : lane) * 3);
      assertThat(longs[lane]).isEqualTo(7 * 5_000_000_000L);
      assertThat(longs[32 + lane]).isEqualTo((lane ^ 16) * 5_000_000_000L);
      assertThat(longs[64 + lane]).isEqualTo((lane == 0 ? 0 : lane - 1) * 5_000_000_000L);
      assertThat(longs[96 + lane]).isEqualTo((lane == 0 ? 31 : lane) * 5_000_000_000L);
      assertThat(floats[lane]).isEqualTo(31 / 3f);
      assertThat(floats[32 + lane]).isEqualTo((lane ^ 1) / 3f);
      assertThat(floats[64 + lane]).isEqualTo(lane / 3f);
      assertThat(floats[96 + lane]).isEqualTo((lane < 30 ? lane + 2 : lane) / 3f);
      assertThat(doubles[lane]).isEqualTo((lane ^ 3) / 3.0);
      assertThat(doubles[32 + lane]).isEqualTo((lane ^ 1) / 3.0);
      assertThat(doubles[64 + lane]).isEqualTo((lane < 31 ? lane : 0) / 3.0);
      assertThat(doubles[96 + lane]).isEqualTo((lane < 24 ? lane + 8 : lane) / 3.0);
    }
  }

  static void votes(int[] masks, int[] quantified, int limit) {
    int thread = Gpu.threadIdxX();
    Gpu.warpBarrier();
    if (thread % 32 == 5) {
      return; // the others do not wait for it
    }
    masks[thread] = Gpu.ballot(thread < limit);
    quantified[thread] = (Gpu.any(thread < limit) ? 1 : 0) + (Gpu.all(thread < limit) ? 2 : 0);
  }

  @Test
  void votesAreThoseOfTheLanesThatHaveNotLeft() {
    var masks = new int[70];
    var quantified = new int[70];
    KERNELS.run("votes", Dim3.of(1), Dim3.of(70), masks, quantified, 40);
    for (int thread = 0; thread < 70; thread++) {
      boolean left = thread % 32 == 5;
      int warp = thread / 32;
      assertThat(masks[thread]).isEqualTo(left ? 0 : new int[] {~32, 0xFF & ~32, 0}[warp]);
      assertThat(quantified[thread]).isEqualTo(left ? 0 : new int[] {3, 1, 0}[warp]);
    }
  }

  static void atomics(int[] ints, long[] longs, float[] floats, double[] doubles, int[] old) {
    int thread = Gpu.threadIdxX();
    old[thread] = Gpu.atomicAdd(ints, 0, 1);
    Gpu.atomicMin(ints, 1, -thread);
    Gpu.atomicMax(ints, 2, thread);
    Gpu.atomicAnd(ints, 3, ~(1 << (thread & 7)));
    Gpu.atomicOr(ints, 4, 1 << (thread & 7));
    Gpu.atomicXor(ints, 5, thread);
    Gpu.atomicCompareAndSet(ints, 6, thread, -1);
    Gpu.atomicExchange(ints, 7, 7);
    Gpu.atomicAdd(longs, 0, 10_000_000_000L);
    Gpu.atomicMin(longs, 1, -thread);
    Gpu.atomicMax(longs, 2, thread);
    Gpu.atomicAnd(longs, 3, ~(1L << (thread & 7)));
    Gpu.atomicOr(longs, 4, 1L << (32 + (thread & 7)));
    Gpu.atomicXor(longs, 5, thread);
    Gpu.atomicCompareAndSet(longs, 6, thread, -1);
    Gpu.atomicExchange(longs, 7, 7);
    Gpu.atomicAdd(floats, 0, 0.5f);
    Gpu.atomicAdd(doubles, 0, 0.25);
    Gpu.memoryFence();
  }

  @Test
  void atomicsChangeEachElementOnceForEachThread() {
    var ints = new int[] {0, 0, 0, -1, 0, 0, 3, 0};
    var longs = new long[] {0, 0, 0, -1, 0, 0, 3, 0};
    var floats = new float[1];
    var doubles = new double[1];
    var old = new int[300];
    KERNELS.run("atomics", Dim3.of(1), Dim3.of(300), ints, longs, floats, doubles, old);
    int xor = IntStream.range(0, 300).reduce((a, b) -> a ^ b).orElseThrow();
    assertThat(ints).containsExactly(300, -299, 299, ~255, 255, xor, -1, 7);
    assertThat(longs).containsExactly(3_000_000_000_000L, -299, 299, ~255L, 255L << 32, xor, -1, 7);
    assertThat(floats).containsExactly(150);
    assertThat(doubles).containsExactly(75);
    Arrays.sort(old);
    assertThat(old).isEqualTo(IntStream.range(0, 300).toArray());
  }

  static void lock(int[] lock, int[] counts) {
    while (Gpu.atomicCompareAndSet(lock, 0, 0, 1) != 0) {
      counts[1] = 1;
    }
    counts[0]++;
    Gpu.atomicExchange(lock, 0, 0);
  }

  @Test
  void aThreadThatPollsLetsOthersRun() {
    var counts = new int[2];
    KERNELS.run("lock", Dim3.of(2), Dim3.of(200), new int[1], counts);
    assertThat(counts[0]).isEqualTo(400);
  }

  @Test
  void approximateFunctionsAreRoundedInJava() {
    assertThat(Gpu.fastExp(1)).isEqualTo((float) Math.E);
    assertThat(Gpu.fastLog(2)).isEqualTo((float) Math.log(2));
    assertThat(Gpu.fastSin(0.5f)).isEqualTo((float) Math.sin(0.5));
    assertThat(Gpu.fastCos(0.5f)).isEqualTo((float) Math.cos(0.5));
    assertThat(Gpu.fastTanh(0.5f)).isEqualTo((float) Math.tanh(0.5));
    assertThat(Gpu.rsqrt(16)).isEqualTo(0.25f);
    assertThat(Gpu.fastDivide(1, 3)).isEqualTo(1 / 3f);
  }

  @Test
  void positionsAndSharedMemoryNeedAKernel() {
    List<Runnable> calls = new ArrayList<>();
    calls.add(Gpu::threadIdxX);
    calls.add(Gpu::barrier);
    calls.add(Gpu::warpBarrier);
    calls.add(() -> Gpu.sharedFloats(4));
    calls.add(Gpu::dynamicSharedInts);
    calls.add(() -> Gpu.shuffle(1, 0));
    calls.add(() -> Gpu.ballot(true));
    calls.add(() -> Gpu.blockSum(1f));
    for (var call : calls) {
      assertThatIllegalStateException()
          .isThrownBy(call::run)
          .withMessageContaining("works only in a kernel that is running")
          .withMessageContaining("Kernels.of(Saxpy::saxpy).inJava().launch(");
    }
  }
}
