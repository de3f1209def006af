package dev.athanor.models.fusion;

import dev.athanor.models.graph.Graph.Source;
import dev.athanor.models.graph.Graph.Step;
import java.util.ArrayList;
import java.util.List;

/** A number plus tensors, as a chain of steps computes it. */
record Sum(double number, List<Source> terms) {

  /** Maximum terms that are not numbers; sums before are terms. */
  private static final int MOST_TERMS = 16;

  /** Returns the sum that a tensor without other readers is; else the tensor is the only term. */
  static Sum of(Rewriter graph, Source source) {
    double number = 0;
    var terms = new ArrayList<Source>();
    var open = new ArrayList<>(List.of(source));
    while (!open.isEmpty()) {
      var next = open.removeFirst();
      var scalar = graph.scalar(next);
      var step = graph.onlyMap(next, "x0 + x1");
      if (scalar.isPresent()) {
        number += scalar.getAsDouble();
      } else if (step.isPresent() && terms.size() + open.size() < MOST_TERMS) {
        open.addAll(0, operands(step.get()));
      } else {
        terms.add(next);
      }
    }
    return new Sum(number, List.copyOf(terms));
  }

  /** Returns the operands of an operator. */
  static List<Source> operands(Step step) {
    return List.of(Rewriter.input(step, "x0"), Rewriter.input(step, "x1"));
  }
}
