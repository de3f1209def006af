package dev.athanor.engine.lift;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.device.Dim3;
import dev.athanor.testing.TestTier;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Reductions over warps and blocks of every size and shape, in plain Java. */
class ReductionsInJavaTest {
  private static final InJava KERNELS = new InJava(ReductionsInJavaTest.class);

  static List<Dim3> blocks() {
    var all =
        List.of(
            Dim3.of(1),
            Dim3.of(2),
            Dim3.of(31),
            Dim3.of(32),
            Dim3.of(33),
            Dim3.of(63),
            Dim3.of(64),
            Dim3.of(100),
            Dim3.of(255),
            Dim3.of(256),
            Dim3.of(1000),
            Dim3.of(1024),
            Dim3.of(16, 16),
            Dim3.of(7, 5),
            new Dim3(3, 5, 7),
            new Dim3(8, 4, 32));
    return TestTier.sample(all, 7); // 1, 100 and 3x5x7 threads
  }

  private static int thread() {
    return (Gpu.threadIdxZ() * Gpu.blockDimY() + Gpu.threadIdxY()) * Gpu.blockDimX()
        + Gpu.threadIdxX();
  }

  static void ofBlock(int[] ints, long[] longs, float[] floats, double[] doubles) {
    int thread = thread();
    int size = Gpu.blockDimX() * Gpu.blockDimY() * Gpu.blockDimZ();
    int n = ints[thread];
    long wide = longs[thread];
    float real = floats[thread];
    double precise = doubles[thread];
    Gpu.barrier(); // all have read what results overwrite
    ints[thread] = Gpu.blockSum(n);
    ints[size + thread] = Gpu.blockMax(n);
    ints[2 * size + thread] = Gpu.blockMin(n);
    longs[thread] = Gpu.blockSum(wide);
    longs[size + thread] = Gpu.blockMax(wide);
    longs[2 * size + thread] = Gpu.blockMin(wide);
    floats[thread] = Gpu.blockSum(real);
    floats[size + thread] = Gpu.blockMax(real);
    floats[2 * size + thread] = Gpu.blockMin(real);
    doubles[thread] = Gpu.blockSum(precise);
    doubles[size + thread] = Gpu.blockMax(precise);
    doubles[2 * size + thread] = Gpu.blockMin(precise);
  }

  @ParameterizedTest
  @MethodSource("blocks")
  void everyThreadGetsTheResultOfTheBlock(Dim3 block) {
    int size = (int) block.count();
    var values = values(size);
    var ints = Arrays.copyOf(values, 3 * size);
    var longs = Arrays.stream(ints).mapToLong(value -> value * 10_000_000_000L).toArray();
    var floats = floats(ints);
    var doubles = Arrays.stream(ints).mapToDouble(value -> value / 7.0).toArray();
    float sum = blockSum(Arrays.copyOf(floats, size));

    KERNELS.run("ofBlock", Dim3.of(1), block, ints, longs, floats, doubles);

    int total = Arrays.stream(values).sum();
    int largest = Arrays.stream(values).max().orElseThrow();
    int smallest = Arrays.stream(values).min().orElseThrow();
    for (int thread = 0; thread < size; thread++) {
      assertThat(ints[thread]).isEqualTo(total);
      assertThat(ints[size + thread]).isEqualTo(largest);
      assertThat(ints[2 * size + thread]).isEqualTo(smallest);
      assertThat(longs[thread]).isEqualTo(total * 10_000_000_000L);
      assertThat(longs[size + thread]).isEqualTo(largest * 10_000_000_000L);
      assertThat(longs[2 * size + thread]).isEqualTo(smallest * 10_000_000_000L);
      assertThat(floats[thread]).isEqualTo(sum);
      assertThat(floats[size + thread]).isEqualTo(largest / 7f);
      assertThat(floats[2 * size + thread]).isEqualTo(smallest / 7f);
      assertThat(doubles[thread]).isEqualTo(doubles[0]).isCloseTo(total / 7.0, within(size));
      assertThat(doubles[size + thread]).isEqualTo(largest / 7.0);
      assertThat(doubles[2 * size + thread]).isEqualTo(smallest / 7.0);
    }
  }

