package dev.athanor.ops.row;

import dev.athanor.ops.Op;
import dev.athanor.ops.OpProvider;
import java.util.List;

/** What is computed row by row: norms, softmax, rotary positions, and what is fused with them. */
public final class RowOps implements OpProvider {

  @Override
  public List<Op> ops() {
    return List.of(
        new Softmax(false),
        new Softmax(true),
        new NormOp(Norm.LAYER, false),
        new NormOp(Norm.RMS, false),
        new NormOp(Norm.LAYER, true),
        new NormOp(Norm.RMS, true),
        new NormBackwardOp(Norm.LAYER),
        new NormBackwardOp(Norm.RMS),
        new RopeOp(),
        new NormRopeOp());
  }
}
