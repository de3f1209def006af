package dev.athanor.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.assertj.core.api.Assertions.within;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.DeviceException.KernelFault;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.Report;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Type;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.DoubleUnaryOperator;
import java.util.function.IntUnaryOperator;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Runs authored kernels, with the sanitizer in every lane. */
class AuthoredKernelsTest {

  private static final int BLOCK = 128;
  private static final int UNTOUCHED = 0x5A5A5A5A;

  /**
   * Launches a kernel with parameters {@code in}, {@code out} and {@code n}, and returns {@code
   * out}.
   */
  private static int[] run(
      Kernel kernel, Dim3 grid, Dim3 block, int[] in, int[] out, int n, Sanitize sanitize) {
    var result = out.clone();
    try (var device = new EmulatedDevice(EmulatorOptions.DEFAULT.withSanitize(sanitize));
        var stream = device.openStream();
        Buffer source = device.allocate(4L * in.length);
        Buffer target = device.allocate(4L * out.length)) {
      stream.upload(MemorySegment.ofArray(in), source, 0);
      stream.upload(MemorySegment.ofArray(out), target, 0);
      stream.launch(
          new Launch(
              device.load(Module.of(kernel), kernel.name()),
              grid,
              block,
              0,
              List.of(Argument.of(source), Argument.of(target), Argument.of(n))));
      stream.download(target, 0, MemorySegment.ofArray(result));
      stream.synchronize();
    }
    return result;
  }

  /** Applies a body to each word. */
  private static int[] map(int[] in, BiFunction<KernelBuilder, Int, Int> body) {
    var kernel =
        KernelBuilder.build(
            "map",
            BLOCK,
            k -> {
              var source = k.pointer("in", Type.S32);
              var target = k.pointer("out", Type.S32);
              var i = k.block().times(BLOCK).plus(k.thread());
              k.when(
                  i.lt(k.integer("n")),
                  () -> target.store(i, body.apply(k, source.load(i).integer()).value()));
            });
    var grid = Dim3.of(Math.ceilDiv(in.length, BLOCK));
    return run(kernel, grid, Dim3.of(BLOCK), in, new int[in.length], in.length, Sanitize.FULL);
  }

  private static final int[] WORDS = {
    -2, -1, 0, 1, 2, 7, 0x5555_5555, 0x8000_0000, 0x7FFF_FFFF, 0xF00D_CAFE, 123_456_789
  };

  private static int[] inJava(IntUnaryOperator body) {
    return IntStream.of(WORDS).map(body).toArray();
  }

  @Test
  void rightShiftsDependOnSign() {
    assertThat(map(new int[] {-2}, (_, x) -> x.shrSigned(1))).containsExactly(-1);
    assertThat(map(new int[] {0xFFFF_FFFF}, (_, x) -> x.shr(1))).containsExactly(0x7FFF_FFFF);
    for (int by : new int[] {0, 1, 5, 31}) {
      assertThat(map(WORDS, (_, x) -> x.shrSigned(by))).isEqualTo(inJava(x -> x >> by));
      assertThat(map(WORDS, (_, x) -> x.shr(by))).isEqualTo(inJava(x -> x >>> by));
      assertThat(map(WORDS, (_, x) -> x.shl(by))).isEqualTo(inJava(x -> x << by));
      assertThat(map(WORDS, (k, x) -> x.shrSigned(k.variable(k.integer(by)))))
          .isEqualTo(inJava(x -> x >> by));
      assertThat(map(WORDS, (k, x) -> x.shr(k.variable(k.integer(by)))))
          .isEqualTo(inJava(x -> x >>> by));
    }
    // Java masks the shift amount, PTX does not
    assertThat(map(WORDS, (_, x) -> x.shrSigned(32))).isEqualTo(inJava(x -> x >> 31));
    assertThat(map(WORDS, (_, x) -> x.shr(32))).containsOnly(0);
  }

  @Test
  void multipliesUnsignedIntegersToTheirUpperHalf() {
    for (int by : WORDS) {
      long factor = Integer.toUnsignedLong(by);
      assertThat(map(WORDS, (k, x) -> x.unsignedMultiplyHigh(k.integer(by))))
          .isEqualTo(inJava(x -> (int) ((Integer.toUnsignedLong(x) * factor) >>> Integer.SIZE)));
    }
  }