  static void ofWarps(int[] ints, long[] longs, float[] floats, double[] doubles) {
    int thread = thread();
    int size = Gpu.blockDimX() * Gpu.blockDimY() * Gpu.blockDimZ();
    int n = ints[thread];
    long wide = longs[thread];
    float real = floats[thread];
    double precise = doubles[thread];
    ints[thread] = Gpu.warpSum(n);
    ints[size + thread] = Gpu.warpMax(n);
    ints[2 * size + thread] = Gpu.warpMin(n);
    longs[thread] = Gpu.warpSum(wide);
    longs[size + thread] = Gpu.warpMax(wide);
    longs[2 * size + thread] = Gpu.warpMin(wide);
    floats[thread] = Gpu.warpSum(real);
    floats[size + thread] = Gpu.warpMax(real);
    floats[2 * size + thread] = Gpu.warpMin(real);
    doubles[thread] = Gpu.warpSum(precise);
    doubles[size + thread] = Gpu.warpMax(precise);
    doubles[2 * size + thread] = Gpu.warpMin(precise);
  }

  @ParameterizedTest
  @MethodSource("blocks")
  void everyLaneGetsTheResultOfItsWarp(Dim3 block) {
    int size = (int) block.count();
    var values = values(size);
    var ints = Arrays.copyOf(values, 3 * size);
    var longs = Arrays.stream(ints).mapToLong(value -> value * 10_000_000_000L).toArray();
    var floats = floats(ints);
    var doubles = Arrays.stream(ints).mapToDouble(value -> value / 7.0).toArray();
    var given = floats.clone();

    KERNELS.run("ofWarps", Dim3.of(1), block, ints, longs, floats, doubles);

    for (int first = 0; first < size; first += 32) {
      int end = Math.min(first + 32, size);
      int total = Arrays.stream(values, first, end).sum();
      int largest = Arrays.stream(values, first, end).max().orElseThrow();
      int smallest = Arrays.stream(values, first, end).min().orElseThrow();
      float sum = warpSum(Arrays.copyOfRange(given, first, end));
      for (int thread = first; thread < end; thread++) {
        assertThat(ints[thread]).isEqualTo(total);
        assertThat(ints[size + thread]).isEqualTo(largest);
        assertThat(ints[2 * size + thread]).isEqualTo(smallest);
        assertThat(longs[thread]).isEqualTo(total * 10_000_000_000L);
        assertThat(longs[size + thread]).isEqualTo(largest * 10_000_000_000L);
        assertThat(longs[2 * size + thread]).isEqualTo(smallest * 10_000_000_000L);
        assertThat(floats[thread]).isEqualTo(sum);
        assertThat(floats[size + thread]).isEqualTo(largest / 7f);
        assertThat(floats[2 * size + thread]).isEqualTo(smallest / 7f);
        assertThat(doubles[thread]).isEqualTo(doubles[first]).isCloseTo(total / 7.0, within(32));
        assertThat(doubles[size + thread]).isEqualTo(largest / 7.0);
        assertThat(doubles[2 * size + thread]).isEqualTo(smallest / 7.0);
      }
    }
  }

  static void inLoop(float[] sums, int rounds) {
    for (int round = 0; round < rounds; round++) {
      sums[Gpu.blockDimX() * round + Gpu.threadIdxX()] = Gpu.blockSum((float) round);
    }
  }

  @ParameterizedTest
  @MethodSource("blocks")
  void aLoopMayReduceOnEveryIteration(Dim3 shape) {
    var block = Dim3.of((int) Math.min(shape.count(), 100));
    var sums = new float[5 * block.x()];
    KERNELS.run("inLoop", Dim3.of(1), block, sums, 5);
    for (int i = 0; i < sums.length; i++) {
      assertThat(sums[i]).isEqualTo((float) (i / block.x() * block.x()));
    }
  }

  private static org.assertj.core.data.Offset<Double> within(int size) {
    return org.assertj.core.data.Offset.offset(1e-10 * size);
  }

  /** Returns distinct numbers of both signs, not in order. */
  private static int[] values(int size) {
    var values = new int[size];
    for (int i = 0; i < size; i++) {
      values[i] = (i * 7919 + 13) % 2003 - 1001;
    }
    return values;
  }

  private static float[] floats(int[] values) {
    var floats = new float[values.length];
    for (int i = 0; i < values.length; i++) {
      floats[i] = values[i] / 7f;
    }
    return floats;
  }

  private static float blockSum(float[] values) {
    float sum = -0f;
    for (int first = 0; first < values.length; first += 32) {
      sum += warpSum(Arrays.copyOfRange(values, first, Math.min(first + 32, values.length)));
    }
    return sum;
  }

  /** Adds as the comment of {@link Gpu#warpSum(int)} says: at distances 16, 8, 4, 2, 1. */
  private static float warpSum(float[] values) {
    var sums = values.clone();
    for (int distance = 16; distance > 0; distance /= 2) {
      for (int i = 0; i < Math.min(distance, sums.length - distance); i++) {
        sums[i] += sums[i + distance];
      }
    }
    return sums[0];
  }
}
