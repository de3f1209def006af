package dev.athanor.engine.ptx.table;

import static dev.athanor.engine.ptx.InstructionForm.ErrorBound.relative;
import static dev.athanor.engine.ptx.Semantics.LaneOperation.ARITHMETIC;
import static dev.athanor.engine.ptx.Semantics.LaneOperation.CLASSIFICATION;
import static dev.athanor.engine.ptx.Semantics.LaneOperation.DIVISION;
import static dev.athanor.engine.ptx.Semantics.LaneOperation.MIN_MAX;
import static dev.athanor.engine.ptx.Semantics.LaneOperation.MULTIPLY_ADD;
import static dev.athanor.engine.ptx.Semantics.LaneOperation.SPECIAL;
import static dev.athanor.engine.ptx.table.Row.pure;

import dev.athanor.engine.ptx.InstructionForm;
import dev.athanor.engine.ptx.InstructionForm.ErrorBound;
import java.util.List;

/** Instructions of f32 and f64 (PTX ISA 9.7.3). */
final class FloatRows {

  // spotless:off
  static final List<InstructionForm> ALL =
      Row.forms(
          // rounded to nearest, and approximate
          pure(ARITHMETIC, "9.7.3.3",     "1.0", 20, "add{.rn}{.ftz}{.sat}.f32 d, a, b",                                  "add"),
          pure(ARITHMETIC, "9.7.3.3",     "1.0", 20, "add{.rn}.f64 d, a, b",                                              "add"),
          pure(ARITHMETIC, "9.7.3.4",     "1.0", 20, "sub{.rn}{.ftz}{.sat}.f32 d, a, b",                                  "sub"),
          pure(ARITHMETIC, "9.7.3.4",     "1.0", 20, "sub{.rn}.f64 d, a, b",                                              "sub"),
          pure(ARITHMETIC, "9.7.3.5",     "1.0", 20, "mul{.rn}{.ftz}{.sat}.f32 d, a, b",                                  "mul"),
          pure(ARITHMETIC, "9.7.3.5",     "1.0", 20, "mul{.rn}.f64 d, a, b",                                              "mul"),
          pure(MULTIPLY_ADD, "9.7.3.6",     "2.0", 20, "fma.rn{.ftz}{.sat}.f32 d, a, b, c",                                 "fma"),
          pure(MULTIPLY_ADD, "9.7.3.6",     "2.0", 20, "fma.rn.f64 d, a, b, c",                                             "fma"),
          pure(DIVISION, "9.7.3.8",     "1.4", 20, "div.rn{.ftz}.f32 d, a, b",                                          "div"),
          pure(DIVISION, "9.7.3.8",     "1.4", 20, "div.rn.f64 d, a, b",                                                "div"),
          pure("9.7.3.9",     "1.0", 20, "abs{.ftz}.f32 d, a",                                                "abs"),
          pure("9.7.3.9",     "1.0", 20, "abs.f64 d, a",                                                      "abs"),
          pure("9.7.3.10",    "1.0", 20, "neg{.ftz}.f32 d, a",                                                "neg"),
          pure("9.7.3.10",    "1.0", 20, "neg.f64 d, a",                                                      "neg"),
          pure(MIN_MAX, "9.7.3.11",    "1.0", 20, "min{.ftz}.f32 d, a, b",                                             "min"),
          pure(MIN_MAX, "9.7.3.11",    "1.0", 20, "min.f64 d, a, b",                                                   "min"),
          pure(MIN_MAX, "9.7.3.12",    "1.0", 20, "max{.ftz}.f32 d, a, b",                                             "max"),
          pure(MIN_MAX, "9.7.3.12",    "1.0", 20, "max.f64 d, a, b",                                                   "max"),
          pure(SPECIAL, "9.7.3.13",    "1.4", 20, "rcp.<approx|rn>{.ftz}.f32 d, a",                                    "reciprocal").within(relative(0x1p-23)),
          pure(SPECIAL, "9.7.3.16",    "1.4", 20, "sqrt.<approx|rn>{.ftz}.f32 d, a",                                   "sqrt").within(relative(0x1p-23)),
          pure(SPECIAL, "9.7.3.16",    "1.4", 20, "sqrt.rn.f64 d, a",                                                  "sqrt"),
          pure(SPECIAL, "9.7.3.17",    "1.4", 20, "rsqrt.approx{.ftz}.f32 d, a",                                       "reciprocalSqrt").within(relative(0x1p-22)),
          pure(SPECIAL, "9.7.3.21",    "1.4", 20, "lg2.approx{.ftz}.f32 d, a",                                         "log2").within(new ErrorBound(0x1p-22, 0x1p-22, Double.POSITIVE_INFINITY)),
          pure(SPECIAL, "9.7.3.22",    "1.4", 20, "ex2.approx{.ftz}.f32 d, a",                                         "exp2").within(relative(0x1p-22)),
          pure(SPECIAL, "9.7.3.23",    "7.0", 75, "tanh.approx.f32 d, a",                                              "tanh").within(relative(0x1p-10)),

          // directed rounding, more approximations, and classification
          pure(ARITHMETIC, "9.7.3.3", "2.0", 20, "add.<rz|rm|rp>{.ftz}{.sat}.f32 d, a, b", "addDirected"),
          pure(ARITHMETIC, "9.7.3.3", "1.0", 20, "add.<rz|rm|rp>.f64 d, a, b", "addDirected"),
          pure(ARITHMETIC, "9.7.3.4", "2.0", 20, "sub.<rz|rm|rp>{.ftz}{.sat}.f32 d, a, b", "subDirected"),
          pure(ARITHMETIC, "9.7.3.4", "1.0", 20, "sub.<rz|rm|rp>.f64 d, a, b", "subDirected"),
          pure(ARITHMETIC, "9.7.3.5", "2.0", 20, "mul.<rz|rm|rp>{.ftz}{.sat}.f32 d, a, b", "mulDirected"),
          pure(ARITHMETIC, "9.7.3.5", "1.0", 20, "mul.<rz|rm|rp>.f64 d, a, b", "mulDirected"),
          pure(MULTIPLY_ADD, "9.7.3.6", "2.0", 20, "fma.<rz|rm|rp>{.ftz}{.sat}.f32 d, a, b, c", "fmaDirected"),
          pure(MULTIPLY_ADD, "9.7.3.6", "2.0", 20, "fma.<rz|rm|rp>.f64 d, a, b, c", "fmaDirected"),
          pure(MULTIPLY_ADD, "9.7.3.7", "1.0", 20, "mad{.ftz}{.sat}.f32 d, a, b, c", "fma").removed("4.0", 20, "mad.rn"),
          pure(MULTIPLY_ADD, "9.7.3.7", "2.0", 20, "mad.rn{.ftz}{.sat}.f32 d, a, b, c", "fma"),
          pure(MULTIPLY_ADD, "9.7.3.7", "2.0", 20, "mad.rn.f64 d, a, b, c", "fma"),
          pure(MULTIPLY_ADD, "9.7.3.7", "2.0", 20, "mad.<rz|rm|rp>{.ftz}{.sat}.f32 d, a, b, c", "fmaDirected"),
          pure(MULTIPLY_ADD, "9.7.3.7", "2.0", 20, "mad.<rz|rm|rp>.f64 d, a, b, c", "fmaDirected"),
          pure(DIVISION, "9.7.3.8", "2.0", 20, "div.<rz|rm|rp>{.ftz}.f32 d, a, b", "divDirected"),
          pure(DIVISION, "9.7.3.8", "1.4", 20, "div.<rz|rm|rp>.f64 d, a, b", "divDirected"),
          pure(DIVISION, "9.7.3.8", "1.4", 20, "div.approx{.ftz}.f32 d, a, b", "divApprox").within(new ErrorBound(0x1p-22, 0, 0x1p126)),
          pure(DIVISION, "9.7.3.8", "1.4", 20, "div.full{.ftz}.f32 d, a, b", "div").within(relative(0x1p-22)),
          pure(SPECIAL, "9.7.3.13", "2.0", 20, "rcp.<rz|rm|rp>{.ftz}.f32 d, a", "reciprocalDirected"),
          pure(SPECIAL, "9.7.3.13", "1.4", 20, "rcp.rn.f64 d, a", "reciprocal"),
          pure(SPECIAL, "9.7.3.13", "1.4", 20, "rcp.<rz|rm|rp>.f64 d, a", "reciprocalDirected"),
          pure(SPECIAL, "9.7.3.14", "2.1", 20, "rcp.approx.ftz.f64 d, a", "reciprocalUpper").within(relative(0x1p-19)),
          pure(SPECIAL, "9.7.3.16", "2.0", 20, "sqrt.<rz|rm|rp>{.ftz}.f32 d, a", "sqrtDirected"),
          pure(SPECIAL, "9.7.3.16", "1.4", 20, "sqrt.<rz|rm|rp>.f64 d, a", "sqrtDirected"),
          pure(SPECIAL, "9.7.3.17", "3.0", 20, "rsqrt.approx.f64 d, a", "reciprocalSqrt").within(relative(0x1p-50)),
          pure(SPECIAL, "9.7.3.18", "4.0", 20, "rsqrt.approx.ftz.f64 d, a", "reciprocalSqrtUpper").within(relative(0x1p-19)),
          pure(SPECIAL, "9.7.3.19", "1.4", 20, "sin.approx{.ftz}.f32 d, a", "sin").within(new ErrorBound(0, 0x1p-20, 2 * Math.PI)),
          pure(SPECIAL, "9.7.3.20", "1.4", 20, "cos.approx{.ftz}.f32 d, a", "cos").within(new ErrorBound(0, 0x1p-20, 2 * Math.PI)),
          pure("9.7.3.2", "2.0", 20, "copysign.<f32|f64> d, a, b", "copySign"),
          pure(CLASSIFICATION, "9.7.3.1", "2.0", 20, "testp.finite.<f32|f64> p:pred, a", "isFinite"),
          pure(CLASSIFICATION, "9.7.3.1", "2.0", 20, "testp.infinite.<f32|f64> p:pred, a", "isInfinite"),
          pure(CLASSIFICATION, "9.7.3.1", "2.0", 20, "testp.number.<f32|f64> p:pred, a", "isNumber"),
          pure(CLASSIFICATION, "9.7.3.1", "2.0", 20, "testp.notanumber.<f32|f64> p:pred, a", "isNotNumber"),
          pure(CLASSIFICATION, "9.7.3.1", "2.0", 20, "testp.normal.<f32|f64> p:pred, a", "isNormal"),
          pure(CLASSIFICATION, "9.7.3.1", "2.0", 20, "testp.subnormal.<f32|f64> p:pred, a", "isSubnormal"),
          pure(MIN_MAX, "9.7.3.11", "7.0", 80, "min{.ftz}.NaN.f32 d, a, b", "minOrNan"),
          pure("9.7.3.11", "7.2", 86, "min{.ftz}.xorsign.abs.f32 d, a, b", "minXorSign"),
          pure("9.7.3.11", "7.2", 86, "min{.ftz}.NaN.xorsign.abs.f32 d, a, b", "minOrNanXorSign"),
          pure(MIN_MAX, "9.7.3.12", "7.0", 80, "max{.ftz}.NaN.f32 d, a, b", "maxOrNan"),
          pure("9.7.3.12", "7.2", 86, "max{.ftz}.xorsign.abs.f32 d, a, b", "maxXorSign"),
          pure("9.7.3.12", "7.2", 86, "max{.ftz}.NaN.xorsign.abs.f32 d, a, b", "maxOrNanXorSign"),
          pure(MIN_MAX, "9.7.3.11", "8.8", 100, "min{.ftz}.f32 d, a, b, c", "min>min"),
          pure(MIN_MAX, "9.7.3.11", "8.8", 100, "min{.ftz}.NaN.f32 d, a, b, c", "minOrNan>minOrNan"),
          pure(MIN_MAX, "9.7.3.11", "8.8", 100, "min{.ftz}.abs.f32 d, a, b, c", "minOfMagnitudes"),
          pure(MIN_MAX, "9.7.3.11", "8.8", 100, "min{.ftz}.NaN.abs.f32 d, a, b, c", "minOrNanOfMagnitudes"),
          pure(MIN_MAX, "9.7.3.12", "8.8", 100, "max{.ftz}.f32 d, a, b, c", "max>max"),
          pure(MIN_MAX, "9.7.3.12", "8.8", 100, "max{.ftz}.NaN.f32 d, a, b, c", "maxOrNan>maxOrNan"),
          pure(MIN_MAX, "9.7.3.12", "8.8", 100, "max{.ftz}.abs.f32 d, a, b, c", "maxOfMagnitudes"),
          pure(MIN_MAX, "9.7.3.12", "8.8", 100, "max{.ftz}.NaN.abs.f32 d, a, b, c", "maxOrNanOfMagnitudes"));
  // spotless:on

  private FloatRows() {}
}
