package dev.athanor.ops.move;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.Runner;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tensors;
import java.util.Map;
import java.util.Random;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Compares copies with the results of NumPy and of the ONNX operators. */
class CopiesTest {

  /** The elements of x are 0, 1, 2, … */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "permute | x=i32[2,3] | 0 3 1 4 2 5",
        "permute | x=i32[2,1,3] axes=2,0,1 | 0 3 1 4 2 5",
        "slice | x=i32[6] starts=-4 ends=-1 | 2 3 4",
        "slice | x=i32[6] starts=-100 ends=100 steps=4 | 0 4",
        "slice | x=i32[6] starts=100 ends=-100 steps=-2 | 5 3 1",
        "slice | x=i32[6] starts=-2 ends=0 steps=-1 | 4 3 2 1",
        "slice | x=i32[2,3] starts=1 ends=9007199254740992 axes=-1 | 1 2 4 5",
        "slice | x=i32[5] starts=4 ends=5 steps=9007199254740992 | 4",
        "pad | x=i32[3] before=2 after=1 value=7 | 7 7 0 1 2 7",
        "pad | x=i32[3] before=2 after=2 mode=reflect | 2 1 0 1 2 1 0",
        "pad | x=i32[3] before=2 after=4 mode=edge | 0 0 0 1 2 2 2 2 2",
        "pad | x=i32[3] before=2 after=3 mode=wrap | 1 2 0 1 2 0 1 2",
        "pad | x=i32[2,2] before=1,0 after=0,1 mode=reflect | 2 3 2 0 1 0 2 3 2",
        "pad | x=i64[1] before=1 value=-9007199254740992 | -9007199254740992 0",
        "pad | x=i8[1] before=1 value=-128 | -128 0",
        "pad | x=f16[1] after=1 value=-0.3333 | 0 -0.333251953125",
        "pad | x=e4m3[1] after=1 value=-1.7 | 0 -1.75",
        "pad | x=u32[1] after=1 value=4294967295 | 0 4294967295",
        "tile | x=i32[2] repeats=2,2 | 0 1 0 1 0 1 0 1",
        "tile | x=i32[2,1] repeats=2 | 0 0 1 1",
        "expand | x=i32[2,1] shape=3 | 0 0 0 1 1 1",
        "expand | x=i32[3] shape=2,1 | 0 1 2 0 1 2",
        "roll | x=i32[5] shifts=2 | 3 4 0 1 2",
        "roll | x=i32[2,3] shifts=1 | 5 0 1 2 3 4",
        "roll | x=i32[2,3] shifts=1,-1 axes=0,1 | 4 5 3 1 2 0",
        "flip | x=i32[2,3] | 5 4 3 2 1 0",
        "flip | x=i32[2,3] axes=0 | 3 4 5 0 1 2",
        "triangle | x=i32[2,3] diagonal=-1 | 0 0 0 3 0 0",
        "triangle | x=i32[2,3] part=upper | 0 1 2 0 4 5",
        "depth-to-space | x=i32[1,4,1,2] block=2 | 0 2 1 3 4 6 5 7",
        "depth-to-space | x=i32[1,8,1,1] block=2 | 0 2 4 6 1 3 5 7",
        "depth-to-space | x=i32[1,8,1,1] block=2 mode=CRD | 0 1 2 3 4 5 6 7",
        "space-to-depth | x=i32[1,2,2,2] block=2 | 0 4 1 5 2 6 3 7",
        "space-to-depth | x=i32[1,2,2,2] block=2 mode=CRD | 0 1 2 3 4 5 6 7"
      })
  void matchesNumpyAndOnnx(String op, String text, String expected) {
    var problem = Problem.parse(Runner.op(op), text);
    var type = problem.inputs().values().iterator().next();
    var numbers = LongStream.range(0, type.shape().elements()).asDoubleStream().toArray();
    var plan = Runner.plans(problem.op(), problem.inputs(), problem.attributes().values());
    var y = Runner.run(plan.getFirst(), Map.of("x", HostTensor.of(type, numbers)), "y");
    assertThat(y.toDoubles())
        .containsExactly(
            Stream.of(expected.split(" ", -1)).mapToDouble(Double::parseDouble).toArray());
  }

  /** ONNX's Split gives the last part the rest. */
  @Test
  void splitsUnevenly() {
    var x = HostTensor.of(TensorType.of(DType.I32, 5), 0, 1, 2, 3, 4);
    var parts = Runner.run(Runner.op("split"), Map.of("x", x), Map.of("parts", 3));
    assertThat(parts).hasSize(3);
    assertThat(Tensors.get(parts, "y0").toDoubles()).containsExactly(0, 1);
    assertThat(Tensors.get(parts, "y2").toDoubles()).containsExactly(4);
  }

  /** A permutation of wide rows is a copy of rows, one of matrices uses tiles. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "permute | x=bf16[2,64,8,128] axes=0,2,1,3 | copy_i16_r4_a_v8",
        "permute | x=bf16[8,64,64,32] axes=0,3,1,2 | transpose_b16_v8_v8",
        "permute | x=bf16[8,64,64,3] axes=0,3,1,2 | copy_i16_r3_s_v1",
        "concat | x0=f16[5,16] x1=f16[5,8] axis=1 | copy_i16_r2_a_to_a_v8",
        "concat | x0=f16[5,16] x1=f16[3,16] | copy_i16_v8",
        "split | x=f32[5,12] axis=1 sizes=4,8 | copy_i32_r2_a_v4",
        "flip | x=f32[5,12] axes=0 | copy_i32_r2_a_v4",
        "flip | x=f32[5,12] axes=1 | copy_i32_r2_s_v1",
        "tile | x=u8[3,16] repeats=1,4 | copy_u8_r3_a_v16",
        "expand | x=f64[3,1] shape=3,8 | copy_i64_r2_n_v2"
      })
  void choosesKernels(String op, String text, String kernel) {
    var problem = Problem.parse(Runner.op(op), text);
    var plans = Runner.plans(problem.op(), problem.inputs(), problem.attributes().values());
    assertThat(plans.getFirst().kernel()).isEqualTo(kernel);
  }

  /** The launches of a triangle cover whole matrices or parts of one. */
  @ParameterizedTest
  @CsvSource({"24, 15", "70, 6", "130, 2"})
  void trianglesMatchInSeveralLaunches(long most, int launches) {
    var type = TensorType.of(DType.F32, 3, 5, 12);
    var x = new Draw(new Random(1)).normal(0, 1, type);
    var inputs = Map.of("x", x);
    var variant = new TriangleVariant(4, true, 4);
    var steps = TriangleOp.steps(type, variant, -1, most);
    assertThat(steps).hasSizeLessThanOrEqualTo(launches).hasSizeGreaterThan(1);
    var plan =
        new LaunchPlan(
            variant.name(), Map.of("y", type), steps, 0, new Plan.Cost(0, 1), "several launches");
    assertThat(Runner.run(plan, inputs, "y").toDoubles())
        .containsExactly(
            Runner.run(Runner.op("triangle"), inputs, Map.of("diagonal", -1, "part", "upper"), "y")
                .toDoubles());
  }
}