  @Test
  void assignsAVariableFromItself() {
    var results =
        map(
            WORDS,
            (k, x) -> {
              var v = k.variable(x);
              v.set(v.and(0x0FFF_FF0F));
              v.set(v.or(k.integer(0x40)));
              v.set(v.xor(x.shl(3)));
              v.set(v.shl(2));
              v.set(v.shrSigned(1));
              v.set(v.xor(k.integer(-1)));
              v.add(x);
              return v;
            });
    assertThat(results)
        .isEqualTo(
            inJava(x -> {
              int v = x;
              v &= 0x0FFF_FF0F;
              v |= 0x40;
              v ^= x << 3;
              v <<= 2;
              v >>= 1;
              v = ~v;
              v += x;
              return v;
            }));
  }

  /** A condition on an element that may be absent. */
  private interface Condition {
    Int write(KernelBuilder k, GlobalPointer in, Int n, Int i);
  }

  /** Evaluates a condition in each thread of a block that exceeds the data. */
  private static int[] inABlock(int[] in, Condition condition) {
    var kernel =
        KernelBuilder.build(
            "positive",
            BLOCK,
            k -> {
              var source = k.pointer("in", Type.S32);
              var target = k.pointer("out", Type.S32);
              var n = k.integer("n");
              target.store(k.thread(), condition.write(k, source, n, k.thread()).value());
            });
    return run(kernel, Dim3.of(1), Dim3.of(BLOCK), in, new int[BLOCK], in.length, Sanitize.FULL);
  }

  @Test
  void guardedLoadsAreNotExecuted() {
    var in = IntStream.range(0, 100).map(i -> i % 3 - 1).toArray();
    var expected = new int[BLOCK];
    for (int i = 0; i < in.length; i++) {
      expected[i] = in[i] > 0 ? 1 : 0;
    }
    Condition guarded =
        (k, source, n, i) -> {
          var inside = i.lt(n);
          var holds = inside.and(source.loadWhere(inside, i).integer().gt(k.integer(0)));
          return k.integer(1).where(holds, k.integer(0));
        };
    Condition nested =
        (k, source, n, i) -> {
          var result = k.variable(k.integer(0));
          Runnable look =
              () ->
                  k.when(source.load(i).integer().gt(k.integer(0)), () -> result.set(k.integer(1)));
          k.when(i.lt(n), look);
          return result;
        };
    Condition unguarded =
        (k, source, n, i) -> {
          var holds = i.lt(n).and(source.load(i).integer().gt(k.integer(0)));
          return k.integer(1).where(holds, k.integer(0));
        };
    assertThat(inABlock(in, guarded)).isEqualTo(expected);
    assertThat(inABlock(in, nested)).isEqualTo(expected);
    var fault = catchThrowableOfType(KernelFault.class, () -> inABlock(in, unguarded));
    assertThat(fault).isNotNull().hasMessageContaining("AuthoredKernelsTest.java:");
    assertThat(fault.findings().getFirst().kind()).isEqualTo(Report.Kind.OUT_OF_BOUNDS);
  }

