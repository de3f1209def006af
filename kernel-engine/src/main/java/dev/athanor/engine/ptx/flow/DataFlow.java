package dev.athanor.engine.ptx.flow;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A data-flow problem on a control-flow graph, solved with a worklist.
 *
 * @param <F> the facts about one point of the code, a mutable set; {@link BitSet} for most problems
 * @param direction the direction in which facts flow
 * @param meet combines the facts of several paths
 * @param transfer the effect of a statement on facts
 */
public record DataFlow<F>(
    ControlFlow flow, Direction direction, Meet<F> meet, Transfer<F> transfer) {

  /** The direction in which facts flow along the edges of the graph. */
  public enum Direction {
    FORWARD,
    BACKWARD
  }

  /** Combines the facts of several paths. */
  public interface Meet<F> {
    /** Returns a copy that can be changed. */
    F copy(F facts);

    /** Merges the facts of another path into those of a point; returns whether they changed. */
    boolean merge(F into, F other);
  }

  /** The effect of each statement on the facts that reach it. */
  @FunctionalInterface
  public interface Transfer<F> {
    /** Changes the facts on one side of a statement into those on the other side. */
    void apply(int statement, F facts);
  }

  /** Keeps the facts that hold on any path: a may analysis. */
  public static final Meet<BitSet> UNION =
      new SetMeet() {
        @Override
        void combine(BitSet into, BitSet other) {
          into.or(other);
        }
      };

  /** Keeps the facts that hold on all paths: a must analysis. */
  public static final Meet<BitSet> INTERSECTION =
      new SetMeet() {
        @Override
        void combine(BitSet into, BitSet other) {
          into.and(other);
        }
      };

  private abstract static class SetMeet implements Meet<BitSet> {
    abstract void combine(BitSet into, BitSet other);

    @Override
    public BitSet copy(BitSet facts) {
      return (BitSet) facts.clone();
    }

    @Override
    public boolean merge(BitSet into, BitSet other) {
      int before = into.cardinality();
      combine(into, other);
      return into.cardinality() != before;
    }
  }

  /**
   * Solves the problem.
   *
   * @param starts the statements where the analysis begins
   * @param boundary the facts at those statements
   * @return for each statement the facts that flow into it: in a forward problem those before it,
   *     in a backward problem those after it; null where no path leads from a start
   */
  public List<@Nullable F> solve(BitSet starts, F boundary) {
    var facts = new ArrayList<@Nullable F>(Collections.nCopies(flow.size(), null));
    var pending = (BitSet) starts.clone();
    starts.stream().forEach(at -> facts.set(at, meet.copy(boundary)));
    for (int at = next(pending); at >= 0; at = next(pending)) {
      pending.clear(at);
      var known = facts.get(at);
      if (known == null) {
        continue;
      }
      var result = meet.copy(known);
      transfer.apply(at, result);
      for (int neighbor : neighbors(at)) {
        var other = facts.get(neighbor);
        if (other == null) {
          facts.set(neighbor, meet.copy(result));
          pending.set(neighbor);
        } else if (meet.merge(other, result)) {
          pending.set(neighbor);
        }
      }
    }
    return facts;
  }

  /** Takes statements in the order in which facts flow through straight-line code. */
  private int next(BitSet pending) {
    return direction == Direction.FORWARD
        ? pending.nextSetBit(0)
        : pending.previousSetBit(flow.size());
  }

  private List<Integer> neighbors(int statement) {
    return direction == Direction.FORWARD
        ? flow.successors(statement)
        : flow.predecessors(statement);
  }
}
