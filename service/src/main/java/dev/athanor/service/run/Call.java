package dev.athanor.service.run;

import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A request to run an op.
 *
 * @param inputs by the names of the description
 * @param attributes as they were given
 * @param outputs what to do with outputs; those that are not named come back inline
 * @param sayable the dtypes that an inline output may have, which are those of the answer's form
 */
public record Call(
    Op op,
    Map<String, Input> inputs,
    Map<String, ?> attributes,
    Map<String, Target> outputs,
    Set<DType> sayable,
    Terms terms) {

  /** A call whose answer can say all dtypes. */
  public Call(
      Op op,
      Map<String, Input> inputs,
      Map<String, ?> attributes,
      Map<String, Target> outputs,
      Terms terms) {
    this(op, inputs, attributes, outputs, Set.of(DType.values()), terms);
  }

  public Call {
    inputs = Map.copyOf(inputs);
    attributes = Map.copyOf(attributes);
    outputs = Map.copyOf(outputs);
    sayable = Set.copyOf(sayable);
  }

  /** Where an input comes from. */
  public sealed interface Input {
    /** Data that came with the request. */
    record Inline(HostTensor tensor) implements Input {}

    /** A resident tensor. */
    record Resident(String handle) implements Input {}
  }

  /**
   * Where an output goes.
   *
   * @param dtype what it must be; null for what the op gives
   */
  public record Target(Destination destination, @Nullable DType dtype) {
    public static final Target INLINE = new Target(new Destination.Inline(), null);
  }

  /** Where the elements of an output go. */
  public sealed interface Destination {
    /** Back to the client. */
    record Inline() implements Destination {}

    /** Into a new resident tensor. */
    record Keep() implements Destination {}

    /** Into a resident tensor that is there. */
    record Into(String handle) implements Destination {}
  }
}
