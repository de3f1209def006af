package dev.athanor.ops.matmul;

import dev.athanor.ops.Op;
import dev.athanor.ops.OpProvider;
import java.util.List;

/** The matrix products. */
public final class MatmulOps implements OpProvider {

  @Override
  public List<Op> ops() {
    return List.of(new Matmul(), new MatmulInt8(), new MatmulBackward(), new Gemv());
  }
}
