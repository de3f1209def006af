package dev.athanor.models.graph;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.Op;
import dev.athanor.ops.TensorType;
import java.util.Map;

/** The ops of which graphs consist. */
public final class Ops {

  private static final Catalogue CATALOGUE = Catalogue.load();

  private Ops() {}

  /**
   * Returns an op.
   *
   * @throws IllegalArgumentException if there is none of that name
   */
  public static Op find(String name) {
    return CATALOGUE
        .find(name)
        .orElseThrow(() -> new IllegalArgumentException("there is no op " + name));
  }

  /**
   * Returns the types of an op's outputs by name.
   *
   * @throws dev.athanor.ops.OpException if the inputs and attributes do not suit the op
   */
  public static Map<String, TensorType> outputs(
      String name, Map<String, TensorType> inputs, Map<String, ?> attributes) {
    var op = find(name);
    Catalogue.checkInputs(op.description(), inputs);
    return op.outputs(inputs, Attributes.of(op.description(), attributes));
  }
}
