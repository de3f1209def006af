package dev.athanor.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Type;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.BiFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the threads of a warp and of a block get when they combine their values. */
class ReductionsTest {

  /** Makes of a thread's number what it gets. */
  private interface Body extends BiFunction<KernelBuilder, Real, List<Real>> {}

  /** What each thread gets, one array for each result; the values are {@code x}. */
  private static float[][] run(float[] x, int results, Body body) {
    int threads = x.length;
    var kernel =
        KernelBuilder.build(
            "test",
            threads,
            k -> {
              var in = k.pointer("in", Type.F32);
              var out = k.pointer("out", Type.F32);
              var values = body.apply(k, in.load(k.thread()).widen());
              for (int i = 0; i < results; i++) {
                out.store(k.thread().plus(i * threads), values.get(i));
              }
            });
    return launch(kernel, x, results);
  }

  private static float[][] launch(Kernel kernel, float[] x, int results) {
    var flat = new float[results * x.length];
    try (var device = new EmulatedDevice();
        var stream = device.openStream();
        Buffer in = device.allocate(4L * x.length);
        Buffer out = device.allocate(4L * flat.length)) {
      stream.upload(MemorySegment.ofArray(x), in, 0);
      stream.launch(
          new Launch(
              device.load(Module.of(kernel), kernel.name()),
              Dim3.of(1),
              Dim3.of(x.length),
              0,
              List.of(new Argument.Pointer(in, 0), new Argument.Pointer(out, 0))));
      stream.download(out, 0, MemorySegment.ofArray(flat));
      stream.synchronize();
    }
    var parts = new float[results][];
    for (int i = 0; i < results; i++) {
      parts[i] = Arrays.copyOfRange(flat, i * x.length, (i + 1) * x.length);
    }
    return parts;
  }

  private static float[] numbers(int count) {
    var x = new float[count];
    for (int i = 0; i < count; i++) {
      x[i] = i;
    }
    return x;
  }

  private static void allAre(float[] values, double expected) {
    for (float value : values) {
      assertThat((double) value).isEqualTo(expected);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {32, 64, 96, 128, 160, 256, 288, 512, 544, 1024})
  void everyThreadOfABlockGetsTheSumTheMaximumAndTheMinimum(int threads) {
    var random = new Random(threads);
    var x = new float[threads];
    double sum = 0;
    for (int i = 0; i < threads; i++) {
      // whole numbers, whose sums are exact in whatever order
      x[i] = random.nextInt(-1000, 1000);
      sum += x[i];
    }
    var sorted = x.clone();
    Arrays.sort(sorted);
    var results =
        run(
            x,
            4,
            (k, v) ->
                List.of(
                    k.reduceBlock(List.of(v), threads, 0, Real::plus).getFirst(),
                    k.reduceBlock(List.of(v), threads, Double.NEGATIVE_INFINITY, Real::max)
                        .getFirst(),
                    k.reduceBlock(List.of(v), threads, Double.POSITIVE_INFINITY, Real::min)
                        .getFirst(),
                    k.reduceBlock(List.of(v, v.times(2)), threads, 0, Real::plus).get(1)));
    allAre(results[0], sum);
    allAre(results[1], sorted[threads - 1]);
    allAre(results[2], sorted[0]);
    allAre(results[3], 2 * sum);
  }

  @ParameterizedTest
  @ValueSource(ints = {32, 64, 128, 512})
  void theMinimumOfNumbersBelowZeroIsFound(int threads) {
    var results =
        run(
            numbers(threads),
            1,
            (k, v) ->
                k.reduceBlock(List.of(v.minus(50)), threads, Double.POSITIVE_INFINITY, Real::min));
    allAre(results[0], -50);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 4, 8, 16, 32})
  void groupsOfLanesAreReducedEachByItself(int width) {
    var results =
        run(
            numbers(64),
            2,
            (k, v) ->
                List.of(k.reduceLanes(v, width, Real::plus), k.reduceLanes(v, width, Real::max)));
    for (int i = 0; i < 64; i++) {
      int first = i / width * width;
      assertThat(results[0][i]).isEqualTo(width * (first + (width - 1) / 2f));
      assertThat(results[1][i]).isEqualTo(first + width - 1);
    }
  }

  @Test
  void twoWarpsKeepToThemselves() {
    var x = numbers(64);
    for (int i = 32; i < 64; i++) {
      x[i] = 2 * i;
    }
    var sums = run(x, 1, (k, v) -> List.of(k.reduceLanes(v, 32, Real::plus)))[0];
    allAre(Arrays.copyOf(sums, 32), 496);
    allAre(Arrays.copyOfRange(sums, 32, 64), 3040);
  }

  @Test
  void oneLaneIsEnough() {
    var high = new float[32];
    high[17] = 5;
    var low = new float[32];
    low[7] = -5;
    var signs = new float[32];
    for (int i = 0; i < 32; i++) {
      signs[i] = i % 2 == 0 ? 3 : -3;
    }
    allAre(run(high, 1, (k, v) -> List.of(k.reduceLanes(v, 32, Real::max)))[0], 5);
    allAre(run(low, 1, (k, v) -> List.of(k.reduceLanes(v, 32, Real::min)))[0], -5);
    allAre(run(signs, 1, (k, v) -> List.of(k.reduceLanes(v, 32, Real::plus)))[0], 0);
  }

  @Test
  void lanesReadEachOther() {
    var results =
        run(
            numbers(64),
            4,
            (k, v) ->
                List.of(
                    v.fromLaneXor(5),
                    v.fromLane(k.integer(3)),
                    v.fromLane(k.lane().plus(1).rem(32)),
                    v.fromLaneBelow(2)));
    for (int i = 0; i < 64; i++) {
      int warp = i / 32 * 32;
      assertThat(results[0][i]).isEqualTo(i ^ 5);
      assertThat(results[1][i]).isEqualTo(warp + 3);
      assertThat(results[2][i]).isEqualTo(warp + (i + 1) % 32);
      assertThat(results[3][i]).isEqualTo(i - warp < 2 ? i : i - 2);
    }
  }

  /** Twice in one kernel, the second time of what the first gave. */
  @Test
  void reductionsFollowEachOther() {
    var results =
        run(
            numbers(128),
            1,
            (k, v) -> {
              var sum = k.reduceBlock(List.of(v), 128, 0, Real::plus).getFirst();
              return k.reduceBlock(List.of(v.minus(sum)), 128, 0, Real::plus);
            });
    allAre(results[0], 8128 - 128 * 8128);
  }

  /** Blocks of 1 to 16 threads, or of 10 by 10, have lanes that no shuffle may name. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 8, 16, 31, 33, 48, 100, 1056})
  void partsOfWarpsAreRefused(int threads) {
    assertThatThrownBy(() ->
            KernelBuilder.build(
                "test",
                1024,
                k -> k.reduceBlock(List.of(k.real(Type.F32, 1)), threads, 0, Real::plus)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("a block is reduced by 1 to 32 whole warps, got %d threads", threads);
  }

  @ParameterizedTest
  @ValueSource(ints = {-1, 0, 3, 12, 64})
  void otherGroupsOfLanesAreRefused(int width) {
    assertThatThrownBy(() ->
            KernelBuilder.build(
                "test", 32, k -> k.reduceLanes(k.real(Type.F32, 1), width, Real::plus)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("lanes are reduced in groups of 1, 2, 4, 8, 16 or 32, got %d", width);
  }
}
