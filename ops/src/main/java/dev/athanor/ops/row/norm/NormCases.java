package dev.athanor.ops.row.norm;

import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.row.RowCases;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.random.RandomGenerator;

/** Test cases of norms: rows of every length; large, shifted, constant and special numbers. */
public final class NormCases {

  private NormCases() {}

  static List<Op.Case> of(
      Op op, Norm norm, boolean residual, RandomGenerator random, boolean quick) {
    var cases =
        new ArrayList<>(
            RowCases.sizes(
                quick,
                (number, dtype, rows, n) -> {
                  var made =
                      new RowCases.Builder(op, random)
                          // a large mean shows whether the variance cancels; adding a residual
                          // would round away the digits that show it
                          .normal("x", number % 4 == 1 && !residual ? 1000 : 0, 1, dtype, rows, n);
                  return finish(made, norm, residual, number, dtype, rows, n);
                }));
    var wide = new RowCases.Builder(op, random).normal("x", 0, 1e4, DType.F32, 3, 100);
    cases.add(finish(wide, norm, residual, 1, DType.F32, 3, 100));
    // rows without variance: of zeros, and of another constant
    for (double constant : new double[] {0, residual ? 1 : 10_000.123}) {
      var made = new RowCases.Builder(op, random).normal("x", constant, 0, DType.F32, 2, 1000);
      cases.add(finish(made, norm, residual, 0, DType.F32, 2, 1000));
    }
    var special = new RowCases.Builder(op, random).special("x", DType.F16, 9, 14);
    cases.add(finish(special, norm, residual, 2, DType.F16, 9, 14));
    cases.addAll(omitting(op, norm, residual, random, quick));
    cases.addAll(doubles(op, norm, residual, random, quick));
    return cases;
  }

  /** Returns cases of f64: all lengths, large means and special numbers. */
  private static List<Op.Case> doubles(
      Op op, Norm norm, boolean residual, RandomGenerator random, boolean quick) {
    var cases =
        new ArrayList<>(
            RowCases.sizes(
                quick,
                List.of(DType.F64),
                (number, dtype, rows, n) -> {
                  double mean = number % 4 == 1 && !residual ? 1e9 : 0;
                  var made = new RowCases.Builder(op, random).normal("x", mean, 1, dtype, rows, n);
                  return finish(made, norm, residual, number, dtype, rows, n);
                }));
    var special = HostTensor.zeros(TensorType.of(DType.F64, 9, 14));
    var numbers = new Draw(random).special(DType.F16, 9, 14);
    for (int i = 0; i < 9 * 14; i++) {
      DType.F64.write(special.data(), i, numbers.get(i));
    }
    var made = new RowCases.Builder(op, random).input("x", special);
    cases.add(finish(made, norm, residual, 2, DType.F64, 9, 14));
    var omitted = norm.shifts() ? Set.of("gamma", "beta") : Set.of("gamma");
    var plain = new RowCases.Builder(op, random).normal("x", 1, 1, DType.F64, 2, 1024);
    cases.add(finish(plain, norm, omitted, residual, 1, DType.F64, 2, 1024));
    return cases;
  }

  /** Returns cases without gamma, without beta and without both. */
  private static List<Op.Case> omitting(
      Op op, Norm norm, boolean residual, RandomGenerator random, boolean quick) {
    var cases = new ArrayList<Op.Case>();
    int[] lengths = {65, 1024, 7, 33_004};
    for (var omitted :
        norm.shifts()
            ? List.of(Set.of("gamma"), Set.of("beta"), Set.of("gamma", "beta"))
            : List.of(Set.of("gamma"))) {
      for (int number = 0; number < lengths.length; number += quick ? 2 : 1) {
        int n = lengths[number];
        var dtype = RowCases.DTYPES.get((number + omitted.size()) % RowCases.DTYPES.size());
        var made = new RowCases.Builder(op, random).normal("x", 1, 1, dtype, 2, n);
        cases.add(finish(made, norm, omitted, residual, number, dtype, 2, n));
      }
    }
    return cases;
  }

  private static Op.Case finish(
      RowCases.Builder made,
      Norm norm,
      boolean residual,
      int number,
      DType dtype,
      int rows,
      int n) {
    return finish(made, norm, Set.of(), residual, number, dtype, rows, n);
  }

  private static Op.Case finish(
      RowCases.Builder made,
      Norm norm,
      Set<String> omitted,
      boolean residual,
      int number,
      DType dtype,
      int rows,
      int n) {
    var weights = number % 2 == 0 && dtype != DType.F64 ? DType.F32 : dtype;
    made.attribute("epsilon", number % 3 == 0 ? 1e-6 : 1e-5);
    if (!omitted.contains("gamma")) {
      made.normal("gamma", 1, 0.5, weights, n);
    }
    if (norm.shifts() && !omitted.contains("beta")) {
      made.normal("beta", weights, n);
    }
    if (!residual) {
      return made.within(Map.of("y", tolerance(dtype)));
    }
    made.normal("residual", dtype, rows, n);
    if (number % 4 < 2) {
      // a sum is rounded to f32 and then to the dtype
      return made.attribute("order", "pre")
          .within(Map.of("y", tolerance(dtype), "sum", Tolerance.roundings(1.05, dtype)));
    }
    return made.attribute("order", "post").within(Map.of("y", tolerance(dtype)));
  }

  static List<Op.Case> backward(Op op, Norm norm, RandomGenerator random, boolean quick) {
    var cases =
        new ArrayList<>(
            RowCases.sizes(
                quick,
                (number, dtype, rows, n) -> {
                  var made =
                      gradient(op, random, number, dtype, rows, n)
                          .normal("gamma", 1, 0.5, number % 2 == 0 ? DType.F32 : dtype, n);
                  return within(made, norm, dtype);
                }));
    int[][] plain = {{9, 33}, {5, 1000}, {2, 33_004}};
    for (int i = 0; i < (quick ? 1 : plain.length); i++) {
      var dtype = RowCases.DTYPES.get(i);
      var made = gradient(op, random, i, dtype, plain[i][0], plain[i][1]);
      cases.add(within(made, norm, dtype));
    }
    return cases;
  }

  private static RowCases.Builder gradient(
      Op op, RandomGenerator random, int number, DType dtype, int rows, int n) {
    return new RowCases.Builder(op, random)
        .normal("x", number % 4 == 1 ? 10 : 0, 1, dtype, rows, n)
        .normal("grad", dtype, rows, n)
        .attribute("epsilon", 1e-5);
  }

  private static Op.Case within(RowCases.Builder made, Norm norm, DType dtype) {
    var tolerance = dtype == DType.F32 ? Tolerance.maximum(1e-3) : Tolerance.relative(1e-2);
    return made.within(
        norm.shifts()
            ? Map.of("dx", tolerance, "dgamma", tolerance, "dbeta", tolerance)
            : Map.of("dx", tolerance, "dgamma", tolerance));
  }

  /** Returns the tolerance of a norm. */
  public static Tolerance tolerance(DType dtype) {
    return Tolerance.maximum(
        switch (dtype) {
          case F64 -> 1e-14; // x − mean rounds at the size of x, and gamma scales that error
          case F32 -> 1e-5;
          case F16 -> 2e-3;
          case BF16 -> 1e-2;
          default -> throw new IllegalArgumentException(dtype.text());
        });
  }
}
