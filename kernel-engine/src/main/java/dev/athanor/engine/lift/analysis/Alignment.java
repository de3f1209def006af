package dev.athanor.engine.lift.analysis;

import dev.athanor.engine.lift.ir.Graph;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.ir.ValueType;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Powers of two that divide addresses. Arrays and segments start at multiples of {@link #ARRAY}
 * bytes: launches guarantee it for parameters, and kernels declare it for shared arrays.
 */
public final class Alignment {
  public static final int ARRAY = 16;

  private static final int MOST_ZEROS = 8;
  private static final int MOST_DEPTH = 16;

  private final PhiInputs phis;

  public Alignment(Graph graph) {
    phis = new PhiInputs(graph);
  }

  /** Returns a power of two, at most {@link #ARRAY}, that divides an address. */
  public int of(Value address) {
    return switch (address.op()) {
      case ARGUMENT, ARRAY -> ARRAY;
      case ADDRESS -> {
        int size = Integer.lowestOneBit(address.attribute(Integer.class));
        int index = 1 << zeros(address.input(1), new HashSet<>());
        yield Math.min(of(address.input(0)), Math.min(size * index, ARRAY));
      }
      case SELECT -> Math.min(of(address.input(1)), of(address.input(2)));
      default -> 1;
    };
  }

  /**
   * Returns the number of low bits of an integer that are zero on all paths, at most {@link
   * #MOST_ZEROS}. Overflow keeps them. A value that depends on itself does not lower the number: no
   * operation here has fewer zeros than each of its operands.
   */
  private int zeros(Value value, Set<Value> path) {
    if (!value.type().isInteger() || path.size() == MOST_DEPTH) {
      return 0;
    }
    if (!path.add(value)) {
      return MOST_ZEROS;
    }
    int found =
        switch (value.op()) {
          case CONSTANT -> Long.numberOfTrailingZeros(value.integer());
          case ADD, SUB, OR, XOR, MIN, MAX -> least(value.inputs(), path);
          case NEG -> zeros(value.input(0), path);
          case CONVERT -> value.input(0).type().isInteger() ? zeros(value.input(0), path) : 0;
          case MUL -> zeros(value.input(0), path) + zeros(value.input(1), path);
          case AND -> Math.max(zeros(value.input(0), path), zeros(value.input(1), path));
          case SHL ->
              value.input(1).is(Op.CONSTANT)
                  ? zeros(value.input(0), path) + distance(value)
                  : zeros(value.input(0), path);
          case SELECT -> least(value.inputs().subList(1, 3), path);
          case PHI -> least(phis.of(value), path);
          default -> 0;
        };
    path.remove(value);
    return Math.min(found, MOST_ZEROS);
  }

  private static int distance(Value shift) {
    return (int) shift.input(1).integer() & (shift.type() == ValueType.LONG ? 63 : 31);
  }

  private int least(List<Value> values, Set<Value> path) {
    return values.stream().mapToInt(value -> zeros(value, path)).min().orElse(0);
  }
}
