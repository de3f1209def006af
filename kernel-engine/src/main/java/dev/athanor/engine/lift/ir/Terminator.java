package dev.athanor.engine.lift.ir;

import java.util.List;

/** The end of a block. */
public sealed interface Terminator {

  /** Returns the edges to the successors. */
  default List<Edge> edges() {
    return switch (this) {
      case Jump jump -> List.of(jump.to);
      case Branch branch -> List.of(branch.yes, branch.no);
      case Return _ -> List.of();
    };
  }

  record Jump(Edge to) implements Terminator {}

  /**
   * A two-way branch.
   *
   * @param condition of type BOOL
   */
  record Branch(Value condition, Edge yes, Edge no) implements Terminator {}

  /** The end of the kernel. */
  record Return() implements Terminator {}
}
