package dev.athanor.engine.lift;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.athanor.engine.lift.refusal.LiftException;
import dev.athanor.engine.lift.refusal.Refusal;
import java.util.List;
import java.util.function.IntUnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What cannot be a kernel is refused with its line, and what to write instead. */
class RefusalsTest {

  private static int counter;
  private int field;

  @GpuKernel
  static void newArray(int[] a) {
    a[0] = new int[4].length;
  }

  @GpuKernel
  static void newObject(int[] a) {
    a[0] = new RefusalsTest().field;
  }

  @GpuKernel
  static void string(int[] a) {
    a[0] = "text".length();
  }

  @GpuKernel
  static void concatenation(int[] a, int n) {
    a[0] = ("n" + n).length();
  }

  @GpuKernel
  static void throwing(int[] a) {
    if (a[0] < 0) {
      throw null;
    }
  }

  @GpuKernel
  static void trying(int[] a) {
    try {
      a[0] = 1;
    } finally {
      a[1] = 2;
    }
  }

  @GpuKernel
  static void recursion(int[] a) {
    a[0] = factorial(a[1]);
  }

  private static int factorial(int n) {
    return n < 2 ? 1 : n * factorial(n - 1);
  }

  @GpuKernel
  static void lambda(int[] a) {
    IntUnaryOperator twice = x -> 2 * x;
    a[0] = twice.applyAsInt(1);
  }

  @GpuKernel
  static void unknown(int[] a) {
    a[0] = Integer.parseInt(null);
  }

  @GpuKernel
  static void print(int[] a) {
    System.out.println(a[0]);
  }

  @GpuKernel
  static void variable(int[] a) {
    a[0] = counter;
  }

  @GpuKernel
  static void count(int[] a) {
    counter = a[0];
  }

  @GpuKernel
  static void monitor(int[] a) {
    synchronized (a) {
      a[0] = 1;
    }
  }

  @GpuKernel
  static void list(List<Integer> a) {
    a.add(1);
  }

  @GpuKernel
  static void rows(int[][] a) {
    a[0][0] = 1;
  }

  @GpuKernel
  static int result(int[] a) {
    return a[0];
  }

  @GpuKernel
  static void sharedLength(int[] a, int n) {
    a[0] = Gpu.sharedInts(n)[0];
  }

  @GpuKernel
  static void mixed(int[] a, int n) {
    int[] either = n > 0 ? a : Gpu.sharedInts(32);
    either[0] = 1;
  }

  @GpuKernel
  void instance(int[] a) {
    a[0] = field;
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          newArray     | NEW_ARRAY            | `new int[…]` allocates an array, and a GPU thread has no heap
          newObject    | NEW_OBJECT           | `new RefusalsTest(…)` creates an object, and a GPU thread has no heap
          string       | STRING               | is a string, which has no type on a GPU
          concatenation| STRING_CONCATENATION | a string is concatenated
          throwing     | NULL                 | null is not a value of a kernel
          trying       | TRY                  | the method has a try, catch or finally block
          recursion    | RECURSION            | RefusalsTest.factorial calls itself
          lambda       | LAMBDA               | a lambda or method reference needs an object
          unknown      | NULL                 | null is not a value of a kernel
          print        | STATIC_OBJECT        | the constant System.out is not a number
          variable     | STATIC_FIELD         | the field RefusalsTest.counter is static but not final
          count        | FIELD_WRITE          | the field RefusalsTest.counter is written
          monitor      | SYNCHRONIZED         | `synchronized` needs a monitor
          list         | PARAMETER_TYPE       | the parameter a has the type List
          rows         | OBJECT_ARRAY         | a is an array of objects or arrays
          result       | RETURN_TYPE          | the kernel returns int
          sharedLength | SHARED_LENGTH        | the length of a shared array is not a constant
          mixed        | MIXED_ARRAYS         | is a shared array on one path and a parameter on another
          instance     | INSTANCE_METHOD      | instance is an instance method
          """)
  void areRefused(String method, String reason, String sentence) {
    var kernel = Kernels.of(RefusalsTest.class, method);
    var refused = catchThrowableOfType(LiftException.class, () -> kernel.module(false));
    assertThat(refused).as(method).isNotNull();
    assertThat(refused.getMessage())
        .startsWith("RefusalsTest.java")
        .contains(sentence)
        .contains("; " + refused.refusal().remedy());
    assertThat(refused.refusal()).isEqualTo(Refusal.valueOf(reason));
  }

  @Test
  void theMessageNamesTheLineAndTheRemedy() {
    var kernel = Kernels.of(RefusalsTest.class, "newArray");
    var refused = catchThrowableOfType(LiftException.class, () -> kernel.module(false));
    assertThat(refused)
        .hasMessage(
            "RefusalsTest.java:%d: `new int[…]` allocates an array, and a GPU thread has no heap; use scalars, or Gpu.shared… for memory of the block (in newArray)",
            refused.source().line());
    assertThat(refused.source().line()).isBetween(20, 30);
  }
}
