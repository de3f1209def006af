package dev.athanor.ops.expression;

import dev.athanor.ops.DType;
import java.util.List;

/** A part of an expression with its dtype. */
sealed interface Term {

  DType dtype();

  /**
   * Returns whether the term takes the dtype of the terms that it is combined with if they are of
   * the same kind. Its own dtype is i64 or f32.
   */
  boolean weak();

  /**
   * A number that is known.
   *
   * @param name of the constant; empty for a number of the text
   */
  record Literal(DType dtype, boolean weak, ScalarValue value, String name) implements Term {

    static Literal whole(long value) {
      return new Literal(DType.I64, true, ScalarValue.of(value), "");
    }

    static Literal real(double value) {
      return new Literal(DType.F32, true, ScalarValue.of(value), "");
    }

    /** Returns a constant; one without a fraction counts as an integer. */
    static Literal constant(String name, double value) {
      boolean whole = value == Math.rint(value) && Math.abs(value) <= 0x1p53;
      return whole
          ? new Literal(DType.I64, true, ScalarValue.of((long) value), name)
          : new Literal(DType.F32, true, ScalarValue.of(value), name);
    }
  }

  /**
   * The result of an instruction.
   *
   * @param operands of a weak result, which is that of {@link Function#WHERE}
   */
  record Result(DType dtype, boolean weak, int number, List<Term> operands) implements Term {
    public Result {
      operands = List.copyOf(operands);
    }
  }
}
