package dev.athanor.engine.ptx.table;

import static dev.athanor.engine.ptx.Semantics.LaneOperation.COMPARISON;
import static dev.athanor.engine.ptx.Semantics.LaneOperation.SELECTION;
import static dev.athanor.engine.ptx.table.Row.pure;

import dev.athanor.engine.ptx.InstructionForm;
import java.util.List;

/** Comparisons and selections (PTX ISA 9.7.6, 9.7.7). */
final class ComparisonRows {

  // spotless:off
  static final List<InstructionForm> ALL =
      Row.forms(
          // predicates
          pure(COMPARISON, "9.7.6.2", "1.0", 20, "setp.cmp{2.<and|or|xor>}.sint p:pred{1|q:pred}, a, b{2, c:pred}", "compare{2>combine}", "compare>not{2>combine}"),
          pure(COMPARISON, "9.7.6.2", "1.0", 20, "setp.ucmp{2.<and|or|xor>}.uint p:pred{1|q:pred}, a, b{2, c:pred}", "compareUnsigned{2>combine}", "compareUnsigned>not{2>combine}"),
          pure(COMPARISON, "9.7.6.2", "1.0", 20, "setp.<eq|ne>{2.<and|or|xor>}.bits p:pred{1|q:pred}, a, b{2, c:pred}", "compare{2>combine}", "compare>not{2>combine}"),
          pure(COMPARISON, "9.7.6.2", "1.0", 20, "setp.fcmp{2.<and|or|xor>}{.ftz}.f32 p:pred{1|q:pred}, a, b{2, c:pred}", "compare{2>combine}", "compare>not{2>combine}"),
          pure(COMPARISON, "9.7.6.2", "1.0", 20, "setp.fcmp{2.<and|or|xor>}.f64 p:pred{1|q:pred}, a, b{2, c:pred}", "compare{2>combine}", "compare>not{2>combine}"),

          // predicates of f16 and bf16
          pure(COMPARISON, "9.7.7.2", "4.2", 53, "setp.fcmp{1.<and|or|xor>}{.ftz}.f16 p:pred, a, b{1, c:pred}", "compare{1>combine}"),
          pure(COMPARISON, "9.7.7.2", "4.2", 53, "setp.fcmp{1.<and|or|xor>}{.ftz}.f16x2 p:pred|q:pred, a, b{1, c:pred}", "compare{1>combine}", "compare{1>combine}"),
          pure(COMPARISON, "9.7.7.2", "7.8", 90, "setp.fcmp{1.<and|or|xor>}.bf16 p:pred, a, b{1, c:predreg}", "compare{1>combine}"),
          pure(COMPARISON, "9.7.7.2", "7.8", 90, "setp.fcmp{1.<and|or|xor>}.bf16x2 p:pred|q:pred, a, b{1, c:predreg}", "compare{1>combine}", "compare{1>combine}"),

          // values
          pure(COMPARISON, "9.7.6.1", "1.0", 20, "set.cmp{1.<and|or|xor>}.<u32|s32>.sint d:first, a, b{1, c:pred}", "compare{1>combine}>toMask"),
          pure(COMPARISON, "9.7.6.1", "1.0", 20, "set.cmp{1.<and|or|xor>}.f32.sint d:first, a, b{1, c:pred}", "compare{1>combine}>oneIfTrue"),
          pure(COMPARISON, "9.7.6.1", "1.0", 20, "set.ucmp{1.<and|or|xor>}.<u32|s32>.uint d:first, a, b{1, c:pred}", "compareUnsigned{1>combine}>toMask"),
          pure(COMPARISON, "9.7.6.1", "1.0", 20, "set.ucmp{1.<and|or|xor>}.f32.uint d:first, a, b{1, c:pred}", "compareUnsigned{1>combine}>oneIfTrue"),
          pure(COMPARISON, "9.7.6.1", "1.0", 20, "set.<eq|ne>{1.<and|or|xor>}.<u32|s32>.bits d:first, a, b{1, c:pred}", "compare{1>combine}>toMask"),
          pure(COMPARISON, "9.7.6.1", "1.0", 20, "set.<eq|ne>{1.<and|or|xor>}.f32.bits d:first, a, b{1, c:pred}", "compare{1>combine}>oneIfTrue"),
          pure(COMPARISON, "9.7.6.1", "1.0", 20, "set.fcmp{1.<and|or|xor>}{.ftz}.<u32|s32>.f32 d:first, a, b{1, c:pred}", "compare{1>combine}>toMask"),
          pure(COMPARISON, "9.7.6.1", "1.0", 20, "set.fcmp{1.<and|or|xor>}{.ftz}.f32.f32 d:first, a, b{1, c:pred}", "compare{1>combine}>oneIfTrue"),
          pure(COMPARISON, "9.7.6.1", "1.0", 20, "set.fcmp{1.<and|or|xor>}.<u32|s32>.f64 d:first, a, b{1, c:pred}", "compare{1>combine}>toMask"),
          pure(COMPARISON, "9.7.6.1", "1.0", 20, "set.fcmp{1.<and|or|xor>}.f32.f64 d:first, a, b{1, c:pred}", "compare{1>combine}>oneIfTrue"),
          pure(COMPARISON, "9.7.7.1", "4.2", 53, "set.fcmp{1.<and|or|xor>}{.ftz}.f16.f16 d:first, a, b{1, c:pred}", "compare{1>combine}>oneIfTrue"),
          pure(COMPARISON, "9.7.7.1", "4.2", 53, "set.fcmp{1.<and|or|xor>}{.ftz}.f16x2.f16x2 d:first, a, b{1, c:pred}", "compare{1>combine}>oneIfTrue"),
          pure(COMPARISON, "9.7.7.1", "7.8", 90, "set.fcmp{1.<and|or|xor>}.bf16.bf16 d:first, a, b{1, c:predreg}", "compare{1>combine}>oneIfTrue"),
          pure(COMPARISON, "9.7.7.1", "7.8", 90, "set.fcmp{1.<and|or|xor>}.bf16x2.bf16x2 d:first, a, b{1, c:predreg}", "compare{1>combine}>oneIfTrue"),
          pure(COMPARISON, "9.7.7.1", "6.5", 53, "set.fcmp{1.<and|or|xor>}{.ftz}.<u16|s16|u32|s32>.f16 d:first, a, b{1, c:pred}", "compare{1>combine}>toMask"),
          pure(COMPARISON, "9.7.7.1", "4.2", 53, "set.cmp{1.<and|or|xor>}.f16.sint d:first, a, b{1, c:pred}", "compare{1>combine}>oneIfTrue"),
          pure(COMPARISON, "9.7.7.1", "4.2", 53, "set.ucmp{1.<and|or|xor>}.f16.uint d:first, a, b{1, c:pred}", "compareUnsigned{1>combine}>oneIfTrue"),
          pure(COMPARISON, "9.7.7.1", "4.2", 53, "set.<eq|ne>{1.<and|or|xor>}.f16.bits d:first, a, b{1, c:pred}", "compare{1>combine}>oneIfTrue"),
          pure(COMPARISON, "9.7.7.1", "4.2", 53, "set.fcmp{1.<and|or|xor>}{.ftz}.f16.f32 d:first, a, b{1, c:pred}", "compare{1>combine}>oneIfTrue"),
          pure(COMPARISON, "9.7.7.1", "4.2", 53, "set.fcmp{1.<and|or|xor>}.f16.f64 d:first, a, b{1, c:pred}", "compare{1>combine}>oneIfTrue"),
          pure(COMPARISON, "9.7.7.1", "7.8", 90, "set.cmp{1.<and|or|xor>}.bf16.sint d:first, a, b{1, c:predreg}", "compare{1>combine}>oneIfTrue"),
          pure(COMPARISON, "9.7.7.1", "7.8", 90, "set.ucmp{1.<and|or|xor>}.bf16.uint d:first, a, b{1, c:predreg}", "compareUnsigned{1>combine}>oneIfTrue"),
          pure(COMPARISON, "9.7.7.1", "7.8", 90, "set.<eq|ne>{1.<and|or|xor>}.bf16.bits d:first, a, b{1, c:predreg}", "compare{1>combine}>oneIfTrue"),
          pure(COMPARISON, "9.7.7.1", "7.8", 90, "set.fcmp{1.<and|or|xor>}.bf16.f16 d:first, a, b{1, c:predreg}", "compare{1>combine}>oneIfTrue"),
          pure(COMPARISON, "9.7.7.1", "7.8", 90, "set.fcmp{1.<and|or|xor>}.bf16.f32 d:first, a, b{1, c:predreg}", "compare{1>combine}>oneIfTrue"),
          pure(COMPARISON, "9.7.7.1", "7.8", 90, "set.fcmp{1.<and|or|xor>}.bf16.f64 d:first, a, b{1, c:predreg}", "compare{1>combine}>oneIfTrue"),
          pure(COMPARISON, "9.7.7.1", "7.8", 90, "set.fcmp{1.<and|or|xor>}.<u16|s16|u32|s32>.bf16 d:first, a, b{1, c:predreg}", "compare{1>combine}>toMask"),
          pure(COMPARISON, "9.7.7.1", "6.5", 53, "set.fcmp{1.<and|or|xor>}{.ftz}.<u32|s32>.f16x2 d:first, a, b{1, c:pred}", "compare{1>combine}>toMask"),
          pure(COMPARISON, "9.7.7.1", "7.8", 90, "set.fcmp{1.<and|or|xor>}.<u32|s32>.bf16x2 d:first, a, b{1, c:predreg}", "compare{1>combine}>toMask"),

          // selection
          pure(SELECTION, "9.7.6.3", "1.0", 20, "selp.any d, a, b, c:pred",                                       "select"),
          pure(SELECTION, "9.7.6.4", "1.0", 20, "slct.any.s32 d:first, a:first, b:first, c", "selectBySign"),
          pure(SELECTION, "9.7.6.4", "1.0", 20, "slct{.ftz}.any.f32 d:first, a:first, b:first, c", "selectBySign"));
  // spotless:on

  private ComparisonRows() {}
}
