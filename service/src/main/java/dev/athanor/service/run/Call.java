package dev.athanor.service.run;

import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.TensorOptions;
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
     * @param view what to read of it; null for all of it in its own shape
     */
    record Resident(String handle, @Nullable View view) implements Input {

      /** Creates a reference to a resident tensor in its own shape. */
      public Resident(String handle) {
        this(handle, null);
      }
    }
  }

  /**
   * Some elements of a tensor as another tensor. Without an offset and strides, it has the same
   * number of elements.
   *
   * @param shape null for the tensor's own
   * @param offset index of the first element in the tensor; null for 0
   * @param strides distance of consecutive elements along each dimension; null for those of a dense
   *     tensor
   */
  public record View(
      @Nullable List<Long> shape, @Nullable Long offset, @Nullable List<Long> strides) {
    public View {
      shape = shape == null ? null : List.copyOf(shape);
      strides = strides == null ? null : List.copyOf(strides);
    }

    /** Returns a view, or null if nothing is given. */
    public static @Nullable View of(
        @Nullable List<Long> shape, @Nullable Long offset, @Nullable List<Long> strides) {
      return shape == null && offset == null && strides == null
          ? null
          : new View(shape, offset, strides);
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
    record Keep(TensorOptions options) implements Destination {

      /** Creates a destination without options. */
      public Keep() {
        this(TensorOptions.NONE);
      }
    }

    /**
     * Written into an existing resident tensor.
     *
     * @param version the version that the tensor must have before the run; null for any
     * @param inPlace whether to reject the call unless the op writes directly into the tensor and
     *     copies none of its old contents
     */
    record Into(String handle, @Nullable Long version, boolean inPlace) implements Destination {

      /** Creates a destination without conditions. */
      public Into(String handle) {
        this(handle, null, false);
      }
    }
  }
}
