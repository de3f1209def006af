package dev.athanor.models.onnx.operator;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The operators of ONNX that the import expresses, by name. */
public final class Operators {

  private static final Map<String, Operator> ALL = new HashMap<>();

  static {
    for (var family :
        List.of(
            Elementwise.OPERATORS,
            Moves.OPERATORS,
            Reductions.OPERATORS,
            Normalizations.OPERATORS,
            Losses.OPERATORS,
            Optimizers.OPERATORS,
            Windows.OPERATORS,
            Pools.OPERATORS,
            Resizing.OPERATORS,
            Products.OPERATORS,
            Attentions.OPERATORS,
            Quantization.OPERATORS)) {
      ALL.putAll(family);
    }
  }

  private Operators() {}

  public static Optional<Operator> find(String name) {
    return Optional.ofNullable(ALL.get(name));
  }
}
