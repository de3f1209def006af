package dev.athanor.engine.lift;

import static dev.athanor.engine.lift.Gpu.threadIdxX;
import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.emulator.EmulatedDevice;
import java.util.Arrays;
import java.util.function.BiFunction;
import java.util.function.BinaryOperator;
import java.util.function.DoubleUnaryOperator;
import java.util.function.Function;
import java.util.function.IntBinaryOperator;
import java.util.function.IntConsumer;
import java.util.function.IntFunction;
import java.util.function.IntPredicate;
import java.util.function.IntSupplier;
import java.util.function.IntToDoubleFunction;
import java.util.function.IntUnaryOperator;
import java.util.function.LongBinaryOperator;
import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Lambdas, method references, boxes and generic methods give what plain Java gives. */
class FunctionsTest {
  private static final EmulatedDevice DEVICE = new EmulatedDevice();
  private static final int THREADS = 32;

  @AfterAll
  static void close() {
    DEVICE.close();
  }

  record Point(int x, int y) {
    Point plus(Point other) {
      return new Point(x + other.x, y + other.y);
    }

    int manhattan() {
      return Math.abs(x) + Math.abs(y);
    }
  }

  interface Weight {
    float of(float x, int i);

    default Weight twice() {
      return (x, i) -> of(of(x, i), i);
    }

    static Weight constant(float value) {
      return (_, _) -> value;
    }
  }

  record Filter(IntPredicate accepts, int otherwise) {
    int apply(int x) {
      return accepts.test(x) ? x : otherwise;
    }
  }

  private static int reduce(int[] values, int from, int n, int start, IntBinaryOperator operator) {
    int result = start;
    for (int i = 0; i < n; i++) {
      result = operator.applyAsInt(result, values[(from + i) & (THREADS - 1)]);
    }
    return result;
  }

  private static <T> T fold(T first, T second, T third, BinaryOperator<T> operator) {
    return operator.apply(operator.apply(first, second), third);
  }

  private static <A, B, C> C combine(A a, B b, BiFunction<? super A, ? super B, C> function) {
    return function.apply(a, b);
  }

  private static int apply(IntUnaryOperator f, int x) {
    return f.applyAsInt(x);
  }

  private static long wide(long a, long b) {
    return 3 * a - b;
  }

  @GpuKernel(blockSize = THREADS)
  static void primitives(int[] x, double[] result) {
    int i = threadIdxX();
    int scale = x[0] + i;
    IntUnaryOperator scaled = a -> scale * a;
    LongBinaryOperator difference = FunctionsTest::wide;
    DoubleUnaryOperator root = Math::sqrt;
    IntSupplier constant = () -> 7;
    IntToDoubleFunction half = a -> a / 2.0;
    result[i] =
        scaled.applyAsInt(x[i])
            + difference.applyAsLong(x[i], scale)
            + root.applyAsDouble(x[i] & 0xFF)
            + constant.getAsInt()
            + half.applyAsDouble(i);
  }

  @GpuKernel(blockSize = THREADS)
  static void reductions(int[] x, double[] result) {
    int i = threadIdxX();
    result[i] =
        reduce(x, i, 5, 0, Integer::sum)
            + 3.0 * reduce(x, i, 7, Integer.MIN_VALUE, Math::max)
            + 5.0 * reduce(x, i, 3, 1, (a, b) -> a * b + i);
  }

  @GpuKernel(blockSize = THREADS)
  static void composedFunctions(int[] x, double[] result) {
    int i = threadIdxX();
    IntUnaryOperator increment = a -> a + 1;
    DoubleUnaryOperator chain = DoubleUnaryOperator.identity();
    Weight weight = (w, k) -> w * k + 1;
    IntPredicate even = a -> (a & 1) == 0;
    result[i] =
        increment.andThen(a -> 2 * a).compose(a -> a - x[i]).applyAsInt(i)
            + chain.applyAsDouble(x[i])
            + weight.twice().twice().of(x[i] & 7, i & 3)
            + Weight.constant(3).of(1, 2)
            + (even.negate().or(a -> a > 10).test(x[i]) ? 100 : 200)
            + apply(a -> apply(b -> b + a, 3 * a), i);
  }

  @GpuKernel(blockSize = THREADS)
  static void records(int[] x, double[] result) {
    int i = threadIdxX();
    var point = new Point(x[i], i);
    var sum = fold(point, new Point(1, -2), new Point(i, i), Point::plus);
    IntFunction<Point> diagonal = a -> new Point(a, a);
    ToLongFunction<Point> norm = Point::manhattan;
    var made = combine(x[i], 3, Point::new);
    var filter = new Filter(a -> a < x[i], -1);
    result[i] = sum.x + norm.applyAsLong(diagonal.apply(i)) + made.y() + filter.apply(i);
  }

  @GpuKernel(blockSize = THREADS)
  static void genericMethods(int[] x, double[] result) {
    int i = threadIdxX();
    int sum = fold(x[i], 2, i, Integer::sum);
    long most = fold((long) x[i], 1L << 40, -3L, Math::max);
    double product = fold(x[i] + 0.5, 2.0, 0.25, (a, b) -> a * b);
    float least = fold(1f * x[i], 2f, -i - 1f, Math::min);
    char letter = fold('a', 'b', (char) ('c' + i), (a, b) -> a > b ? a : b);
    boolean any = fold(x[i] > 0, i > 5, false, Boolean::logicalOr);
    Function<Integer, Float> third = a -> a / 3f;
    UnaryOperator<Long> shifted = a -> a << 2;
    ToDoubleFunction<Number> value = Number::doubleValue;
    result[i] =
        sum
            + most
            + product
            + least
            + letter
            + (any ? 1 : 0)
            + third.andThen(a -> a + 1).apply(x[i])
            + shifted.apply(5L + i)
            + value.applyAsDouble(x[i])
            + combine((byte) x[i], (short) i, (a, b) -> a.intValue() * b);
  }

  @GpuKernel(blockSize = THREADS)
  static void effects(int[] x, double[] result) {
    int i = threadIdxX();
    IntConsumer store = a -> result[i] += a;
    Runnable twice =
        () -> {
          store.accept(x[i]);
          store.accept(1);
        };
    result[i] = 0;
    for (int k = 0; k < (i & 3); k++) {
      twice.run();
    }
    store.andThen(_ -> result[i] *= 2).accept(4);
  }

  static String[] kernels() {
    return new String[] {
      "primitives", "reductions", "composedFunctions", "genericMethods", "effects", "records"
    };
  }

  @ParameterizedTest
  @MethodSource("kernels")
  void aKernelGivesWhatPlainJavaGives(String name) {
    var x = new int[THREADS];
    Arrays.setAll(x, i -> i * 7919 % 101 - 40);
    var kernel = Kernels.of(FunctionsTest.class, name);
    var expected = new double[THREADS];
    kernel.inJava().launch(1, x, expected);
    for (boolean checked : new boolean[] {true, false}) {
      var onDevice = new double[THREADS];
      kernel.on(DEVICE).checked(checked).launch(1, x, onDevice);
      assertThat(onDevice).isEqualTo(expected);
    }
    var debugged = new double[THREADS];
    kernel.debugged().on(DEVICE).launch(1, x, debugged);
    assertThat(debugged).isEqualTo(expected);
  }
}
