package dev.athanor.ops.linear.steps;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.List;

/** The inputs of every step: the matrices, and the position of the block's tile in c. */
final class Matrices {
  final GlobalPointer a;
  final GlobalPointer b;
  final GlobalPointer c;

  /** The number of columns of b and c. */
  final Int n;

  /** The number of columns of a and of rows of b. */
  final Int depth;

  final Int row;
  final Int column;

  Matrices(KernelBuilder k, LadderStep step) {
    a = k.pointer("a", Type.F16);
    b = k.pointer("b", Type.F16);
    c = k.pointer("c", Type.F32);
    n = k.integer("n");
    depth = k.integer("k");
    row = k.blockY().times(step.tileM());
    column = k.block().times(step.tileN());
  }

  /** Returns accumulators, all zero. */
  static List<Real.Variable> sums(KernelBuilder k, int count) {
    var sums = new ArrayList<Real.Variable>();
    for (int i = 0; i < count; i++) {
      sums.add(k.variable(k.real(Type.F32, 0)));
    }
    return sums;
  }
}
