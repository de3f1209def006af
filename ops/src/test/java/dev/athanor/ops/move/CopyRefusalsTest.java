package dev.athanor.ops.move;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.ops.OpException;
import dev.athanor.ops.Problem;
import dev.athanor.ops.Runner;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Error messages of strided copies. */
class CopyRefusalsTest {

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "permute | x=f32[2,3] axes=0,-2 | attribute \"axes\" is [0, -2], which names dimension 0 of x"
            + " twice; name each at most once",
        "permute | x=f32[2,3] axes=0 | attribute \"axes\" is [0]; give one value for each dimension of"
            + " x, 2 in all",
        "concat | x0=f32[2,3] x1=f32[2,4] | x0 has shape [2, 3] but x1 has [2, 4]; they must have"
            + " equal extents except in dimension 0",
        "split | x=f32[9] parts=6 | attribute \"parts\" is 6; 6 parts of extent 2, rounded up, leave"
            + " nothing of dimension 0 of x [9] for the last; give fewer parts, or \"sizes\"",
        "split | x=f32[9] parts=3 sizes=3,3,3 | attribute \"sizes\" is 3,3,3; give either \"sizes\" or"
            + " \"parts\"",
        "split | x=f32[9] sizes=4,4 | attribute \"sizes\" is 4,4; it must be at most 32 extents with"
            + " the sum 9, the extent of dimension 0 of x [9]",
        "slice | x=f32[9] starts=0 ends=3 steps=0 | attribute \"steps\" is 0; a step must not be 0",
        "slice | x=f32[9] starts=0,1 ends=3,3 | attribute \"starts\" is 0,1; give at most 1 values, as"
            + " x has shape [9]",
        "pad | x=f32[3] before=3 mode=reflect | attribute \"before\" is 3; mode reflect adds at most 2"
            + " on a side of dimension 0 of x [3]",
        "pad | x=f32[3] after=4 mode=wrap | attribute \"after\" is 4; mode wrap adds at most 3 on a"
            + " side of dimension 0 of x [3]",
        "pad | x=u8[3] after=4 value=256 | attribute \"value\" is 256.0, which u8 cannot represent;"
            + " give a number in its range",
        "pad | x=bool[3] after=4 value=0.5 | attribute \"value\" is 0.5, which bool cannot represent;"
            + " give a number in its range",
        "pad | x=f16[3] after=4 value=1e6 | attribute \"value\" is 1000000.0, which f16 cannot"
            + " represent; give a number in its range",
        "tile | x=u8[400000000000000000] repeats=100 | an extent of output \"y\" would exceed 2^63 - 1,"
            + " got x=u8[400000000000000000] repeats=100; give smaller extents",
        "expand | x=f32[3] shape=2 | attribute \"shape\" is 2; x has shape [3]; counted from the last,"
            + " each pair of extents must be equal or contain a 1",
        "roll | x=f32[3,4] shifts=1,2 | attribute \"shifts\" is 1,2; give \"axes\" too, or only one"
            + " shift",
        "roll | x=f32[3,4] shifts=1,2 axes=0 | attribute \"shifts\" is [1, 2]; give one value for each"
            + " value of \"axes\", 1 in all",
        "triangle | x=f32[3] | x has shape [3]; it must be […, R, C]",
        "depth-to-space | x=f32[1,6,2,2] block=2 | attribute \"block\" is 2; x has shape [1, 6, 2, 2];"
            + " its channels must be a multiple of block²",
        "space-to-depth | x=f32[1,6,2,3] block=2 | attribute \"block\" is 2; x has shape [1, 6, 2, 3];"
            + " its height and width must be multiples of block"
      })
  void namesWhatWouldBeRight(String op, String text, String message) {
    var problem = Problem.parse(Runner.op(op), text);
    assertThatThrownBy(
            () -> Runner.plans(problem.op(), problem.inputs(), problem.attributes().values()))
        .isInstanceOf(OpException.class)
        .hasMessage(message);
  }

  /** The number of launches is checked before they are planned. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "roll | x=u8[1099511627776,64] shifts=1,1 axes=0,1",
        "pad | x=u8[8388608,8388608] before=1,1",
        "tile | x=u8[1] repeats=1000000000000000",
        "expand | x=u8[1] shape=1000000000,1000000000"
      })
  void limitsLaunches(String op, String text) {
    var problem = Problem.parse(Runner.op(op), text);
    assertThatThrownBy(
            () -> Runner.plans(problem.op(), problem.inputs(), problem.attributes().values()))
        .isInstanceOf(OpException.TooLarge.class)
        .hasMessageMatching(
            "u8\\S+ as output \"y\" would require \\d+ launches; the maximum is 65536");
  }
}