  /** Computes 2x + 1, in blocks of 256 threads. */
  private static final Kernel AFFINE =
      KernelBuilder.build(
          "affine",
          256,
          k -> {
            var source = k.pointer("in", Type.S32);
            var target = k.pointer("out", Type.S32);
            var i = k.block().times(256).plus(k.thread());
            var inside = i.lt(k.integer("n"));
            var x = source.loadWhere(inside, i).integer();
            target.storeWhere(inside, i, x.times(2).plus(1).value());
          });

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 256, 257, 100_003, 1_000_000})
  void computesEveryLengthWithoutOverrun(int n) {
    var in = IntStream.range(0, n + 1).map(i -> i * 7919).toArray();
    var out = IntStream.generate(() -> UNTOUCHED).limit(n + 1L).toArray();
    var grid = Dim3.of(Math.max(1, Math.ceilDiv(n, 256)));
    var sanitize = n > 1000 ? Sanitize.OFF : Sanitize.FULL;
    var result = run(AFFINE, grid, Dim3.of(256), in, out, n, sanitize);
    for (int i = 0; i < n; i++) {
      if (result[i] != 2 * in[i] + 1) {
        assertThat(result[i]).as("element %d", i).isEqualTo(2 * in[i] + 1);
      }
    }
    assertThat(result[n]).isEqualTo(UNTOUCHED);
  }

  /** Empty work needs no launch, so an empty grid is an error. */
  @Test
  void rejectsAnEmptyGrid() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Dim3.of(Math.ceilDiv(0, 256)))
        .withMessage("every extent must be at least 1, got 0x1x1");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Dim3.of(32, 0))
        .withMessage("every extent must be at least 1, got 32x0x1");
  }

  @ParameterizedTest
  @CsvSource({"16, 16", "32, 8", "8, 4", "5, 7"})
  void supportsTwoDimensionalBlocksAndGrids(int width, int height) {
    int rows = 37;
    int columns = 53;
    var kernel =
        KernelBuilder.build(
            "transpose",
            width,
            height,
            k -> {
              var source = k.pointer("in", Type.S32);
              var target = k.pointer("out", Type.S32);
              var n = k.integer("n");
              var x = k.block().times(width).plus(k.thread());
              var y = k.blockY().times(height).plus(k.threadY());
              var inside = x.lt(n).and(y.lt(rows));
              var value = source.loadWhere(inside, y.times(n).plus(x));
              target.storeWhere(inside, x.times(rows).plus(y), value);
            });
    var in = IntStream.range(0, rows * columns).toArray();
    var grid = Dim3.of(Math.ceilDiv(columns, width), Math.ceilDiv(rows, height));
    var out =
        run(kernel, grid, Dim3.of(width, height), in, new int[in.length], columns, Sanitize.FULL);
    var expected = IntStream.range(0, in.length).map(i -> i % rows * columns + i / rows).toArray();
    assertThat(out).isEqualTo(expected);
  }

  @Test
  void rejectsOtherBlockShapes() {
    var kernel = KernelBuilder.build("wide", 32, 8, k -> k.integer("n"));
    try (var device = new EmulatedDevice();
        var stream = device.openStream()) {
      var loaded = device.load(Module.of(kernel), "wide");
      var arguments = List.of(Argument.of(0));
      stream.launch(new Launch(loaded, Dim3.of(1), Dim3.of(32, 8), 0, arguments));
      assertThatIllegalArgumentException()
          .isThrownBy(
              () -> stream.launch(new Launch(loaded, Dim3.of(1), Dim3.of(256), 0, arguments)))
          .withMessage(
              "cannot launch wide: got a block of 256x1x1 threads; the kernel requires 32x8x1");
    }
  }

  private static void isClose(
      UnaryOperator<Real> written,
      DoubleUnaryOperator right,
      double from,
      double to,
      double error) {
    var in =
        IntStream.rangeClosed(0, 1000)
            .map(i -> Float.floatToRawIntBits((float) (from + (to - from) * i / 1000)))
            .toArray();
    var out =
        map(in, (_, x) -> written.apply((Real) x.value().as(Type.F32)).as(Type.S32).integer());
    for (int i = 0; i < in.length; i++) {
      float x = Float.intBitsToFloat(in[i]);
      assertThat((double) Float.intBitsToFloat(out[i]))
          .as("of %s", x)
          .isCloseTo(right.applyAsDouble(x), within(error));
    }
  }

  @Test
  void functionsMeetTheirErrorBounds() {
    isClose(Real::sqrt, Math::sqrt, 0, 100, 1e-6);
    isClose(Real::exp, Math::exp, -20, 2, 1e-5);
    isClose(Real::log, Math::log, 1e-3, 1e3, 1e-5);
    isClose(Real::rsqrt, x -> 1 / Math.sqrt(x), 0.25, 100, 1e-6);
    isClose(Real::exp2, x -> Math.pow(2, x), -20, 3, 1e-5);
  }
}
