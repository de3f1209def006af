package dev.athanor.ops.elementwise;

import dev.athanor.ops.Op;
import dev.athanor.ops.OpProvider;
import java.util.List;

/** What is computed element by element, and what only moves, picks or sums elements. */
public final class ElementwiseOps implements OpProvider {

  @Override
  public List<Op> ops() {
    return List.of();
  }
}
