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
 * @param inputs inputs by name
 * @param attributes attributes by name, as given in the request
 * @param outputs the targets of named outputs
 * @param defaultTarget the target of all other outputs; null to discard them
 */
public record Call(
    Op op,
    Map<String, Input> inputs,
    Map<String, ?> attributes,
    Map<String, Target> outputs,
    @Nullable Target defaultTarget,
    RequestContext context) {

  public Call {
    inputs = Map.copyOf(inputs);
    attributes = Map.copyOf(attributes);
    outputs = Map.copyOf(outputs);
  }

  /** Creates a call that returns outputs inline unless {@code outputs} names another target. */
  public Call(
      Op op,
      Map<String, Input> inputs,
      Map<String, ?> attributes,
      Map<String, Target> outputs,
      RequestContext context) {
    this(op, inputs, attributes, outputs, Target.INLINE, context);
  }

  /** The source of an input. */
  public sealed interface Input {
    /** Data sent with the request. */
    record Inline(HostTensor tensor) implements Input {}

    /**
     * A resident tensor.
     *
     * @param shape the shape to reinterpret it as, with the same number of elements; null for its
     *     own
     */
    record Resident(String handle, @Nullable List<Long> shape) implements Input {
      public Resident {
        shape = shape == null ? null : List.copyOf(shape);
      }

      /** Creates a reference to a resident tensor in its own shape. */
      public Resident(String handle) {
        this(handle, null);
      }
    }
  }

  /**
   * The target of an output.
   *
   * @param dtype the required dtype; null for any
   */
  public record Target(Destination destination, @Nullable DType dtype) {
    public static final Target INLINE = new Target(new Destination.Inline(), null);
  }

  /** The destination of an output's elements. */
  public sealed interface Destination {
    /**
     * Returned inline in the response.
     *
     * @param encodable the dtypes that the response format can encode; the call is rejected before
     *     it runs if the output has another
     */
    record Inline(Set<DType> encodable) implements Destination {
      public Inline {
        encodable = Set.copyOf(encodable);
      }

      /** Creates an inline destination that accepts every dtype. */
      public Inline() {
        this(EnumSet.allOf(DType.class));
      }
    }

    /** Kept on the device as a new resident tensor. */
    record Keep() implements Destination {}

    /** Written into an existing resident tensor. */
    record Into(String handle) implements Destination {}
  }
}
