package dev.athanor.models.fusion;

import dev.athanor.models.graph.Graph.Step;

/** A pattern of steps and what replaces it. */
interface Rule {

  /**
   * Replaces the steps that end with the given one if they match.
   *
   * @return whether the graph changed
   */
  boolean apply(Rewriter graph, Step last);
}
