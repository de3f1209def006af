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
 * address. {@code i + c} may wrap in Java, but then is out of bounds of every array that the launch
 * accepts, for literals up to {@link #MOST}.
 */
public final class FoldOffsets implements Pass {
  private static final long MOST = 1 << 20;

  /** An address, and the bytes to add to it. */
  private record Split(Value address, long bytes) {}

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
    var split = split(value.input(0));
    if (split == null) {
      return value;
    }
    if (split.address.is(Op.ADDRESS)) {
      body.add(split.address);
    }
    var inputs = new ArrayList<>(value.inputs());
    inputs.set(0, split.address);
    var access = value.attribute(Access.class).plus(split.bytes);
    var result = new Value(value.op(), value.type(), inputs, access, value.source());
    replaced.put(value, result);
    return result;
  }

  private static @Nullable Split split(Value address) {
    if (!address.is(Op.ADDRESS)) {
      return null;
    }
    var index = address.input(1);
    int size = address.attribute(Integer.class);
    if (index.is(Op.CONSTANT)) {
      return isSmall(index) ? new Split(address.input(0), index.integer() * size) : null;
    }
    boolean isSum = index.is(Op.ADD) && index.input(1).is(Op.CONSTANT) && isSmall(index.input(1));
    return isSum
        ? new Split(
            new Value(
                Op.ADDRESS,
                address.type(),
                List.of(address.input(0), index.input(0)),
                size,
                address.source()),
            index.input(1).integer() * size)
        : null;
  }

  private static boolean isSmall(Value literal) {
    return literal.type().isInteger() && Math.abs(literal.integer()) <= MOST;
  }
}
