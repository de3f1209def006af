package dev.athanor.ops;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.LinkedHashMap;
import java.util.Map;

/** A little-endian, row-major tensor in host memory. */
public record HostTensor(TensorType type, MemorySegment data) {

  private static final long MAX_ARRAY_BYTES = Integer.MAX_VALUE - 16L;

  /**
   * Checks the size.
   *
   * @throws IllegalArgumentException if the data does not have the size of the type
   */
  public HostTensor {
    if (data.byteSize() != type.bytes()) {
      throw new IllegalArgumentException(
          "%s takes %d bytes, got %d".formatted(type, type.bytes(), data.byteSize()));
    }
  }

  /** Returns a tensor of zeros; off-heap if it exceeds the largest array. */
  public static HostTensor zeros(TensorType type) {
    long bytes = type.bytes();
    return new HostTensor(
        type,
        bytes <= MAX_ARRAY_BYTES
            ? MemorySegment.ofArray(new byte[(int) bytes])
            : Arena.ofAuto().allocate(bytes, Double.BYTES));
  }

  /** Returns a tensor of the given numbers, rounded to the dtype. */
  public static HostTensor of(TensorType type, double... values) {
    if (values.length != type.shape().elements()) {
      throw new IllegalArgumentException(
          "%s has %d elements, got %d".formatted(type, type.shape().elements(), values.length));
    }
    var tensor = zeros(type);
    for (int i = 0; i < values.length; i++) {
      type.dtype().write(tensor.data, i, values[i]);
    }
    return tensor;
  }

  /** Returns the types of tensors by name. */
  public static Map<String, TensorType> types(Map<String, HostTensor> tensors) {
    var types = new LinkedHashMap<String, TensorType>();
    tensors.forEach((name, tensor) -> types.put(name, tensor.type()));
    return types;
  }

  public double get(long index) {
    return type.dtype().read(data, index);
  }

  /** Returns all elements in row-major order. */
  public double[] toDoubles() {
    return toDoubles(0, Math.toIntExact(type.shape().elements()));
  }

  /** Returns {@code count} consecutive elements. */
  public double[] toDoubles(long first, int count) {
    var values = new double[count];
    type.dtype().read(data, first, values);
    return values;
  }
}
