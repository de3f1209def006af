package dev.athanor.engine.lift.optimize;

import dev.athanor.engine.lift.analysis.Dominators;
import dev.athanor.engine.lift.analysis.PhiInputs;
import dev.athanor.engine.lift.ir.Argument;
import dev.athanor.engine.lift.ir.ArgumentValue;
import dev.athanor.engine.lift.ir.Block;
import dev.athanor.engine.lift.ir.Graph;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Relation;
import dev.athanor.engine.lift.ir.Terminator;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.simplify.Range;
import dev.athanor.engine.ptx.SpecialRegister;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Removes checks that cannot fail: of an index whose range is within the array, and of one that a
 * branch around the check has compared with the length. Launches with checks have less than 2^31
 * threads along an axis, so that the index of a thread in the grid is not negative.
 */
final class RemoveProvenChecks implements Pass {

  /** The largest step of a counter that stays within an int after it was below a length. */
  private static final long MOST_STEP = (1L << 31) - Argument.MAX_LENGTH;

  /** The registers of the thread in its block, of the block, and of the block's extent. */
  private enum Axis {
    X(SpecialRegister.TID_X, SpecialRegister.CTAID_X, SpecialRegister.NTID_X),
    Y(SpecialRegister.TID_Y, SpecialRegister.CTAID_Y, SpecialRegister.NTID_Y),
    Z(SpecialRegister.TID_Z, SpecialRegister.CTAID_Z, SpecialRegister.NTID_Z);

    private final SpecialRegister thread;
    private final SpecialRegister block;
    private final SpecialRegister extent;

    Axis(SpecialRegister thread, SpecialRegister block, SpecialRegister extent) {
      this.thread = thread;
      this.block = block;
      this.extent = extent;
    }
  }

  @Override
  public boolean run(Graph graph) {
    boolean hasChecks =
        graph.blocks().stream()
            .anyMatch(block -> block.body().stream().anyMatch(value -> value.is(Op.CHECK)));
    return hasChecks && new Walk(graph).visit(graph.entry(), List.of());
  }

  /** A comparison of integers that holds in a block: {@code a relation b}. */
  private record Fact(Relation relation, Value a, Value b) {}

  private static final class Walk {
    private final Graph graph;
    private final Dominators dominators;
    private final PhiInputs phis;
    private final Map<Value, Block> blocks = new HashMap<>();

    Walk(Graph graph) {
      this.graph = graph;
      dominators = new Dominators(graph);
      phis = new PhiInputs(graph);
      for (var block : dominators.order()) {
        block.body().forEach(value -> blocks.put(value, block));
      }
    }

    boolean visit(Block block, List<Fact> above) {
      var facts = new ArrayList<>(above);
      facts.addAll(factsOf(block));
      boolean changed =
          block.body().removeIf(value -> value.is(Op.CHECK) && isProven(value, facts));
      for (var child : dominators.children(block)) {
        changed |= visit(child, facts);
      }
      return changed;
    }

    /** Returns what the branch to a block says, if that is the only way to it. */
    private List<Fact> factsOf(Block block) {
      var edges = dominators.predecessorsOf(block);
      if (edges.size() != 1
          || !(dominators.sourceOf(edges.getFirst()).end()
              instanceof Terminator.Branch(var condition, var yes, var no))
          || yes.target() == no.target()
          || !condition.is(Op.COMPARE)
          || !condition.input(0).type().isInteger()) {
        return List.of();
      }
      var relation = condition.attribute(Relation.class);
      var type = condition.input(0).type();
      return List.of(
          new Fact(
              yes.target() == block ? relation : relation.negated(type),
              condition.input(0),
              condition.input(1)));
    }

    private boolean isProven(Value check, List<Fact> facts) {
      var index = check.input(0);
      var limit = check.input(1);
      return isBelow(index, limit, facts) && isNonNegative(index, facts);
    }

