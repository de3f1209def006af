package dev.athanor.ops.attention;

import dev.athanor.ops.Op;
import dev.athanor.ops.OpProvider;
import java.util.List;

/** Attention and its backward pass. */
public final class AttentionOps implements OpProvider {

  @Override
  public List<Op> ops() {
    return List.of(new Attention(), new AttentionBackward(), new AttentionDecode());
  }
}
