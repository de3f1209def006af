package dev.athanor.engine.ptx;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.ptx.table.TableWalk;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PipeTest {

  private static final List<Statement.Instruction> SPELLINGS = TableWalk.spellings();

  @ParameterizedTest
  @CsvSource({
    "FMA, fma.rn.f32 add.f32 mul.lo.s32 mad.wide.u32 div.rn.f32 dp4a.s32.s32",
    "HALF, fma.rn.f16x2 add.rn.bf16 min.f16 setp.lt.f16x2",
    "FP64, fma.rn.f64 div.rn.f64 setp.lt.f64 max.f64",
    "ALU, add.s32 shl.b32 setp.lt.f32 lop3.b32 selp.f64 mov.f64 min.f32 cvt.u64.u32 prmt.b32",
    "MUFU, ex2.approx.f32 rcp.approx.f32 div.approx.f32 tanh.approx.f16 popc.b32 redux.sync.add.u32",
    "CONVERSION, cvt.rn.f16.f32 cvt.rzi.s32.f32 cvt.f64.f32",
    "LSU, ld.global.u32 st.shared.v4.f32 shfl.sync.idx.b32 atom.global.add.u32 cp.async.wait_all"
        + " stmatrix.sync.aligned.m8n8.x4.shared.b16 wmma.load.a.sync.aligned.row.m16n16k16.f16",
    "TENSOR, mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    "CONTROL, bra ret bar.sync call vote.sync.all.pred bar.warp.sync",
    "NONE, ld.param.u64 ld.const.f32 cvta.to.global.u64 prefetch.global.L2"
  })
  void instructionsHaveTheirPipe(Pipe pipe, String opcodes) {
    for (var opcode : opcodes.split(" ", -1)) {
      var spellings = SPELLINGS.stream().filter(i -> i.opcode().equals(opcode)).toList();
      assertThat(spellings).as(opcode).isNotEmpty();
      for (var spelling : spellings) {
        assertThat(spelling.form().pipe(spelling.modifiers()))
            .as(spelling.toString())
            .isEqualTo(pipe);
      }
    }
  }

  @Test
  void everyPipeIsThePipeOfSomething() {
    var opcodes = new EnumMap<Pipe, TreeSet<String>>(Pipe.class);
    for (var i : SPELLINGS) {
      opcodes
          .computeIfAbsent(i.form().pipe(i.modifiers()), _ -> new TreeSet<>())
          .add(i.form().mnemonic());
    }
    assertThat(opcodes.keySet()).containsExactlyInAnyOrderElementsOf(Arrays.asList(Pipe.values()));
  }
}
