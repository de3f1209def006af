package dev.athanor.ops.indexing;

import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.Op.Case;
import dev.athanor.ops.Problem;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.random.RandomGenerator;

/** The test cases of the ops that take an index. */
final class IndexingCases {

  private static final int SPECIAL_EVERY = 5;

  private IndexingCases() {}

  /**
   * Returns a case for each problem and each of some dtypes.
   *
   * @param problems without the dtypes of the elements and of the index: {@code x=?[3,4]
   *     index=#[2,4]}
   * @param perProblem dtypes that run each problem, in turn
   */
  static List<Case> of(
      Op op, RandomGenerator random, List<String> problems, List<DType> dtypes, int perProblem) {
    var cases = new ArrayList<Case>();
    for (var text : problems) {
      for (int i = 0; i < perProblem; i++) {
        int number = cases.size();
        var dtype = dtypes.get(number % dtypes.size());
        var problem =
            Problem.parse(
                op, text.replace("?", dtype.text()).replace("#", number % 3 == 1 ? "i64" : "i32"));
        var drawn =
            new LinkedHashMap<>(op.draw(problem.inputs(), problem.attributes(), new Draw(random)));
        addSpecial(Objects.requireNonNull(drawn.get(Indices.INDEX)));
        cases.add(
            new Case(
                drawn,
                problem.attributes(),
                Map.of("y", op.tolerance("y", dtype, problem.inputs(), problem.attributes()))));
      }
    }
    return cases;
  }

  /** Replaces some numbers by numbers that count from the end, repeat or are out of range. */
  private static void addSpecial(HostTensor index) {
    var dtype = index.type().dtype();
    long[] special = {-1, 0, Integer.MAX_VALUE, 0, -1, Integer.MIN_VALUE, 1, 1L << 32, -2};
    long elements = index.type().shape().elements();
    for (long at = SPECIAL_EVERY - 1; at < elements; at += SPECIAL_EVERY) {
      long number = special[(int) (at / SPECIAL_EVERY % special.length)];
      if (dtype == DType.I64 || number == (int) number) {
        dtype.writeLong(index.data(), at, number);
      }
    }
  }

  /** Draws as many different elements as the dtype allows. */
  static HostTensor elements(Draw draw, TensorType type) {
    return switch (type.dtype()) {
      case F64, F32, F16, BF16, E4M3, E5M2 -> draw.normal(0, 1, type);
      case BOOL -> draw.integers(0, 1, type);
      case U8, U32 -> draw.integers(0, 200, type);
      default -> draw.integers(-100, 100, type);
    };
  }

  /** Returns the tolerance of a scatter; the reference adds in the order of the kernel. */
  static Tolerance scatter(ScatterReduction reduction, DType dtype) {
    boolean rounds = reduction == ScatterReduction.ADD || reduction == ScatterReduction.MUL;
    return switch (dtype) {
      case F32 -> rounds ? Tolerance.maximum(1e-5) : Tolerance.exact();
      // the error of f32 arithmetic is much smaller than the rounding
      case F16, BF16, E4M3, E5M2 ->
          rounds ? Tolerance.roundings(1 + 1.0 / 8, dtype) : Tolerance.exact();
      default -> Tolerance.exact();
    };
  }
}
