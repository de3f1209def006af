package dev.athanor.models.graph;

import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.LongStream;

/**
 * A tensor of a graph that is being built.
 *
 * @param source the tensor that holds its elements, in row-major order
 * @param type its own dtype and shape
 * @param constant its elements, if they are known
 */
public record Value(String source, TensorType type, Optional<HostTensor> constant) {

  public DType dtype() {
    return type.dtype();
  }

  public Shape shape() {
    return type.shape();
  }

  public int rank() {
    return type.shape().rank();
  }

  /** Returns an extent; negative indices count from the last. */
  public long extent(int index) {
    return type.shape().extent(axis(index));
  }

  public long elements() {
    return type.shape().elements();
  }

  /** Returns the index of a dimension, which may be counted from the last. */
  public int axis(long index) {
    if (index < -rank() || index >= rank()) {
      throw new IllegalArgumentException(
          "axis %d is not a dimension of %s".formatted(index, shape()));
    }
    return (int) (index < 0 ? index + rank() : index);
  }

  /** Returns the indices of the dimensions from {@code first} on. */
  public List<Long> axesFrom(int first) {
    return LongStream.range(first, rank()).boxed().toList();
  }

  /**
   * Returns the value with another shape; an extent of -1 is inferred.
   *
   * @throws IllegalArgumentException if it has another number of elements
   */
  public Value reshape(List<Long> extents) {
    long known = 1;
    for (long extent : extents) {
      known *= extent < 0 ? 1 : extent;
    }
    var shape = new ArrayList<Long>();
    for (long extent : extents) {
      shape.add(extent < 0 && known > 0 ? elements() / known : extent);
    }
    var reshaped = new Shape(shape);
    if (reshaped.elements() != elements()) {
      throw new IllegalArgumentException(
          "%s cannot be reshaped to %s".formatted(shape(), new Shape(extents)));
    }
    var to = new TensorType(dtype(), reshaped);
    return new Value(source, to, constant.map(tensor -> new HostTensor(to, tensor.data())));
  }

  /** Returns the value with another shape; an extent of -1 is inferred. */
  public Value reshape(long... extents) {
    return reshape(Arrays.stream(extents).boxed().toList());
  }

  /** Returns the value with the dimensions from {@code first} on as one. */
  public Value flattenFrom(int first) {
    if (first > rank()) {
      throw new IllegalArgumentException(
          "%s must have at least %d dimensions".formatted(shape(), first));
    }
    var extents = new ArrayList<>(shape().extents().subList(0, first));
    long inner = 1;
    for (long extent : shape().extents().subList(first, rank())) {
      inner *= extent;
    }
    extents.add(inner);
    return reshape(extents);
  }

  /** Returns the value with extents of 1 before the given dimensions of the result. */
  public Value unsqueeze(List<Long> axes) {
    int rank = rank() + axes.size();
    var added = axes.stream().map(axis -> axis < 0 ? axis + rank : axis).toList();
    if (added.stream().filter(axis -> axis >= 0 && axis < rank).distinct().count() < axes.size()) {
      throw new IllegalArgumentException(
          "axes %s are not distinct dimensions of a shape of %d".formatted(axes, rank));
    }
    var extents = new ArrayList<Long>();
    var own = shape().extents().iterator();
    for (long i = 0; i < rank; i++) {
      extents.add(added.contains(i) ? 1 : own.next());
    }
    return reshape(extents);
  }

  /** Returns the value without the given dimensions, which must have the extent 1. */
  public Value squeeze(List<Long> axes) {
    var removed = axes.stream().map(this::axis).toList();
    var extents = new ArrayList<Long>();
    for (int i = 0; i < rank(); i++) {
      if (!removed.contains(i)) {
        extents.add(extent(i));
      }
    }
    return reshape(extents);
  }

  /** Returns a vector as a tensor that broadcasts along one dimension. */
  public Value along(int axis, int rank) {
    var extents = new ArrayList<Long>();
    for (int i = 0; i < rank; i++) {
      extents.add(i == axis ? elements() : 1);
    }
    return reshape(extents);
  }
}
