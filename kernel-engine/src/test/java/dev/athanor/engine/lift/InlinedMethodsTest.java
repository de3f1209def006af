package dev.athanor.engine.lift;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.emulator.EmulatedDevice;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

/** Constructors, inherited methods and library methods give the results of Java. */
class InlinedMethodsTest {
  private static final EmulatedDevice DEVICE = new EmulatedDevice();

  @AfterAll
  static void close() {
    DEVICE.close();
  }

  /** Its constructor assigns the components on two paths, in different orders. */
  record Sorted(int low, int high) {
    Sorted(int low, int high) {
      if (low > high) {
        this.high = low;
        this.low = high;
      } else {
        this.low = low;
        this.high = high;
      }
    }

    Sorted(int both) {
      this(both, both);
    }
  }

  @GpuKernel(blockSize = 1)
  static void sort(int[] a, int[] results) {
    var sorted = new Sorted(a[0], a[1] > 3 ? a[1] : a[2]);
    results[0] = sorted.low();
    results[1] = sorted.high();
    results[2] = new Sorted(a[0]).low() + new Sorted(a[0], new Sorted(a[1], a[2]).high()).high();
  }

  @Test
  void constructorsAssignOnSeveralPaths() {
    check(5, 2, 1);
    check(1, 4, 9);
    check(7, 5, 8);
  }

  private static int twice(int a) {
    return 2 * a;
  }

  private static int calls12(int a) {
    int sum = 0;
    sum += twice(sum + a);
    sum += twice(sum + a);
    sum += twice(sum + a);
    sum += twice(sum + a);
    sum += twice(sum + a);
    sum += twice(sum + a);
    sum += twice(sum + a);
    sum += twice(sum + a);
    sum += twice(sum + a);
    sum += twice(sum + a);
    sum += twice(sum + a);
    sum += twice(sum + a);
    return sum;
  }

  private static int calls156(int a) {
    int sum = 0;
    sum += calls12(sum ^ a);
    sum += calls12(sum ^ a);
    sum += calls12(sum ^ a);
    sum += calls12(sum ^ a);
    sum += calls12(sum ^ a);
    sum += calls12(sum ^ a);
    sum += calls12(sum ^ a);
    sum += calls12(sum ^ a);
    sum += calls12(sum ^ a);
    sum += calls12(sum ^ a);
    sum += calls12(sum ^ a);
    sum += calls12(sum ^ a);
    return sum;
  }

  @GpuKernel(blockSize = 1)
  static void manyCalls(int[] a) {
    a[0] += calls156(a[0]);
    a[0] += calls156(a[0]);
    a[0] += calls156(a[0]);
    a[0] += calls156(a[0]);
    a[0] += calls156(a[0]);
    a[0] += calls156(a[0]);
    a[0] += calls156(a[0]);
    a[0] += calls156(a[0]);
    a[0] += calls156(a[0]);
    a[0] += calls156(a[0]);
    a[0] += calls156(a[0]);
    a[0] += calls156(a[0]);
    a[0] += calls156(a[0]);
    a[0] += calls156(a[0]);
  }

  @Test
  void debuggedKernelsMayMakeAsManyCallsAsOthers() {
    var kernel = Kernels.of(InlinedMethodsTest::manyCalls);
    var expected = new int[] {3};
    kernel.inJava().launch(1, expected);
    for (var each : List.of(kernel, kernel.debugged())) {
      var actual = new int[] {3};
      each.on(DEVICE).launch(1, actual);
      assertThat(actual).isEqualTo(expected);
    }
  }

  private static void check(int... numbers) {
    var expected = new int[3];
    var actual = new int[3];
    var kernel = Kernels.of(InlinedMethodsTest::sort);
    kernel.inJava().launch(1, numbers, expected);
    kernel.on(DEVICE).launch(1, numbers, actual);
    assertThat(actual).isEqualTo(expected);
  }

  /** Methods that a class inherits. */
  static class Base {
    static int twice(int x) {
      return 2 * x;
    }
  }

  static final class Derived extends Base {
    private Derived() {}

    @GpuKernel(blockSize = 1)
    static void inherited(int[] a) {
      a[0] = twice(a[0]) + Derived.twice(3);
    }
  }

  @Test
  void staticMethodsAreInherited() {
    var a = new int[] {4};
    Kernels.of(Derived::inherited).on(DEVICE).launch(1, a);
    assertThat(a).containsExactly(14);
  }

  @GpuKernel(blockSize = 1)
  static void comparisons(float[] a, short[] s, byte[] b, int[] results) {
    int count = 0;
    for (int i = 0; i < a.length; i++) {
      for (int k = 0; k < a.length; k++) {
        results[count++] = Float.compare(a[i], a[k]);
        results[count++] = Double.compare(a[i], a[k]);
      }
    }
    results[count] = Short.compare(s[0], s[1]);
    results[count + 1] = Byte.compare(b[0], b[1]);
  }

  @Test
  void compareOrdersSpecialNumbers() {
    var a = new float[] {0f, -0f, Float.NaN, Float.NEGATIVE_INFINITY, 1, Float.POSITIVE_INFINITY};
    short[] s = {Short.MIN_VALUE, Short.MAX_VALUE};
    byte[] b = {3, -9};
    var expected = new int[2 * a.length * a.length + 2];
    var actual = expected.clone();
    Kernels.of(InlinedMethodsTest::comparisons).inJava().launch(1, a, s, b, expected);
    Kernels.of(InlinedMethodsTest::comparisons).on(DEVICE).launch(1, a, s, b, actual);
    assertThat(actual).isEqualTo(expected);
  }
}
