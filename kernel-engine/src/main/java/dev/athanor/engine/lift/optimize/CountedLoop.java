package dev.athanor.engine.lift.optimize;

import dev.athanor.engine.lift.analysis.Loop;
import dev.athanor.engine.lift.ir.Edge;
import dev.athanor.engine.lift.ir.Effect;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Relation;
import dev.athanor.engine.lift.ir.Terminator;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.ir.ValueType;
import dev.athanor.engine.ptx.SpecialRegister;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A loop whose header tests a counter against a bound, and leaves the loop if the test fails.
 *
 * @param counter parameter of the header
 * @param next the counter in the next iteration: the sum or difference of it and a step
 * @param step does not change in the loop; if a literal, it takes the counter to the bound
 * @param relation LT, LE, GT or GE: the loop goes on while it holds for counter and bound
 * @param bound does not change in the loop
 * @param leave edge from the header out of the loop, the only one
 */
record CountedLoop(
    Loop loop, Value counter, Value next, Value step, Relation relation, Value bound, Edge leave) {

  private static final Set<SpecialRegister> OF_BLOCK =
      EnumSet.of(
          SpecialRegister.NTID_X,
          SpecialRegister.NTID_Y,
          SpecialRegister.NTID_Z,
          SpecialRegister.CTAID_X,
          SpecialRegister.CTAID_Y,
          SpecialRegister.CTAID_Z,
          SpecialRegister.NCTAID_X,
          SpecialRegister.NCTAID_Y,
          SpecialRegister.NCTAID_Z);

  /** Returns a loop as a counted one, if it is one. */
  static Optional<CountedLoop> of(Loop loop) {
    var exits = loop.exits();
    if (exits.size() != 1
        || exits.getFirst().from() != loop.header()
        || loop.back().size() != 1
        || loop.entries().size() != 1
        || !(loop.header().end() instanceof Terminator.Branch(var condition, var yes, _))
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
    int number = loop.header().parameters().indexOf(condition.input(0));
    boolean isSwapped = number < 0;
    if (isSwapped) {
      relation = relation.swapped();
      number = loop.header().parameters().indexOf(condition.input(1));
    }
    if (number < 0) {
      return Optional.empty();
    }
    var counter = loop.header().parameters().get(number);
    var next = loop.back().getFirst().arguments().get(number);
    var step = step(counter, next);
    if (step == null) {
      return Optional.empty();
    }
    var bound = condition.input(isSwapped ? 0 : 1);
    var found = new CountedLoop(loop, counter, next, step, relation, bound, leave);
    return found.isValid() ? Optional.of(found) : Optional.empty();
  }

  private static @Nullable Value step(Value counter, Value next) {
    if (!next.is(Op.ADD) && !next.is(Op.SUB)) {
      return null;
    }
    return next.input(0) == counter
        ? next.input(1)
        : next.is(Op.ADD) && next.input(1) == counter ? next.input(0) : null;
  }

  private boolean isValid() {
    var inside = loop.values();
    boolean isOrdered =
        switch (relation) {
          case LT, LE, GT, GE -> true;
          default -> false;
        };
    return isOrdered
        && !inside.contains(bound)
        && !inside.contains(step)
        && (!step.is(Op.CONSTANT) || isTowardBound(step.integer()));
  }

  private boolean isTowardBound(long step) {
    return step != 0 && step > 0 == (next.is(Op.ADD) == ascends());
  }

  private boolean ascends() {
    return relation == Relation.LT || relation == Relation.LE;
  }

  /** Returns the counter in the first iteration. */
  Value start() {
    return loop.entries().getFirst().arguments().get(loop.header().parameters().indexOf(counter));
  }

  /**
   * Returns how many iterations there are if the counter starts with a number; {@code
   * Long.MAX_VALUE} if that is not known, because step or bound are no literals, the counter is a
   * long, or overflows.
   */
  long iterations(long start) {
    if (!step.is(Op.CONSTANT) || !bound.is(Op.CONSTANT) || bound.type() != ValueType.INT) {
      return Long.MAX_VALUE;
    }
    long stride = Math.abs(step.integer());
    long distance = ascends() ? bound.integer() - start : start - bound.integer();
    boolean isStrict = relation == Relation.LT || relation == Relation.GT;
    long iterations = Math.ceilDiv(Math.max(0, isStrict ? distance : distance + 1), stride);
    long end = ascends() ? start + iterations * stride : start - iterations * stride;
    return end == (int) end ? iterations : Long.MAX_VALUE;
  }

  /** Returns LT, or GT for a counter that decreases: how {@link #limit} is compared. */
  Relation limitRelation() {
    return ascends() ? Relation.LT : Relation.GT;
  }

  /**
   * Returns whether all threads of a block that enter the loop surely make the same number of
   * iterations: the counter depends on nothing but arguments and the block.
   */
  boolean isUniform() {
    var seen = new HashSet<Value>();
    return Stream.of(start(), step, bound).allMatch(value -> isUniform(value, seen));
  }

  private static boolean isUniform(Value value, Set<Value> seen) {
    boolean isOwn =
        switch (value.op()) {
          case PHI -> false;
          case SPECIAL -> OF_BLOCK.contains(value.attribute(SpecialRegister.class));
          default -> value.effect() == Effect.NONE || value.effect() == Effect.READ_ONLY;
        };
    return !seen.add(value)
        || (isOwn && value.inputs().stream().allMatch(input -> isUniform(input, seen)));
  }

  /**
   * Returns a number such that at least {@code count} more iterations follow exactly if the counter
   * is below it (above it, if the counter decreases). With a stride {@code s} toward the bound that
   * is {@code max(bound, MIN + d) - d} for {@code d = (count - 1) * s}, one less if the counter may
   * equal the bound. No term of it overflows if {@code s} is from 1 to {@code MAX / count}; for
   * other strides, which may go away from the bound or around the ends of the type, the result is
   * MIN, and no counter is below it.
   *
   * @param body where the instructions go that compute it
   */
  Value limit(int count, List<Value> body) {
    var type = bound.type();
    var stride =
        next.is(Op.ADD) == ascends() ? step : append(body, Op.SUB, type, literal(type, 0), step);
    boolean isStrict = relation == Relation.LT || relation == Relation.GT;
    var distance = append(body, Op.MUL, type, stride, literal(type, count - 1));
    if (!isStrict) {
      distance = append(body, Op.ADD, type, distance, literal(type, -1));
    }
    var end = literal(type, ascends() ? least(type) : ~least(type));
    var nearest = append(body, ascends() ? Op.ADD : Op.SUB, type, end, distance);
    var clamped = append(body, ascends() ? Op.MAX : Op.MIN, type, bound, nearest);
    var limit = append(body, ascends() ? Op.SUB : Op.ADD, type, clamped, distance);
    var isSafe =
        new Value(
            Op.COMPARE,
            ValueType.BOOL,
            List.of(
                append(body, Op.ADD, type, stride, literal(type, -1)),
                literal(type, ~least(type) / count)),
            Relation.LO,
            counter.source());
    body.add(isSafe);
    return append(body, Op.SELECT, type, isSafe, limit, end);
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
