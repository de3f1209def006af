package dev.athanor.engine.lift.optimize;

import dev.athanor.engine.lift.ir.Graph;

/** A change of a graph that keeps what the kernel does. */
@FunctionalInterface
public interface Pass {
  /** Changes the graph in place; returns whether anything changed. */
  boolean run(Graph graph);
}
