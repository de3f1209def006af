package dev.athanor.engine.lift.optimize;

import dev.athanor.engine.lift.ir.Edge;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Relation;
import dev.athanor.engine.lift.ir.Terminator;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.ir.ValueType;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A loop whose header tests a counter against a bound, and leaves the loop if the test fails.
 *
 * @param counter parameter of the header
 * @param step literal that each iteration adds to it
 * @param relation LT, LE, GT or GE: the loop goes on while it holds for counter and bound
 * @param bound does not change in the loop
 * @param stay edge from the header into the loop
 * @param leave edge from the header out of the loop, the only one
 */
record CountedLoop(
    Loop loop, Value counter, Value step, Relation relation, Value bound, Edge stay, Edge leave) {

  private static final long MOST_STEP = 1 << 20;

  /** Returns a loop as a counted one, if it is one. */
  static Optional<CountedLoop> of(Loop loop) {
    var exits = loop.exits();
    if (exits.size() != 1
        || exits.getFirst().from() != loop.header()
        || loop.back().size() != 1
        || loop.entries().size() != 1
        || !(loop.header().end() instanceof Terminator.Branch(var condition, var yes, var no))
        || !condition.is(Op.COMPARE)
        || !condition.input(0).type().isInteger()) {
      return Optional.empty();
    }
    var leave = exits.getFirst().edge();
    var type = condition.input(0).type();
    var relation = condition.attribute(Relation.class);
    if (leave == yes) {
      relation = relation.negated(type);
    }
    if (relation == Relation.LO || relation == Relation.HS) {
      return Optional.empty();
    }
    boolean isSwapped = !loop.header().parameters().contains(condition.input(0));
    var counter = condition.input(isSwapped ? 1 : 0);
    var step = step(loop, counter);
    var found =
        new CountedLoop(
            loop,
            counter,
            step == null ? counter : step,
            isSwapped ? relation.swapped() : relation,
            condition.input(isSwapped ? 0 : 1),
            leave == yes ? no : yes,
            leave);
    return step != null && found.isValid() ? Optional.of(found) : Optional.empty();
  }

  private static @Nullable Value step(Loop loop, Value counter) {
    int number = loop.header().parameters().indexOf(counter);
    if (number < 0) {
      return null;
    }
    var next = loop.back().getFirst().arguments().get(number);
    if (!next.is(Op.ADD)) {
      return null;
    }
    return next.input(0) == counter
        ? next.input(1)
        : next.input(1) == counter ? next.input(0) : null;
  }

  private boolean isValid() {
    return !loop.values().contains(bound)
        && step.is(Op.CONSTANT)
        && Math.abs(step.integer()) <= MOST_STEP
        && switch (relation) {
          case LT, LE -> step.integer() > 0;
          case GT, GE -> step.integer() < 0;
          default -> false;
        };
  }

  /** Returns LT, or GT for a counter that decreases: how {@link #limit} is compared. */
  Relation limitRelation() {
    return relation == Relation.LT || relation == Relation.LE ? Relation.LT : Relation.GT;
  }

  /**
   * Returns a number such that at least {@code count} more iterations follow if the counter is
   * below it (above it, if the counter decreases): {@code max(bound, MIN + d) - d}, which does not
   * overflow.
   *
   * @param body where the instructions go that compute it
   */
  Value limit(int count, List<Value> body) {
    var type = bound.type();
    boolean ascends = step.integer() > 0;
    boolean isStrict = relation == Relation.LT || relation == Relation.GT;
    long distance = (count - 1) * step.integer() - (isStrict ? 0 : Long.signum(step.integer()));
    long end = ascends ? least(type) : ~least(type);
    var clamped =
        append(body, ascends ? Op.MAX : Op.MIN, type, bound, literal(type, end + distance));
    return append(body, Op.ADD, type, clamped, literal(type, -distance));
  }

  private static long least(ValueType type) {
    return type == ValueType.INT ? Integer.MIN_VALUE : Long.MIN_VALUE;
  }

  private static Value literal(ValueType type, long n) {
    return type == ValueType.LONG ? Value.constant(n) : Value.constant(Math.toIntExact(n));
  }

  private Value append(List<Value> body, Op op, ValueType type, Value... inputs) {
    var value = new Value(op, type, List.of(inputs), null, counter.source());
    body.add(value);
    return value;
  }
}
