package dev.athanor.engine.lift.ir;

import java.util.ArrayList;
import java.util.List;

/** A basic block: parameters, instructions and a terminator. */
public final class Block {
  private final List<Value> parameters = new ArrayList<>();
  private final List<Value> body = new ArrayList<>();
  private Terminator end = new Terminator.Return();

  /** Returns the parameters, values of {@link Op#PHI}; passes edit the list. */
  public List<Value> parameters() {
    return parameters;
  }

  /** Returns the instructions in order; passes edit the list. Constants need not be in a block. */
  public List<Value> body() {
    return body;
  }

  public Terminator end() {
    return end;
  }

  public void setEnd(Terminator terminator) {
    end = terminator;
  }

  /** Appends an instruction and returns it. */
  public Value add(Value value) {
    if (!value.is(Op.CONSTANT)) {
      body.add(value);
    }
    return value;
  }

  public List<Edge> edges() {
    return end.edges();
  }

  public List<Block> successors() {
    return edges().stream().map(Edge::target).toList();
  }
}
