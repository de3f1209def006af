package dev.athanor.ops.linear.dense;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.ops.OpException;
import dev.athanor.ops.Problem;
import dev.athanor.ops.Runner;
import dev.athanor.ops.TestDevices;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MatmulFp8Test {

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "a=e4m3[8,300] b=e4m3[300,200] aScale=f32[8,3] bScale=f32[2,3] blockScales=true"
            + "|blockScales requires transposeB and the inputs aScale and bScale, got"
            + " transposeB=false and [aScale, bScale]",
        "a=e4m3[8,300] b=e4m3[200,300] scale=f32[] transposeB=true blockScales=true"
            + "|blockScales requires transposeB and the inputs aScale and bScale, got"
            + " transposeB=true and [scale]",
        "a=e4m3[8,300] b=e4m3[200,300] aScale=f32[8] bScale=f32[200] scale=f32[] transposeB=true"
            + "|either scale alone or both aScale and bScale must be given, got"
            + " [scale, aScale, bScale]",
        "a=e4m3[8,300] b=e4m3[200,300] aScale=f32[8,2] bScale=f32[2,2] transposeB=true blockScales=true"
            + "|aScale [8, 2] has GK = 2; it must be 3, which is K = 300 divided by 128 and rounded up",
        "a=e4m3[8,300] b=e4m3[200,300] aScale=f32[8,3] bScale=f32[3,3] transposeB=true blockScales=true"
            + "|bScale [3, 3] has GN = 3; it must be 2, which is N = 200 divided by 128 and rounded up",
        "a=e4m3[8,300] b=e4m3[200,300] bias=f16[200] transposeB=true outDtype=bf16"
            + "|bias is f16 but c is bf16; it must be that or f32"
      })
  void rejectsScalesThatDoNotFit(String text, String message) {
    var op = Runner.op("matmul-fp8");
    assertThatThrownBy(
            () -> {
              var problem = Problem.parse(op, text);
              op.plans(problem.inputs(), problem.attributes(), TestDevices.H200);
            })
        .isInstanceOf(OpException.class)
        .hasMessage(message);
  }
}
