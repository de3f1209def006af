package dev.athanor.engine.lift;

import static dev.athanor.engine.lift.Gpu.threadIdxX;
import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.lift.bytecode.Lifter;
import dev.athanor.engine.lift.ir.Block;
import dev.athanor.engine.lift.ir.Op;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Switches find their case by binary search, and take the branch that plain Java takes. */
class SwitchesTest {

  /** Dense with a gap, and cases that fall through. */
  @SuppressWarnings("fallthrough") // what the test is about
  private static int dense(int x) {
    int result = 1;
    switch (x) {
      case 0:
        result += 3;
      // fall through
      case 1:
        result *= 5;
        break;
      case 2:
        return 7;
      case 4:
      case 5:
        result = 11;
        break;
      case 6:
        result = x * 13;
      // fall through
      case 7, 8:
        result += 17;
        break;
      case 9:
        break;
      default:
        result = -x;
    }
    return result;
  }

  private static int sparse(int x) {
    return switch (x) {
      case Integer.MIN_VALUE -> 1;
      case -100 -> 2;
      case -3, -2, 19 -> 3;
      case 0 -> 4;
      case 40 -> 5;
      case 1000, 2000 -> 6;
      case Integer.MAX_VALUE -> 7;
      default -> x > 30 ? 8 : 9;
    };
  }

  @GpuKernel(blockSize = 128)
  static void both(int[] x, int[] dense, int[] sparse) {
    int i = threadIdxX();
    if (i < x.length) {
      dense[i] = dense(x[i]);
      sparse[i] = sparse(x[i]);
    }
  }

  @Test
  void takeTheCaseOfPlainJava() {
    int[] special = {Integer.MIN_VALUE, Integer.MAX_VALUE, -100, -101, -99, 999, 1000, 1999, 2000};
    var x = IntStream.concat(IntStream.range(-10, 50), Arrays.stream(special)).toArray();
    for (boolean checked : new boolean[] {true, false}) {
      var dense = new int[x.length];
      var sparse = new int[x.length];
      try (var device = new EmulatedDevice()) {
        var kernel = Kernels.of(SwitchesTest::both);
        kernel.on(device).checked(checked).launch(Dim3.of(1), x, dense, sparse);
      }
      for (int i = 0; i < x.length; i++) {
        assertThat(dense[i]).as("dense(%d)", x[i]).isEqualTo(dense(x[i]));
        assertThat(sparse[i]).as("sparse(%d)", x[i]).isEqualTo(sparse(x[i]));
      }
    }
  }

  @GpuKernel
  static void sixteen(int[] x) {
    x[0] =
        switch (x[0]) {
          case 0 -> 2;
          case 1 -> 3;
          case 2 -> 5;
          case 3 -> 7;
          case 4 -> 11;
          case 5 -> 13;
          case 6 -> 17;
          case 7 -> 19;
          case 8 -> 23;
          case 9 -> 29;
          case 10 -> 31;
          case 11 -> 37;
          case 12 -> 41;
          case 13 -> 43;
          case 14 -> 47;
          case 15 -> 53;
          default -> 1;
        };
  }

  @Test
  void compareALogarithmicNumberOfTimes() throws NoSuchMethodException {
    Method method = SwitchesTest.class.getDeclaredMethod("sixteen", int[].class);
    var graph = Lifter.lift(method, Optional.empty(), "sixteen", List.of(), false, false);
    // three halvings, then at most two comparisons
    assertThat(mostComparisons(graph.entry())).isEqualTo(5);
  }

  /** Returns the largest number of comparisons on a path to the end of a graph without loops. */
  private static long mostComparisons(Block block) {
    return block.body().stream().filter(value -> value.is(Op.COMPARE)).count()
        + block.successors().stream().mapToLong(SwitchesTest::mostComparisons).max().orElse(0);
  }
}
