package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.text.Parser;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code stmatrix} and {@code movmatrix}, and the arithmetic of products. */
class MatrixMovesTest {

  /** Row 8m + r of the result is row r of matrix m, with the columns of the fragments. */
  @ParameterizedTest
  @ValueSource(strings = {"", ".trans"})
  void stmatrixStoresRowsAtLaneAddresses(String transposed) {
    try (var rig = new Rig();
        var out = rig.ints(new int[128]);
        var in = rig.ints(0)) {
      // lane l provides the address of row l; its register m holds elements 1000 m + 2 l and 1000 m
      // + 2 l + 1
      rig.run(
          """
          mov.u32 %%r5, tile; shl.b32 %%r6, %%r0, 4; add.u32 %%r5, %%r5, %%r6;
          shl.b32 %%r7, %%r0, 1; add.u32 %%r8, %%r7, 1; shl.b32 %%r8, %%r8, 16;
          or.b32 %%r10, %%r7, %%r8;
          add.u32 %%r11, %%r10, 0x03E803E8; add.u32 %%r12, %%r11, 0x03E803E8;
          add.u32 %%r13, %%r12, 0x03E803E8;
          stmatrix.sync.aligned.m8n8.x4%s.shared.b16 [%%r5], {%%r10, %%r11, %%r12, %%r13};
          bar.warp.sync -1;
          ld.shared.v4.u32 {%%r14, %%r15, %%r16, %%r17}, [%%r5];
          mul.wide.u32 %%rd5, %%r0, 16; add.u64 %%rd5, %%rd5, %%rd0;
          st.global.v4.u32 [%%rd5], {%%r14, %%r15, %%r16, %%r17};
          """
              .formatted(transposed),
          Dim3.of(1),
          Dim3.of(32),
          out,
          in,
          0);
      var words = rig.read(out);
      for (int m = 0; m < 4; m++) {
        for (int r = 0; r < 8; r++) {
          for (int column = 0; column < 8; column++) {
            int lane = 8 * m + r;
            int word = words[4 * lane + column / 2];
            int row = transposed.isEmpty() ? r : column;
            int place = transposed.isEmpty() ? column : r;
            assertThat((word >>> (16 * (column % 2))) & 0xFFFF)
                .as("matrix %d, row %d, column %d", m, r, column)
                .isEqualTo(1000 * m + 8 * row + place);
          }
        }
      }
    }
  }

  @Test
  void movmatrixTransposes() {
    try (var rig = new Rig()) {
      var words =
          rig.run(
              """
              shl.b32 %r7, %r0, 1; add.u32 %r8, %r7, 1; shl.b32 %r8, %r8, 16; or.b32 %r10, %r7, %r8;
              movmatrix.sync.aligned.m8n8.trans.b16 %r11, %r10;
              st.global.u32 [%rd2], %r11;
              """,
              1, 32);
      for (int lane = 0; lane < 32; lane++) {
        for (int half = 0; half < 2; half++) {
          int row = lane / 4;
          int column = lane % 4 * 2 + half;
          assertThat((words[lane] >>> (16 * half)) & 0xFFFF)
              .as("row %d, column %d", row, column)
              .isEqualTo(8 * column + row);
        }
      }
    }
  }

  /** Adds -1, 1 and 2^-25; the last is below the precision of Ampere's sums. */
  @Test
  void targetSelectsTheArithmetic() {
    assertThat(sum(Target.SM_80)).isZero();
    assertThat(sum(Target.SM_90)).isEqualTo(0x1p-25f);
  }

  private static float sum(Target target) {
    var text =
        """
        .version 7.0
        .target sm_80
        .address_size 64
        .visible .entry test(.param .u64 out)
        {
        .reg .pred %p<1>; .reg .b32 %r<4>; .reg .b64 %rd<2>; .reg .f32 %f<6>;
        ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x; setp.ne.u32 %p0, %r0, 0;
        mov.u32 %r1, 0x0C003C00; mov.u32 %r2, 0x08003C00; mov.u32 %r3, 0;
        @%p0 mov.u32 %r1, 0; @%p0 mov.u32 %r2, 0;
        mov.f32 %f0, 0fBF800000; mov.f32 %f1, 0f00000000;
        mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
          {%f2, %f3, %f4, %f5}, {%r1, %r3, %r3, %r3}, {%r2, %r3}, {%f0, %f1, %f1, %f1};
        mul.wide.u32 %rd1, %r0, 4; add.u64 %rd0, %rd0, %rd1;
        st.global.f32 [%rd0], %f2;
        ret;
        }
        """;
    try (var rig = new Rig(EmulatorOptions.DEFAULT.withTarget(target));
        var out = rig.ints(new int[32]);
        var stream = rig.device().openStream()) {
      stream.launch(
          new Launch(
              rig.device().load(Parser.parse(text, "sum.ptx"), "test"),
              Dim3.of(1),
              Dim3.of(32),
              0,
              List.of(Argument.of(out))));
      stream.synchronize();
      return Float.intBitsToFloat(rig.read(out)[0]);
    }
  }
}
