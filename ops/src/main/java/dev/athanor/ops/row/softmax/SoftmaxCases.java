package dev.athanor.ops.row.softmax;

import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.row.RowCases;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;

/** Test cases of softmax: every row length, every kind of mask. */
final class SoftmaxCases {

  private SoftmaxCases() {}

  static List<Op.Case> of(Softmax op, boolean dropout, RandomGenerator random, boolean quick) {
    var cases =
        new ArrayList<>(
            RowCases.sizes(
                quick,
                (number, dtype, rows, n) -> {
                  // some logits of ±50, and scales as in attention
                  double deviation = number % 2 == 0 ? 1 : 20;
                  var made =
                      new RowCases.Builder(op, random)
                          .normal("x", 0, deviation, dtype, rows, n)
                          .attribute("scale", number % 3 == 0 ? 1 : 0.125);
                  return finish(made, dropout, number, dtype, rows, n);
                }));
    // rows that several blocks share, with accesses of one, two and four elements
    int[] lengths = {32_769, 33_002, 40_004};
    for (int i = 0; i < (quick ? 1 : lengths.length); i++) {
      var dtype = RowCases.DTYPES.get((i + 1) % RowCases.DTYPES.size());
      var made = new RowCases.Builder(op, random).normal("x", 0, 4, dtype, 1, lengths[i]);
      cases.add(finish(made, dropout, i, dtype, 1, lengths[i]));
    }
    // the first rows of the second shape are fully masked
    long[][] causal = {{2, 5, 5}, {3, 7, 4}, {2, 4, 9}, {33, 64}};
    for (int i = 0; i < (quick ? 2 : causal.length); i++) {
      var dtype = RowCases.DTYPES.get(i % RowCases.DTYPES.size());
      var made =
          new RowCases.Builder(op, random).normal("x", dtype, causal[i]).attribute("causal", true);
      cases.add(finish(made, dropout, i, dtype, causal[i]));
    }
    var masked = HostTensor.zeros(TensorType.of(DType.F32, 2, 40));
    for (int i = 0; i < 80; i++) {
      boolean hidden = i < 40 || i % 3 == 0;
      DType.F32.write(masked.data(), i, hidden ? Double.NEGATIVE_INFINITY : i);
    }
    cases.add(
        finish(new RowCases.Builder(op, random).input("x", masked), dropout, 0, DType.F32, 2, 40));
    for (var dtype : RowCases.DTYPES) {
      cases.add(special(op, dropout, random, dtype));
    }
    cases.addAll(doubles(op, dropout, random, quick));
    return cases;
  }

  private static Op.Case special(Softmax op, boolean dropout, RandomGenerator random, DType dtype) {
    var made = new RowCases.Builder(op, random).special("x", dtype, 9, 14);
    return finish(made, dropout, 1, dtype, 9, 14);
  }

  /** Returns cases of f64: all lengths, rows that blocks share, masked and special numbers. */
  private static List<Op.Case> doubles(
      Softmax op, boolean dropout, RandomGenerator random, boolean quick) {
    var cases =
        new ArrayList<>(
            RowCases.sizes(
                quick,
                List.of(DType.F64),
                (number, dtype, rows, n) -> {
                  double deviation = number % 2 == 0 ? 1 : 200;
                  var made =
                      new RowCases.Builder(op, random)
                          .normal("x", 0, deviation, dtype, rows, n)
                          .attribute("scale", number % 3 == 0 ? 1 : 0.125);
                  return finish(made, dropout, number, dtype, rows, n);
                }));
    int[] lengths = {33_002, 32_769};
    for (int i = 0; i < (quick ? 1 : lengths.length); i++) {
      var made = new RowCases.Builder(op, random).normal("x", 0, 4, DType.F64, 1, lengths[i]);
      cases.add(finish(made, dropout, i, DType.F64, 1, lengths[i]));
    }
    var causal =
        new RowCases.Builder(op, random).normal("x", DType.F64, 3, 7, 4).attribute("causal", true);
    cases.add(finish(causal, dropout, 0, DType.F64, 3, 7, 4));
    cases.add(special(op, dropout, random, DType.F64));
    return cases;
  }

  private static Op.Case finish(
      RowCases.Builder made, boolean dropout, int number, DType dtype, long... shape) {
    if (dropout) {
      made.integers("mask", 0, 1, number % 2 == 0 ? DType.U8 : DType.BOOL, shape)
          .attribute("probability", number % 3 == 0 ? 0.25 : 0.5);
    }
    return made.within(Map.of("y", Softmax.tolerance(dtype)));
  }
}
