package dev.athanor.engine.ptx.table;

import static dev.athanor.engine.ptx.InstructionForm.ErrorBound.absolute;
import static dev.athanor.engine.ptx.InstructionForm.ErrorBound.relative;
import static dev.athanor.engine.ptx.Semantics.LaneOperation.ARITHMETIC;
import static dev.athanor.engine.ptx.Semantics.LaneOperation.MIN_MAX;
import static dev.athanor.engine.ptx.Semantics.LaneOperation.MULTIPLY_ADD;
import static dev.athanor.engine.ptx.Semantics.LaneOperation.SPECIAL;
import static dev.athanor.engine.ptx.table.Row.pure;

import dev.athanor.engine.ptx.InstructionForm;
import java.util.List;

/** Scalar and packed instructions of f16 and bf16 (PTX ISA 9.7.4). */
final class HalfRows {

  // spotless:off
  static final List<InstructionForm> ALL =
      Row.forms(
          // arithmetic
          pure(ARITHMETIC, "9.7.4.1", "4.2", 53, "add{.rn}{.ftz}{.sat}.<f16|f16x2> d, a, b", "add"),
          pure(ARITHMETIC, "9.7.4.1", "7.8", 90, "add{.rn}.<bf16|bf16x2> d, a, b", "add"),
          pure(ARITHMETIC, "9.7.4.2", "4.2", 53, "sub{.rn}{.ftz}{.sat}.<f16|f16x2> d, a, b", "sub"),
          pure(ARITHMETIC, "9.7.4.2", "7.8", 90, "sub{.rn}.<bf16|bf16x2> d, a, b", "sub"),
          pure(ARITHMETIC, "9.7.4.3", "4.2", 53, "mul{.rn}{.ftz}{.sat}.<f16|f16x2> d, a, b", "mul"),
          pure(ARITHMETIC, "9.7.4.3", "7.8", 90, "mul{.rn}.<bf16|bf16x2> d, a, b", "product"),
          pure(MULTIPLY_ADD, "9.7.4.4", "4.2", 53, "fma.rn{.ftz}{.sat}.<f16|f16x2> d, a, b, c", "fmaToOdd"),
          pure(MULTIPLY_ADD, "9.7.4.4", "7.0", 80, "fma.rn{.ftz}.relu.<f16|f16x2> d, a, b, c", "fmaToOdd"),
          pure(MULTIPLY_ADD, "9.7.4.4", "7.0", 80, "fma.rn{.relu}.<bf16|bf16x2> d, a, b, c", "fmaToOdd"),
          pure("9.7.4.5", "5.1", 53, "neg{.ftz}.<f16|f16x2> d, a", "neg"),
          pure("9.7.4.5", "7.0", 80, "neg.<bf16|bf16x2> d, a", "neg"),
          pure("9.7.4.6", "6.5", 53, "abs{.ftz}.<f16|f16x2> d, a", "abs"),
          pure("9.7.4.6", "7.0", 80, "abs.<bf16|bf16x2> d, a", "abs"),
          pure(MIN_MAX, "9.7.4.7", "7.0", 80, "min{.ftz}.<f16|f16x2> d, a, b", "min"),
          pure(MIN_MAX, "9.7.4.7", "7.0", 80, "min{.ftz}.NaN.<f16|f16x2> d, a, b", "minOrNan"),
          pure("9.7.4.7", "7.2", 86, "min{.ftz}.xorsign.abs.<f16|f16x2> d, a, b", "minXorSign"),
          pure("9.7.4.7", "7.2", 86, "min{.ftz}.NaN.xorsign.abs.<f16|f16x2> d, a, b", "minOrNanXorSign"),
          pure(MIN_MAX, "9.7.4.7", "7.0", 80, "min.<bf16|bf16x2> d, a, b", "min"),
          pure(MIN_MAX, "9.7.4.7", "7.0", 80, "min.NaN.<bf16|bf16x2> d, a, b", "minOrNan"),
          pure("9.7.4.7", "7.2", 86, "min.xorsign.abs.<bf16|bf16x2> d, a, b", "minXorSign"),
          pure("9.7.4.7", "7.2", 86, "min.NaN.xorsign.abs.<bf16|bf16x2> d, a, b", "minOrNanXorSign"),
          pure(MIN_MAX, "9.7.4.8", "7.0", 80, "max{.ftz}.<f16|f16x2> d, a, b", "max"),
          pure(MIN_MAX, "9.7.4.8", "7.0", 80, "max{.ftz}.NaN.<f16|f16x2> d, a, b", "maxOrNan"),
          pure("9.7.4.8", "7.2", 86, "max{.ftz}.xorsign.abs.<f16|f16x2> d, a, b", "maxXorSign"),
          pure("9.7.4.8", "7.2", 86, "max{.ftz}.NaN.xorsign.abs.<f16|f16x2> d, a, b", "maxOrNanXorSign"),
          pure(MIN_MAX, "9.7.4.8", "7.0", 80, "max.<bf16|bf16x2> d, a, b", "max"),
          pure(MIN_MAX, "9.7.4.8", "7.0", 80, "max.NaN.<bf16|bf16x2> d, a, b", "maxOrNan"),
          pure("9.7.4.8", "7.2", 86, "max.xorsign.abs.<bf16|bf16x2> d, a, b", "maxXorSign"),
          pure("9.7.4.8", "7.2", 86, "max.NaN.xorsign.abs.<bf16|bf16x2> d, a, b", "maxOrNanXorSign"),
          pure(SPECIAL, "9.7.4.9", "7.0", 75, "tanh.approx.<f16|f16x2> d, a", "tanh").within(absolute(0x1p-10)),
          pure(SPECIAL, "9.7.4.9", "7.8", 90, "tanh.approx.<bf16|bf16x2> d, a", "tanh").within(absolute(0x1p-8)),
          pure(SPECIAL, "9.7.4.10", "7.0", 75, "ex2.approx.<f16|f16x2> d, a", "exp2").within(relative(0x1p-9)),
          pure(SPECIAL, "9.7.4.10", "7.8", 90, "ex2.approx.ftz.<bf16|bf16x2> d, a", "exp2").within(relative(0x1p-7)));
  // spotless:on

  private HalfRows() {}
}
