package dev.athanor.engine.lift.optimize;

import dev.athanor.engine.lift.ir.Block;
import dev.athanor.engine.lift.ir.Edge;
import dev.athanor.engine.lift.ir.Effect;
import dev.athanor.engine.lift.ir.Graph;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Terminator;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.ir.ValueType;
import dev.athanor.engine.ptx.Source;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * If-conversion: computes both arms of a small {@code if} and selects, and joins {@code &&} and
 * {@code ||} of small conditions to one branch.
 */
public final class ConvertIfs implements Pass {
  private static final int MOST_INSTRUCTIONS = 6;

  /** What an edge of a branch leads to: values to compute, then a block with arguments. */
  private record Arm(List<Value> body, Edge end) {}

  @Override
  public boolean run(Graph graph) {
    boolean changed = false;
    boolean again = true;
    while (again) {
      again = false;
      var predecessors = graph.predecessors();
      for (var block : graph.blocks()) {
        if (block.end() instanceof Terminator.Branch branch
            && (select(block, branch, predecessors) || joinConditions(block, branch, predecessors))) {
          again = true;
          changed = true;
          break; // the predecessors are stale
        }
      }
    }
    return changed;
  }

  private static boolean select(
      Block block, Terminator.Branch branch, Map<Block, List<Edge>> predecessors) {
    var meeting = meeting(branch, predecessors);
    if (meeting == null) {
      return false;
    }
    var yes = arm(branch.yes(), meeting);
    var no = arm(branch.no(), meeting);
    if (yes.body.size() + no.body.size() > MOST_INSTRUCTIONS) {
      return false;
    }
    block.body().addAll(yes.body);
    block.body().addAll(no.body);
    var arguments = new ArrayList<Value>();
    for (int i = 0; i < yes.end.arguments().size(); i++) {
      var a = yes.end.arguments().get(i);
      var b = no.end.arguments().get(i);
      arguments.add(
          a == b
              ? a
              : block.add(
                  new Value(
                      Op.SELECT, a.type(), List.of(branch.condition(), a, b), null, source(block))));
    }
    block.setEnd(new Terminator.Jump(new Edge(meeting, arguments)));
    return true;
  }

  private static Source source(Block block) {
    return block.body().isEmpty()
        ? Source.UNKNOWN
        : block.body().getLast().source();
  }

  /** Returns the block in which both arms end, if nothing else happens in them; null if none. */
  private static @Nullable Block meeting(
      Terminator.Branch branch, Map<Block, List<Edge>> predecessors) {
    var a = branch.yes().target();
    var b = branch.no().target();
    if (a == b) {
      return a;
    }
    if (isArm(a, predecessors)) {
      var end = a.successors().getFirst();
      if (end == b || (isArm(b, predecessors) && b.successors().getFirst() == end)) {
        return end == a ? null : end;
      }
    }
    return isArm(b, predecessors) && b.successors().getFirst() == a ? a : null;
  }

  private static boolean isArm(Block block, Map<Block, List<Edge>> predecessors) {
    return predecessors.getOrDefault(block, List.of()).size() == 1
        && block.parameters().isEmpty()
        && block.end() instanceof Terminator.Jump
        && isSpeculative(block);
  }

  private static Arm arm(Edge edge, Block meeting) {
    return edge.target() == meeting
        ? new Arm(List.of(), edge)
        : new Arm(List.copyOf(edge.target().body()), edge.target().edges().getFirst());
  }

  private static boolean isSpeculative(Block block) {
    return block.body().size() <= MOST_INSTRUCTIONS
        && block.body().stream()
            .allMatch(value -> value.effect() == Effect.NONE && isCheap(value));
  }

  private static boolean isCheap(Value value) {
    return switch (value.op()) {
      case DIV, REM, SQRT, CALL -> false;
      case MUL, FMA -> value.type() != ValueType.DOUBLE;
      default -> true;
    };
  }

  /** Joins a branch with one of its targets that branches to the same other target. */
  private static boolean joinConditions(
      Block block, Terminator.Branch branch, Map<Block, List<Edge>> predecessors) {
    for (boolean taken : new boolean[] {true, false}) {
      var inner = (taken ? branch.yes() : branch.no()).target();
      var outside = taken ? branch.no() : branch.yes();
      if (inner != block
          && predecessors.getOrDefault(inner, List.of()).size() == 1
          && inner.parameters().isEmpty()
          && inner.end() instanceof Terminator.Branch second
          && isSpeculative(inner)) {
        boolean exitsOnNo = isSame(second.no(), outside);
        if (exitsOnNo || isSame(second.yes(), outside)) {
          block.body().addAll(inner.body());
          var first = condition(block, branch.condition(), taken);
          var next = condition(block, second.condition(), exitsOnNo);
          var both = block.add(logic(Op.AND, first, next));
          var stays = exitsOnNo ? second.yes() : second.no();
          block.setEnd(new Terminator.Branch(both, stays, outside));
          return true;
        }
      }
    }
    return false;
  }

  private static boolean isSame(Edge a, Edge b) {
    return a.target() == b.target() && a.arguments().equals(b.arguments());
  }

  private static Value condition(Block block, Value condition, boolean holds) {
    return holds ? condition : block.add(logic(Op.XOR, condition, Value.constant(true)));
  }

  private static Value logic(Op op, Value a, Value b) {
    return new Value(op, ValueType.BOOL, List.of(a, b), null, a.source());
  }
}
