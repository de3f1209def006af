package dev.athanor.service.run;

import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.service.stream.RequestContext;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A request to run an op.
 *
 * @param inputs by the names of the description
 * @param attributes as they were given
 * @param outputs what to do with outputs
 * @param others what to do with outputs that are not named; null for nothing
 */
public record Call(
    Op op,
    Map<String, Input> inputs,
    Map<String, ?> attributes,
    Map<String, Target> outputs,
    @Nullable Target others,
    RequestContext terms) {

  public Call {
    inputs = Map.copyOf(inputs);
    attributes = Map.copyOf(attributes);
    outputs = Map.copyOf(outputs);
  }

  /** A call whose outputs come back inline where they are not named. */
  public Call(
      Op op,
      Map<String, Input> inputs,
      Map<String, ?> attributes,
      Map<String, Target> outputs,
      RequestContext terms) {
    this(op, inputs, attributes, outputs, Target.INLINE, terms);
  }

  /** Where an input comes from. */
  public sealed interface Input {
    /** Data that came with the request. */
    record Inline(HostTensor tensor) implements Input {}

    /**
     * A resident tensor.
     *
     * @param shape that the call takes it to have, of as many elements; null for its own
     */
    record Resident(String handle, @Nullable List<Long> shape) implements Input {
      public Resident {
        shape = shape == null ? null : List.copyOf(shape);
      }

      /** A resident tensor of its own shape. */
      public Resident(String handle) {
        this(handle, null);
      }
    }
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
    /**
     * Back to the client.
     *
     * @param readable the dtypes that the form of the answer has; an output of another one is
     *     refused before anything runs
     */
    record Inline(Set<DType> readable) implements Destination {
      public Inline {
        readable = Set.copyOf(readable);
      }

      /** Of whatever dtype. */
      public Inline() {
        this(EnumSet.allOf(DType.class));
      }
    }

    /** Into a new resident tensor. */
    record Keep() implements Destination {}

    /** Into a resident tensor that is there. */
    record Into(String handle) implements Destination {}
  }
}
