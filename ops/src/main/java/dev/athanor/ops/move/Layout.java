package dev.athanor.ops.move;

import dev.athanor.ops.DType;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import java.util.ArrayList;
import java.util.List;

/**
 * The positions of a tensor's elements in memory that starts at a multiple of 16 bytes.
 *
 * @param strides distance of consecutive elements along each dimension, in elements; not negative
 * @param first position of the first element; less than 16 bytes, so that tensors that differ only
 *     in where they start mostly have equal layouts
 */
public record Layout(List<Long> strides, long first) {

  /** The alignment that kernels expect of dense tensors, in bytes. */
  public static final int ALIGNMENT = 16;

  public Layout {
    strides = List.copyOf(strides);
  }

  /** Returns the next offset in bytes at which a dense tensor may start. */
  public static long aligned(long offset) {
    return Math.ceilDiv(offset, ALIGNMENT) * ALIGNMENT;
  }

  /** Returns whether kernels can read a tensor with this layout as a dense one. */
  public boolean isDense(Shape shape) {
    if (shape.extents().contains(0L)) {
      return true;
    }
    var dense = Region.strides(shape);
    boolean equal = first == 0;
    for (int i = 0; i < dense.length; i++) {
      equal &= shape.extent(i) <= 1 || strides.get(i) == dense[i];
    }
    return equal;
  }

  /** Returns the type of the memory from the start to the last element. */
  public TensorType range(DType dtype, Shape shape) {
    if (shape.extents().contains(0L)) {
      return TensorType.of(dtype, 0);
    }
    long last = first;
    for (int i = 0; i < shape.rank(); i++) {
      last += (shape.extent(i) - 1) * strides.get(i);
    }
    return TensorType.of(dtype, last + 1);
  }

  /** Returns the strides of a dense tensor. */
  public static List<Long> denseStrides(Shape shape) {
    var strides = new ArrayList<Long>();
    for (long stride : Region.strides(shape)) {
      strides.add(stride);
    }
    return strides;
  }
}
