package dev.athanor.ops.row.rope;

import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.row.RowCases;
import dev.athanor.ops.row.norm.NormCases;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;

/** Test cases of rotary embeddings: both styles, all kinds of tables. */
final class RopeCases {

  /** Batch, positions, heads, elements of a head, rotated elements of a head. */
  private static final int[][] SIZES = {
    {1, 1, 1, 2, 2},
    {1, 3, 2, 64, 64},
    {2, 5, 3, 16, 16},
    {1, 7, 2, 7, 4},
    {2, 2, 5, 24, 8},
    {1, 2, 3, 13, 6},
    {1, 17, 1, 20, 20},
    {1, 2, 33, 128, 128},
    {3, 3, 2, 100, 52}
  };

  private static final int[][] QUICK_SIZES = {{1, 3, 2, 64, 64}, {2, 5, 3, 7, 4}};

  private static final Map<String, Tolerance> DOUBLE = Map.of("y", NormCases.tolerance(DType.F64));

  private RopeCases() {}

  static List<Op.Case> of(Op op, RandomGenerator random, boolean quick) {
    var cases = new ArrayList<Op.Case>();
    int number = 0;
    for (var size : quick ? QUICK_SIZES : SIZES) {
      for (var style : List.of("half", "interleaved")) {
        var dtype = RowCases.DTYPES.get(number % RowCases.DTYPES.size());
        var made =
            new RowCases.Builder(op, random)
                .normal("x", dtype, size[0], size[1], size[2], size[3])
                .attribute("style", style);
        if (size[4] < size[3]) {
          made.attribute("rotaryDim", size[4]);
        }
        if (number % 4 < 2) {
          made.attribute("theta", 10_000);
        } else {
          tables(made, number % 8 < 4 ? DType.F32 : dtype, size[1] + 2, size[4] / 2, random);
        }
        if (number % 5 == 3) {
          made.integers("positions", 0, size[1], DType.I32, size[1]);
        } else if (number % 5 == 4) {
          made.integers("positions", 0, size[1], DType.I32, size[0], size[1]);
        }
        cases.add(made.within(Map.of("y", NormCases.tolerance(dtype))));
        number++;
      }
    }
    for (var style : List.of("half", "interleaved")) {
      cases.add(doubles(op, random, style).attribute("theta", 10_000).within(DOUBLE));
      var given = doubles(op, random, style).integers("positions", 0, 5, DType.I32, 5);
      tables(given, DType.F64, 7, 6, random);
      cases.add(given.within(DOUBLE));
    }
    cases.add(far(op, random));
    // a position before the first and one after the last of the tables
    var outside =
        new RowCases.Builder(op, random)
            .normal("x", DType.F32, 3, 1, 8)
            .input("positions", HostTensor.of(TensorType.of(DType.I32, 3), -1, 4, 5));
    tables(outside, DType.F32, 5, 4, random);
    cases.add(outside.within(Map.of("y", NormCases.tolerance(DType.F32))));
    return cases;
  }

  private static RowCases.Builder doubles(Op op, RandomGenerator random, String style) {
    return new RowCases.Builder(op, random)
        .normal("x", DType.F64, 2, 5, 3, 16)
        .attribute("style", style)
        .attribute("rotaryDim", 12);
  }

  /** Returns a case with positions up to a million, whose angles are inaccurate in f32. */
  private static Op.Case far(Op op, RandomGenerator random) {
    return new RowCases.Builder(op, random)
        .normal("x", DType.F32, 6, 2, 32)
        .attribute("theta", 500_000)
        .input(
            "positions",
            HostTensor.of(
                TensorType.of(DType.I32, 6), 1_000_000, 999_983, -1_000_000, 131_071, 0, 1))
        .within(Map.of("y", NormCases.tolerance(DType.F32)));
  }

  static List<Op.Case> withNorm(Op op, RandomGenerator random, boolean quick) {
    var cases = new ArrayList<Op.Case>();
    int number = 0;
    for (var size : quick ? QUICK_SIZES : SIZES) {
      for (var style : List.of("half", "interleaved")) {
        var dtype = RowCases.DTYPES.get(number % RowCases.DTYPES.size());
        int headDim = size[4];
        long hidden = (long) size[2] * headDim;
        var made =
            new RowCases.Builder(op, random)
                .normal("x", dtype, size[0], size[1], hidden)
                .attribute("style", style)
                .attribute(
                    number % 2 == 0 ? "heads" : "headDim", number % 2 == 0 ? size[2] : headDim);
        if (number % 5 != 3) {
          made.normal("weight", 1, 0.5, number % 2 == 0 ? DType.F32 : dtype, hidden);
        }
        tables(made, number % 3 == 0 ? DType.F32 : dtype, size[1], headDim / 2, random);
        cases.add(made.within(Map.of("y", NormCases.tolerance(dtype))));
        number++;
      }
    }
    var doubles =
        new RowCases.Builder(op, random)
            .normal("x", DType.F64, 2, 5, 48)
            .normal("weight", 1, 0.5, DType.F64, 48)
            .attribute("headDim", 16);
    tables(doubles, DType.F64, 6, 8, random);
    cases.add(doubles.within(DOUBLE));
    return cases;
  }

  /** Adds cosines and sines of random angles. */
  private static void tables(
      RowCases.Builder made, DType dtype, int rows, int half, RandomGenerator random) {
    var cos = HostTensor.zeros(TensorType.of(dtype, rows, half));
    var sin = HostTensor.zeros(TensorType.of(dtype, rows, half));
    for (int i = 0; i < rows * half; i++) {
      double angle = random.nextDouble(-Math.PI, Math.PI);
      dtype.write(cos.data(), i, Math.cos(angle));
      dtype.write(sin.data(), i, Math.sin(angle));
    }
    made.input("cos", cos).input("sin", sin);
  }
}
