package dev.athanor.engine.lift.ir;

import java.util.ArrayList;
import java.util.List;

/** A control-flow edge: its target and the values of the target's parameters. */
public final class Edge {
  private Block target;
  private final List<Value> arguments;

  public Edge(Block target, List<Value> arguments) {
    this.target = target;
    this.arguments = new ArrayList<>(arguments);
  }

  public Edge(Block target) {
    this(target, List.of());
  }

  public Block target() {
    return target;
  }

  public void setTarget(Block newTarget) {
    target = newTarget;
  }

  /** Returns the arguments, one for each parameter of the target; passes edit the list. */
  public List<Value> arguments() {
    return arguments;
  }

  /** Replaces the arguments. */
  public void setArguments(List<Value> values) {
    arguments.clear();
    arguments.addAll(values);
  }
}
