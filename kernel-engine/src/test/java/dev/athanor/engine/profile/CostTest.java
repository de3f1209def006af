package dev.athanor.engine.profile;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.analysis.Ceilings.Tensor;
import dev.athanor.engine.profile.Cost.Unit;
import dev.athanor.engine.ptx.table.TableWalk;
import dev.athanor.engine.ptx.text.Parser;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CostTest {

  private static Cost of(String instruction) {
    var text =
        """
        .version 8.0
        .target sm_90
        .address_size 64
        .visible .entry k(.param .u64 in)
        {
        .reg .pred %%p<4>; .reg .b16 %%rs<4>; .reg .b32 %%r<9>; .reg .b64 %%rd<4>;
        .reg .f32 %%f<9>; .reg .f64 %%fd<4>;
        %s;
        }
        """
            .formatted(instruction);
    return Cost.of(
        Parser.parse(text, "k.ptx").kernels().getFirst().instructions().findFirst().orElseThrow());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          add.f32 %f0, %f1, %f2                      | F32        | 1 | 1
          fma.rn.f32 %f0, %f1, %f2, %f3              | F32        | 1 | 2
          mul.f64 %fd0, %fd1, %fd2                   | F64        | 1 | 1
          fma.rn.f64 %fd0, %fd1, %fd2, %fd3          | F64        | 1 | 2
          fma.rn.f16x2 %r0, %r1, %r2, %r3            | F16        | 2 | 4
          add.bf16 %rs0, %rs1, %rs2                  | F16        | 1 | 1
          ex2.approx.ftz.f32 %f0, %f1                | SPECIAL    | 1 | 1
          tanh.approx.f16x2 %r0, %r1                 | SPECIAL    | 2 | 2
          div.rn.f64 %fd0, %fd1, %fd2                | F64        | 1 | 1
          max.f32 %f0, %f1, %f2                      | INTEGER    | 1 | 0
          mad.lo.s32 %r0, %r1, %r2, %r3              | INTEGER    | 1 | 0
          setp.lt.s32 %p0, %r1, %r2                  | INTEGER    | 1 | 0
          cvt.rn.f16.f32 %rs0, %f1                   | CONVERSION | 1 | 0
          mov.f32 %f0, %f1                           | NONE       | 1 | 0
          ld.param.u64 %rd0, [in]                    | NONE       | 1 | 0
          ld.global.f32 %f0, [%rd0]                  | MEMORY     | 1 | 0
          ld.f32 %f0, [%rd0]                         | MEMORY     | 1 | 0
          cp.async.commit_group                      | MEMORY     | 1 | 0
          shfl.sync.bfly.b32 %r0, %r1, 1, 31, -1     | WARP       | 1 | 0
          bar.sync 0                                 | CONTROL    | 1 | 0
          ret                                        | CONTROL    | 1 | 0
          """)
  void anInstructionHasAUnit(String instruction, Unit unit, int results, long flops) {
    assertThat(of(instruction)).isEqualTo(new Cost(unit, results, flops, null));
  }

  @Test
  void everySpellingHasACost() {
    for (var instruction : TableWalk.spellings()) {
      assertThat(Cost.of(instruction).results()).as(instruction.toString()).isPositive();
    }
  }

  private static void isMatrix(String instruction, long flops, Tensor tensor) {
    assertThat(of(instruction)).isEqualTo(new Cost(Unit.TENSOR, 1, flops, tensor));
  }

  @Test
  void matrixProductsCountMultiplyAdds() {
    var operands = " {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f4,%f5,%f6,%f7}";
    isMatrix(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" + operands,
        2 * 16 * 8 * 16,
        Tensor.F16);
    isMatrix(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32" + operands,
        2 * 16 * 8 * 16,
        Tensor.BF16);
  }

  @Test
  void everySpellingHasAUnit() {
    for (var instruction : TableWalk.spellings()) {
      var cost = Cost.of(instruction);
      assertThat(cost.results()).as(instruction.toString()).isPositive();
      assertThat(cost.flops()).as(instruction.toString()).isNotNegative();
      assertThat(cost.tensor() != null)
          .as(instruction.toString())
          .isEqualTo(cost.unit() == Unit.TENSOR);
    }
  }
}
