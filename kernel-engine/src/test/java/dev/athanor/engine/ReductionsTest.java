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
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Type;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Reductions over warps and blocks. */
class ReductionsTest {

  /** Computes a thread's results from its value. */
  private interface Body extends BiFunction<KernelBuilder, Real, List<Real>> {}

  /** Returns the results of each thread, one array per result, for the values {@code x}. */
  private static float[][] run(float[] x, int results, Body body) {
    return run(x, x.length, 1, results, body);
  }

  /** Runs in a two-dimensional block, whose threads are numbered row by row. */
  private static float[][] run(float[] x, int width, int height, int results, Body body) {
    var kernel =
        build(
            width,
            height,
            k -> {
              var in = k.pointer("in", Type.F32);
              var out = k.pointer("out", Type.F32);
              var thread = k.threadY().times(width).plus(k.thread());
              var values = body.apply(k, in.load(thread).widen());
              for (int i = 0; i < results; i++) {
                out.store(thread.plus(i * x.length), values.get(i));
              }
            });
    return launch(kernel, Dim3.of(width, height), x, results);
  }

  private static Kernel build(int width, int height, Consumer<KernelBuilder> author) {
    return height == 1
        ? KernelBuilder.build("test", width, author)
        : KernelBuilder.build("test", width, height, author);
  }

  private static float[][] launch(Kernel kernel, Dim3 block, float[] x, int results) {
    var flat = new float[results * x.length];
    try (var device = new EmulatedDevice(EmulatorOptions.DEFAULT.withSanitize(Sanitize.FULL));
        var stream = device.openStream();
        Buffer in = device.allocate(4L * x.length);
        Buffer out = device.allocate(4L * flat.length)) {
      stream.upload(MemorySegment.ofArray(x), in, 0);
      stream.launch(
          new Launch(
              device.load(Module.of(kernel), kernel.name()),
              Dim3.of(1),
              block,
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

  /** Whole warps, and partial warps whose missing lanes must not be named. */
  @ParameterizedTest
  @ValueSource(
      ints = {
        1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 33, 48, 64, 96, 100, 128, 160, 256, 288, 512, 544, 1024
      })
  void everyThreadReceivesSumMaximumAndMinimum(int threads) {
    reducesBlocks(threads, 1);
  }

  @ParameterizedTest
  @CsvSource({"16, 16", "32, 8", "8, 4", "4, 2", "10, 10", "3, 11", "1, 5", "64, 16"})
  void reducesTwoDimensionalBlocks(int width, int height) {
    reducesBlocks(width, height);
  }

  private static void reducesBlocks(int width, int height) {
    int threads = width * height;
    var random = new Random(threads);
    var x = new float[threads];
    double sum = 0;
    for (int i = 0; i < threads; i++) {
      // integers, whose sums are exact in any order
      x[i] = random.nextInt(-1000, 1000);
      sum += x[i];
    }
    var sorted = x.clone();
    Arrays.sort(sorted);
    var results =
        run(
            x,
            width,
            height,
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
  void findsTheMinimumOfNegativeNumbers(int threads) {
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
  void reducesGroupsOfLanesSeparately(int width) {
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

  @ParameterizedTest
  @CsvSource({"64, 1", "16, 4", "32, 2"})
  void reducesWarpsSeparately(int width, int height) {
    var x = numbers(64);
    for (int i = 32; i < 64; i++) {
      x[i] = 2 * i;
    }
    var sums = run(x, width, height, 1, (k, v) -> List.of(k.reduceLanes(v, 32, Real::plus)))[0];
    allAre(Arrays.copyOf(sums, 32), 496);
    allAre(Arrays.copyOfRange(sums, 32, 64), 3040);
  }

  @Test
  void reducesValuesOfASingleLane() {
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
  void shufflesBetweenLanes() {
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

  /** The second reduction uses the result of the first. */
  @Test
  void reductionsCanFollowEachOther() {
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

  @ParameterizedTest
  @ValueSource(ints = {-1, 0, 1025, 1056})
  void rejectsOtherBlockSizes(int threads) {
    assertThatThrownBy(() ->
            KernelBuilder.build(
                "test",
                1024,
                k -> k.reduceBlock(List.of(k.real(Type.F32, 1)), threads, 0, Real::plus)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "cannot reduce over %d threads: the kernel's blocks have 1 to 1024 threads", threads);
  }

  @Test
  void rejectsPartialReductionOfTwoDimensionalBlocks() {
    assertThatThrownBy(() ->
            KernelBuilder.build(
                "test",
                16,
                16,
                k -> k.reduceBlock(List.of(k.real(Type.F32, 1)), 128, 0, Real::plus)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("cannot reduce over 128 threads: the kernel's blocks have 16x16 threads");
  }

  /** A shuffle in a partial warp would name missing lanes. */
  @ParameterizedTest
  @CsvSource({"16, 1, 16", "48, 1, 48", "4, 4, 4x4", "16, 3, 16x3", "24, 2, 24x2", "10, 10, 10x10"})
  void rejectsShufflesInPartialWarps(int width, int height, String block) {
    var message =
        "ReductionsTest.java:%s among the 32 lanes of full warps, but blocks have "
            + block
            + " threads; use a multiple of 32 threads, or reduceBlock";
    assertThatThrownBy(
            () -> build(width, height, k -> k.reduceLanes(k.real(Type.F32, 1), 32, Real::plus)))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageMatching(message.formatted("\\d+: values are reduced"));
    assertThatThrownBy(() -> build(width, height, k -> k.real(Type.F32, 1).fromLaneXor(1)))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageMatching(message.formatted("\\d+: values are exchanged"));
  }

  @ParameterizedTest
  @ValueSource(ints = {-1, 0, 3, 12, 64})
  void rejectsOtherLaneGroups(int width) {
    assertThatThrownBy(() ->
            KernelBuilder.build(
                "test", 32, k -> k.reduceLanes(k.real(Type.F32, 1), width, Real::plus)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("lanes are reduced in groups of 1, 2, 4, 8, 16 or 32 lanes, got %d", width);
  }
}
