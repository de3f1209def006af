package dev.athanor.engine.lift.optimize;

import dev.athanor.engine.lift.ir.Access;
import dev.athanor.engine.lift.ir.Block;
import dev.athanor.engine.lift.ir.Graph;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Value;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Moves literals of indices into the offsets of accesses, so that neighboring elements share one
 * address: of {@code row + (i + 1) * 4} the offset is four elements. Such a sum may wrap in Java,
 * but then is out of bounds of every array that the launch accepts, for literals up to {@link
 * #MOST}.
 */
public final class FoldOffsets implements Pass {
  private static final long MOST = 1 << 20;

  private static final int MOST_DEPTH = 4;

  /** An address, and the bytes to add to it. */
  private record Split(Value address, long bytes) {}

  /** An integer as the sum of a value and a literal. */
  private record Sum(Value rest, long literal) {
    /** Returns the sum with another one, of which {@code whole} is the total. */
    Sum plus(Sum other, Value whole, List<Value> body) {
      return new Sum(append(whole, rest, other.rest, body), literal + other.literal);
    }

    /** Returns the product with a literal, the second input of {@code whole}. */
    Sum times(long factor, Value whole, List<Value> body) {
      return new Sum(append(whole, rest, whole.input(1), body), literal * factor);
    }

    private static Value append(Value whole, Value a, Value b, List<Value> body) {
      var value = whole.with(List.of(a, b));
      body.add(value);
      return value;
    }
  }

  @Override
  public boolean run(Graph graph) {
    Map<Value, Value> replaced = new HashMap<>();
    for (var block : graph.blocks()) {
      var body = new ArrayList<Value>();
      for (var value : block.body()) {
        body.add(folded(value, body, replaced));
      }
      replace(block, body);
    }
    graph.replace(replaced);
    return !replaced.isEmpty();
  }

  private static void replace(Block block, List<Value> body) {
    block.body().clear();
    block.body().addAll(body);
  }

  private static Value folded(Value value, List<Value> body, Map<Value, Value> replaced) {
    if (!value.is(Op.LOAD) && !value.is(Op.STORE)) {
      return value;
    }
    var split = split(value.input(0), body);
    if (split == null) {
      return value;
    }
    var inputs = new ArrayList<>(value.inputs());
    inputs.set(0, split.address);
    var access = value.attribute(Access.class).plus(split.bytes);
    var result = new Value(value.op(), value.type(), inputs, access, value.source());
    replaced.put(value, result);
    return result;
  }

  private static @Nullable Split split(Value address, List<Value> body) {
    if (!address.is(Op.ADDRESS)) {
      return null;
    }
    var index = address.input(1);
    int size = address.attribute(Integer.class);
    if (index.is(Op.CONSTANT)) {
      return isSmall(index.integer()) ? new Split(address.input(0), index.integer() * size) : null;
    }
    var sum = sum(index, 0, body);
    if (sum.literal == 0) {
      return null;
    }
    var moved =
        new Value(
            Op.ADDRESS,
            address.type(),
            List.of(address.input(0), sum.rest),
            size,
            address.source());
    body.add(moved);
    return new Split(moved, sum.literal * size);
  }

  /** Splits a value, and appends the instructions that the rest needs. */
  private static Sum sum(Value value, int depth, List<Value> body) {
    var whole = new Sum(value, 0);
    if (depth == MOST_DEPTH || !value.type().isInteger()) {
      return whole;
    }
    int mark = body.size();
    var sum =
        switch (value.op()) {
          case ADD -> {
            var a = sum(value.input(0), depth + 1, body);
            yield value.input(1).is(Op.CONSTANT)
                ? new Sum(a.rest, a.literal + value.input(1).integer())
                : a.plus(sum(value.input(1), depth + 1, body), value, body);
          }
          case SHL ->
              value.input(1).is(Op.CONSTANT)
                  ? sum(value.input(0), depth + 1, body)
                      .times(1L << value.input(1).integer(), value, body)
                  : whole;
          case MUL ->
              value.input(1).is(Op.CONSTANT)
                  ? sum(value.input(0), depth + 1, body)
                      .times(value.input(1).integer(), value, body)
                  : whole;
          default -> whole;
        };
    if (sum.literal != 0 && isSmall(sum.literal)) {
      return sum;
    }
    body.subList(mark, body.size()).clear();
    return whole;
  }

  private static boolean isSmall(long literal) {
    return Math.abs(literal) <= MOST;
  }
}