    private boolean isBelow(Value index, Value limit, List<Fact> facts) {
      long least = range(limit).least();
      return range(index).most() < least
          || facts.stream()
              .anyMatch(fact ->
                  switch (fact.relation) {
                    case LT -> fact.a == index && isAtMost(fact.b, limit, least);
                    case GT -> fact.b == index && isAtMost(fact.a, limit, least);
                    default -> false;
                  });
    }

    private boolean isAtMost(Value bound, Value limit, long least) {
      return bound == limit || range(bound).most() <= least;
    }

    private boolean isNonNegative(Value index, List<Fact> facts) {
      return range(index).isNonNegative()
          || isIndexInGrid(index)
          || isCounter(index)
          || facts.stream()
              .anyMatch(fact ->
                  fact.relation == Relation.GE && fact.a == index && range(fact.b).isNonNegative());
    }

    private Range range(Value value) {
      return Range.of(value, graph.blockShape());
    }

    /** Returns whether a value is the index of a thread in the grid, along one axis. */
    private boolean isIndexInGrid(Value value) {
      return value.is(Op.ADD)
          && (isIndexInGrid(value.input(0), value.input(1))
              || isIndexInGrid(value.input(1), value.input(0)));
    }

    private boolean isIndexInGrid(Value thread, Value start) {
      return Arrays.stream(Axis.values())
          .anyMatch(axis -> isRegister(thread, axis.thread) && isStart(start, axis));
    }

    /** Returns whether a value is the index of the first thread of a block. */
    private boolean isStart(Value start, Axis axis) {
      return switch (start.op()) {
        case MUL ->
            isBlockAndExtent(start.input(0), start.input(1), axis)
                || isBlockAndExtent(start.input(1), start.input(0), axis);
        case SHL ->
            isRegister(start.input(0), axis.block)
                && start.input(1).isIntegerConstant()
                && 1L << start.input(1).integer() == declared(axis);
        default -> false;
      };
    }

    private boolean isBlockAndExtent(Value block, Value extent, Axis axis) {
      return isRegister(block, axis.block)
          && (isRegister(extent, axis.extent)
              || (extent.isIntegerConstant() && extent.integer() == declared(axis)));
    }

    private static boolean isRegister(Value value, SpecialRegister wanted) {
      return value.is(Op.SPECIAL) && value.attribute(SpecialRegister.class) == wanted;
    }

    /** Returns the declared extent of a block along an axis; 0 if none is declared. */
    private int declared(Axis axis) {
      var shape = graph.blockShape();
      if (shape.isEmpty()) {
        return 0;
      }
      return switch (axis) {
        case X -> shape.get(0);
        case Y -> shape.get(1);
        case Z -> shape.get(2);
      };
    }

    /**
     * Returns whether a value counts up from a number that is not negative, and each step starts
     * below a bound from which it cannot overflow.
     */
    private boolean isCounter(Value phi) {
      var inputs = phis.of(phi);
      return !inputs.isEmpty()
          && inputs.stream()
              .allMatch(input ->
                  range(input).isNonNegative() || isIndexInGrid(input) || isStep(input, phi));
    }

    private boolean isStep(Value value, Value phi) {
      var block = blocks.get(value);
      if (block == null
          || !value.is(Op.ADD)
          || value.input(0) != phi
          || !value.input(1).isIntegerConstant()) {
        return false;
      }
      long step = value.input(1).integer();
      for (var at = block; at != null; at = dominators.parent(at)) {
        for (var fact : factsOf(at)) {
          if (fact.relation == Relation.LT
              && fact.a == phi
              && step > 0
              && step <= (isLength(fact.b) ? MOST_STEP : 1)) {
            return true;
          }
        }
      }
      return false;
    }

    private static boolean isLength(Value value) {
      return value.is(Op.ARGUMENT)
          && value.attribute(ArgumentValue.class).part() == ArgumentValue.Part.LENGTH;
    }
  }
}
