package dev.athanor.ops.indexing;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.problem.Checks;
import java.util.ArrayList;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;

/**
 * The shapes of x and of an index that fit.
 *
 * @param tuples whether the last dimension of the index holds the first indices of a slice of x, as
 *     in ONNX's GatherND; otherwise each number is the index of an element in one dimension, as in
 *     GatherElements
 * @param dimension number of batch dimensions for tuples, otherwise the dimension that is indexed
 */
record Indices(Shape x, Shape index, boolean tuples, int dimension) {

  static final String X = "x";
  static final String INDEX = "index";
  static final String AXIS = "axis";
  static final String BATCH = "batchDims";

  private static TensorType type(Map<String, TensorType> inputs, String name) {
    return Objects.requireNonNull(inputs.get(name), name);
  }

  /**
   * Returns the indices of elements.
   *
   * @throws OpException if the shapes or the axis do not fit
   */
  static Indices elements(Map<String, TensorType> inputs, Attributes attributes) {
    var x = type(inputs, X).shape();
    var index = type(inputs, INDEX).shape();
    int axis = Checks.axis(attributes, AXIS, X, x);
    if (index.rank() != x.rank()
        || IntStream.range(0, x.rank()).anyMatch(i -> i != axis && index.extent(i) > x.extent(i))) {
      throw new OpException.ShapeMismatch(
          INDEX,
          "index has shape %s but x has %s; index must have as many dimensions, and no greater extents except in dimension %d"
              .formatted(index, x, axis));
    }
    return new Indices(x, index, false, axis);
  }

  /**
   * Returns the indices of slices.
   *
   * @throws OpException if the shapes do not fit
   */
  static Indices slices(Map<String, TensorType> inputs, long batch) {
    var x = type(inputs, X).shape();
    var index = type(inputs, INDEX).shape();
    int shared = (int) Math.min(batch, Integer.MAX_VALUE);
    if (shared >= Math.min(x.rank(), index.rank())
        || !x.extents().subList(0, shared).equals(index.extents().subList(0, shared))) {
      throw new OpException.ShapeMismatch(
          INDEX,
          batch == 0
              ? "index has shape %s and x has %s; neither may be a scalar".formatted(index, x)
              : "index has shape %s and x has %s; with \"batchDims\" %d both need at least %d dimensions, of which the first %d must be equal"
                  .formatted(index, x, batch, batch + 1, batch));
    }
    if (index.extent(-1) > x.rank() - shared) {
      throw new OpException.ShapeMismatch(
          INDEX,
          "index has shape %s; its last extent must be at most %d, the dimensions of x %s%s"
              .formatted(
                  index, x.rank() - shared, x, batch == 0 ? "" : " after the first " + batch));
    }
    return new Indices(x, index, true, shared);
  }

  private int components() {
    return tuples ? (int) index.extent(-1) : 1;
  }

  /** Returns the extent of the dimension of x that a component indexes. */
  private long extent(int component) {
    return x.extent(dimension + component);
  }

  /** Returns the shape of all named elements. */
  Shape named() {
    if (!tuples) {
      return index;
    }
    var extents = new ArrayList<>(index.leading(1).extents());
    extents.addAll(x.extents().subList(dimension + components(), x.rank()));
    return new Shape(extents);
  }

  /** Returns the number of elements that a position names. */
  long width() {
    return tuples
        ? new Shape(x.extents().subList(dimension + components(), x.rank())).elements()
        : 1;
  }

  Lookup lookup() {
    return tuples ? Lookup.slices(x, index, dimension) : Lookup.elements(x, index, dimension);
  }

  /**
   * Returns the slice that a position names, from the definition of the op; -1 if the index is out
   * of range.
   */
  long slice(HostTensor indices, long position) {
    var at = new long[tuples ? dimension + components() : x.rank()];
    long rest = position;
    for (int i = index.rank() - (tuples ? 2 : 1); i >= 0; i--) {
      if (i < at.length) {
        at[i] = rest % index.extent(i);
      }
      rest /= index.extent(i);
    }
    for (int c = 0; c < components(); c++) {
      long given = indices.type().dtype().readLong(indices.data(), position * components() + c);
      at[dimension + c] = given < 0 ? given + extent(c) : given;
      if (at[dimension + c] < 0 || at[dimension + c] >= extent(c)) {
        return -1;
      }
    }
    long slice = 0;
    for (int i = 0; i < at.length; i++) {
      slice = slice * x.extent(i) + at[i];
    }
    return slice;
  }

  /** Draws an index in range. */
  HostTensor draw(TensorType type, Draw draw) {
    var drawn = draw.integers(0, Integer.MAX_VALUE, type);
    long elements = type.shape().elements();
    for (long i = 0; i < elements; i++) {
      long any = type.dtype().readLong(drawn.data(), i);
      type.dtype().writeLong(drawn.data(), i, any % extent((int) (i % components())));
    }
    return drawn;
  }
}
