package dev.athanor.engine.ptx.table;

import static dev.athanor.engine.ptx.Semantics.LaneOperation.COMPARISON;
import static dev.athanor.engine.ptx.table.Row.pure;

import dev.athanor.engine.ptx.InstructionForm;
import java.util.List;

/** Comparison and selection (PTX ISA 9.7.6, 9.7.7). */
final class ComparisonRows {

  // spotless:off
  static final List<InstructionForm> ALL =
      List.of(
          // predicates
          pure(COMPARISON, "9.7.6.2", "1.0", 20, "setp.cmp.sint p:pred, a, b", "compare"),
          pure(COMPARISON, "9.7.6.2", "1.0", 20, "setp.cmp.sint p:pred|q:pred, a, b", "compare", "compare>not"),
          pure(COMPARISON, "9.7.6.2", "1.0", 20, "setp.cmp.<and|or|xor>.sint p:pred, a, b, c:pred", "compare>combine"),
          pure(COMPARISON, "9.7.6.2", "1.0", 20, "setp.cmp.<and|or|xor>.sint p:pred|q:pred, a, b, c:pred", "compare>combine", "compare>not>combine"),
          pure(COMPARISON, "9.7.6.2", "1.0", 20, "setp.ucmp.uint p:pred, a, b", "compareUnsigned"),
          pure(COMPARISON, "9.7.6.2", "1.0", 20, "setp.ucmp.uint p:pred|q:pred, a, b", "compareUnsigned", "compareUnsigned>not"),
          pure(COMPARISON, "9.7.6.2", "1.0", 20, "setp.ucmp.<and|or|xor>.uint p:pred, a, b, c:pred", "compareUnsigned>combine"),
          pure(COMPARISON, "9.7.6.2", "1.0", 20, "setp.ucmp.<and|or|xor>.uint p:pred|q:pred, a, b, c:pred", "compareUnsigned>combine", "compareUnsigned>not>combine"),
          pure(COMPARISON, "9.7.6.2", "1.0", 20, "setp.<eq|ne>.bits p:pred, a, b", "compare"),
          pure(COMPARISON, "9.7.6.2", "1.0", 20, "setp.<eq|ne>.bits p:pred|q:pred, a, b", "compare", "compare>not"),
          pure(COMPARISON, "9.7.6.2", "1.0", 20, "setp.<eq|ne>.<and|or|xor>.bits p:pred, a, b, c:pred", "compare>combine"),
          pure(COMPARISON, "9.7.6.2", "1.0", 20, "setp.<eq|ne>.<and|or|xor>.bits p:pred|q:pred, a, b, c:pred", "compare>combine", "compare>not>combine"),
          pure(COMPARISON, "9.7.6.2", "1.0", 20, "setp.fcmp{.ftz}.f32 p:pred, a, b", "compare"),
          pure(COMPARISON, "9.7.6.2", "1.0", 20, "setp.fcmp{.ftz}.f32 p:pred|q:pred, a, b", "compare", "compare>not"),
          pure(COMPARISON, "9.7.6.2", "1.0", 20, "setp.fcmp.<and|or|xor>{.ftz}.f32 p:pred, a, b, c:pred", "compare>combine"),
          pure(COMPARISON, "9.7.6.2", "1.0", 20, "setp.fcmp.<and|or|xor>{.ftz}.f32 p:pred|q:pred, a, b, c:pred", "compare>combine", "compare>not>combine"),
          pure(COMPARISON, "9.7.6.2", "1.0", 20, "setp.fcmp.f64 p:pred, a, b", "compare"),
          pure(COMPARISON, "9.7.6.2", "1.0", 20, "setp.fcmp.f64 p:pred|q:pred, a, b", "compare", "compare>not"),
          pure(COMPARISON, "9.7.6.2", "1.0", 20, "setp.fcmp.<and|or|xor>.f64 p:pred, a, b, c:pred", "compare>combine"),
          pure(COMPARISON, "9.7.6.2", "1.0", 20, "setp.fcmp.<and|or|xor>.f64 p:pred|q:pred, a, b, c:pred", "compare>combine", "compare>not>combine"),

          // predicates of f16 and bf16
          pure(COMPARISON, "9.7.7.2", "4.2", 53, "setp.fcmp{.ftz}.f16 p:pred, a, b", "compare"),
          pure(COMPARISON, "9.7.7.2", "4.2", 53, "setp.fcmp.<and|or|xor>{.ftz}.f16 p:pred, a, b, c:pred", "compare>combine"),
          pure(COMPARISON, "9.7.7.2", "4.2", 53, "setp.fcmp{.ftz}.f16x2 p:pred|q:pred, a, b", "compare", "compare"),
          pure(COMPARISON, "9.7.7.2", "4.2", 53, "setp.fcmp.<and|or|xor>{.ftz}.f16x2 p:pred|q:pred, a, b, c:pred", "compare>combine", "compare>combine"),
          pure(COMPARISON, "9.7.7.2", "7.8", 90, "setp.fcmp.bf16 p:pred, a, b", "compare"),
          pure(COMPARISON, "9.7.7.2", "7.8", 90, "setp.fcmp.<and|or|xor>.bf16 p:pred, a, b, c:predreg", "compare>combine"),
          pure(COMPARISON, "9.7.7.2", "7.8", 90, "setp.fcmp.bf16x2 p:pred|q:pred, a, b", "compare", "compare"),
          pure(COMPARISON, "9.7.7.2", "7.8", 90, "setp.fcmp.<and|or|xor>.bf16x2 p:pred|q:pred, a, b, c:predreg", "compare>combine", "compare>combine"),

          // values
          pure(COMPARISON, "9.7.6.1", "1.0", 20, "set.cmp.<u32|s32>.sint d:first, a, b", "compare>toMask"),
          pure(COMPARISON, "9.7.6.1", "1.0", 20, "set.cmp.f32.sint d:first, a, b", "compare>toOne"),
          pure(COMPARISON, "9.7.6.1", "1.0", 20, "set.cmp.<and|or|xor>.<u32|s32>.sint d:first, a, b, c:pred", "compare>combine>toMask"),
          pure(COMPARISON, "9.7.6.1", "1.0", 20, "set.cmp.<and|or|xor>.f32.sint d:first, a, b, c:pred", "compare>combine>toOne"),
          pure(COMPARISON, "9.7.6.1", "1.0", 20, "set.ucmp.<u32|s32>.uint d:first, a, b", "compareUnsigned>toMask"),
          pure(COMPARISON, "9.7.6.1", "1.0", 20, "set.ucmp.f32.uint d:first, a, b", "compareUnsigned>toOne"),
          pure(COMPARISON, "9.7.6.1", "1.0", 20, "set.ucmp.<and|or|xor>.<u32|s32>.uint d:first, a, b, c:pred", "compareUnsigned>combine>toMask"),
          pure(COMPARISON, "9.7.6.1", "1.0", 20, "set.ucmp.<and|or|xor>.f32.uint d:first, a, b, c:pred", "compareUnsigned>combine>toOne"),
          pure(COMPARISON, "9.7.6.1", "1.0", 20, "set.<eq|ne>.<u32|s32>.bits d:first, a, b", "compare>toMask"),
          pure(COMPARISON, "9.7.6.1", "1.0", 20, "set.<eq|ne>.f32.bits d:first, a, b", "compare>toOne"),
          pure(COMPARISON, "9.7.6.1", "1.0", 20, "set.<eq|ne>.<and|or|xor>.<u32|s32>.bits d:first, a, b, c:pred", "compare>combine>toMask"),
          pure(COMPARISON, "9.7.6.1", "1.0", 20, "set.<eq|ne>.<and|or|xor>.f32.bits d:first, a, b, c:pred", "compare>combine>toOne"),
          pure(COMPARISON, "9.7.6.1", "1.0", 20, "set.fcmp{.ftz}.<u32|s32>.f32 d:first, a, b", "compare>toMask"),
          pure(COMPARISON, "9.7.6.1", "1.0", 20, "set.fcmp{.ftz}.f32.f32 d:first, a, b", "compare>toOne"),
          pure(COMPARISON, "9.7.6.1", "1.0", 20, "set.fcmp.<and|or|xor>{.ftz}.<u32|s32>.f32 d:first, a, b, c:pred", "compare>combine>toMask"),
          pure(COMPARISON, "9.7.6.1", "1.0", 20, "set.fcmp.<and|or|xor>{.ftz}.f32.f32 d:first, a, b, c:pred", "compare>combine>toOne"),
          pure(COMPARISON, "9.7.6.1", "1.0", 20, "set.fcmp.<u32|s32>.f64 d:first, a, b", "compare>toMask"),
          pure(COMPARISON, "9.7.6.1", "1.0", 20, "set.fcmp.f32.f64 d:first, a, b", "compare>toOne"),
          pure(COMPARISON, "9.7.6.1", "1.0", 20, "set.fcmp.<and|or|xor>.<u32|s32>.f64 d:first, a, b, c:pred", "compare>combine>toMask"),
          pure(COMPARISON, "9.7.6.1", "1.0", 20, "set.fcmp.<and|or|xor>.f32.f64 d:first, a, b, c:pred", "compare>combine>toOne"),
          pure(COMPARISON, "9.7.7.1", "4.2", 53, "set.fcmp{.ftz}.f16.f16 d:first, a, b", "compare>toOne"),
          pure(COMPARISON, "9.7.7.1", "4.2", 53, "set.fcmp{.ftz}.f16x2.f16x2 d:first, a, b", "compare>toOne"),
          pure(COMPARISON, "9.7.7.1", "7.8", 90, "set.fcmp.bf16.bf16 d:first, a, b", "compare>toOne"),
          pure(COMPARISON, "9.7.7.1", "7.8", 90, "set.fcmp.bf16x2.bf16x2 d:first, a, b", "compare>toOne"),
          pure(COMPARISON, "9.7.7.1", "6.5", 53, "set.fcmp{.ftz}.<u16|s16|u32|s32>.f16 d:first, a, b", "compare>toMask"),
          pure(COMPARISON, "9.7.7.1", "4.2", 53, "set.fcmp.<and|or|xor>{.ftz}.f16.f16 d:first, a, b, c:pred", "compare>combine>toOne"),
          pure(COMPARISON, "9.7.7.1", "4.2", 53, "set.fcmp.<and|or|xor>{.ftz}.f16x2.f16x2 d:first, a, b, c:pred", "compare>combine>toOne"),
          pure(COMPARISON, "9.7.7.1", "7.8", 90, "set.fcmp.<and|or|xor>.bf16.bf16 d:first, a, b, c:predreg", "compare>combine>toOne"),
          pure(COMPARISON, "9.7.7.1", "7.8", 90, "set.fcmp.<and|or|xor>.bf16x2.bf16x2 d:first, a, b, c:predreg", "compare>combine>toOne"),
          pure(COMPARISON, "9.7.7.1", "6.5", 53, "set.fcmp.<and|or|xor>{.ftz}.<u16|s16|u32|s32>.f16 d:first, a, b, c:pred", "compare>combine>toMask"),
          pure(COMPARISON, "9.7.7.1", "4.2", 53, "set.cmp.f16.sint d:first, a, b", "compare>toOne"),
          pure(COMPARISON, "9.7.7.1", "4.2", 53, "set.cmp.<and|or|xor>.f16.sint d:first, a, b, c:pred", "compare>combine>toOne"),
          pure(COMPARISON, "9.7.7.1", "4.2", 53, "set.ucmp.f16.uint d:first, a, b", "compareUnsigned>toOne"),
          pure(COMPARISON, "9.7.7.1", "4.2", 53, "set.ucmp.<and|or|xor>.f16.uint d:first, a, b, c:pred", "compareUnsigned>combine>toOne"),
          pure(COMPARISON, "9.7.7.1", "4.2", 53, "set.<eq|ne>.f16.bits d:first, a, b", "compare>toOne"),
          pure(COMPARISON, "9.7.7.1", "4.2", 53, "set.<eq|ne>.<and|or|xor>.f16.bits d:first, a, b, c:pred", "compare>combine>toOne"),
          pure(COMPARISON, "9.7.7.1", "4.2", 53, "set.fcmp{.ftz}.f16.f32 d:first, a, b", "compare>toOne"),
          pure(COMPARISON, "9.7.7.1", "4.2", 53, "set.fcmp.<and|or|xor>{.ftz}.f16.f32 d:first, a, b, c:pred", "compare>combine>toOne"),
          pure(COMPARISON, "9.7.7.1", "4.2", 53, "set.fcmp.f16.f64 d:first, a, b", "compare>toOne"),
          pure(COMPARISON, "9.7.7.1", "4.2", 53, "set.fcmp.<and|or|xor>.f16.f64 d:first, a, b, c:pred", "compare>combine>toOne"),
          pure(COMPARISON, "9.7.7.1", "7.8", 90, "set.cmp.bf16.sint d:first, a, b", "compare>toOne"),
          pure(COMPARISON, "9.7.7.1", "7.8", 90, "set.cmp.<and|or|xor>.bf16.sint d:first, a, b, c:predreg", "compare>combine>toOne"),
          pure(COMPARISON, "9.7.7.1", "7.8", 90, "set.ucmp.bf16.uint d:first, a, b", "compareUnsigned>toOne"),
          pure(COMPARISON, "9.7.7.1", "7.8", 90, "set.ucmp.<and|or|xor>.bf16.uint d:first, a, b, c:predreg", "compareUnsigned>combine>toOne"),
          pure(COMPARISON, "9.7.7.1", "7.8", 90, "set.<eq|ne>.bf16.bits d:first, a, b", "compare>toOne"),
          pure(COMPARISON, "9.7.7.1", "7.8", 90, "set.<eq|ne>.<and|or|xor>.bf16.bits d:first, a, b, c:predreg", "compare>combine>toOne"),
          pure(COMPARISON, "9.7.7.1", "7.8", 90, "set.fcmp.bf16.f32 d:first, a, b", "compare>toOne"),
          pure(COMPARISON, "9.7.7.1", "7.8", 90, "set.fcmp.<and|or|xor>.bf16.f32 d:first, a, b, c:predreg", "compare>combine>toOne"),
          pure(COMPARISON, "9.7.7.1", "7.8", 90, "set.fcmp.bf16.f64 d:first, a, b", "compare>toOne"),
          pure(COMPARISON, "9.7.7.1", "7.8", 90, "set.fcmp.<and|or|xor>.bf16.f64 d:first, a, b, c:predreg", "compare>combine>toOne"),
          pure(COMPARISON, "9.7.7.1", "7.8", 90, "set.fcmp.<u16|s16|u32|s32>.bf16 d:first, a, b", "compare>toMask"),
          pure(COMPARISON, "9.7.7.1", "7.8", 90, "set.fcmp.<and|or|xor>.<u16|s16|u32|s32>.bf16 d:first, a, b, c:predreg", "compare>combine>toMask"),
          pure(COMPARISON, "9.7.7.1", "6.5", 53, "set.fcmp{.ftz}.<u32|s32>.f16x2 d:first, a, b", "compare>toMask"),
          pure(COMPARISON, "9.7.7.1", "6.5", 53, "set.fcmp.<and|or|xor>{.ftz}.<u32|s32>.f16x2 d:first, a, b, c:pred", "compare>combine>toMask"),
          pure(COMPARISON, "9.7.7.1", "7.8", 90, "set.fcmp.<u32|s32>.bf16x2 d:first, a, b", "compare>toMask"),
          pure(COMPARISON, "9.7.7.1", "7.8", 90, "set.fcmp.<and|or|xor>.<u32|s32>.bf16x2 d:first, a, b, c:predreg", "compare>combine>toMask"),

          // selection
          pure("9.7.6.3",     "1.0", 20, "selp.any d, a, b, c:pred",                                          "select"),
          pure("9.7.6.4", "1.0", 20, "slct.any.s32 d:first, a:first, b:first, c", "selectBySign"),
          pure("9.7.6.4", "1.0", 20, "slct{.ftz}.any.f32 d:first, a:first, b:first, c", "selectBySign"));
  // spotless:on

  private ComparisonRows() {}
}
