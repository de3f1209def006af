package dev.athanor.models.onnx.operator;

import dev.athanor.models.graph.Value;
import java.util.List;

/** Expresses an operator of ONNX by ops. */
@FunctionalInterface
public interface Operator {

  /**
   * Returns the outputs of a node.
   *
   * @throws NotExpressible if no ops compute what the node asks for
   * @throws dev.athanor.ops.OpException if the inputs do not suit an op
   */
  List<Value> apply(Node node);

  /** An operator with one output. */
  @FunctionalInterface
  interface Single {
    Value apply(Node node);
  }

  static Operator of(Single operator) {
    return node -> List.of(operator.apply(node));
  }

  /** What a node asks for cannot be computed by ops. The message completes "it requires". */
  final class NotExpressible extends RuntimeException {
    private static final long serialVersionUID = 1;

    public NotExpressible(String required) {
      super(required);
    }
  }
}
