package dev.athanor.ops;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.LinkedHashMap;
import java.util.Map;

/** A tensor in the memory of the host: little-endian, row-major. */
public record HostTensor(TensorType type, MemorySegment data) {

  private static final long MOST_ARRAY = Integer.MAX_VALUE - 16L;

  /**
   * Checks the size.
   *
   * @throws IllegalArgumentException when the data has not the size that the type says
   */
  public HostTensor {
    if (data.byteSize() != type.bytes()) {
      throw new IllegalArgumentException(
          "%s takes %d bytes, got %d".formatted(type, type.bytes(), data.byteSize()));
    }
  }

  /** A tensor of zeros, outside of the heap where no array is so large. */
  public static HostTensor zeros(TensorType type) {
    long bytes = type.bytes();
    return new HostTensor(
        type,
        bytes <= MOST_ARRAY
            ? MemorySegment.ofArray(new byte[(int) bytes])
            : Arena.ofAuto().allocate(bytes, Double.BYTES));
  }

  /** A tensor of the given numbers, each rounded to the dtype. */
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

  /** The types of tensors, by the same names. */
  public static Map<String, TensorType> types(Map<String, HostTensor> tensors) {
    var types = new LinkedHashMap<String, TensorType>();
    tensors.forEach((name, tensor) -> types.put(name, tensor.type()));
    return types;
  }

  public double get(long index) {
    return type.dtype().read(data, index);
  }

  /** All elements, row-major. */
  public double[] toDoubles() {
    var values = new double[Math.toIntExact(type.shape().elements())];
    for (int i = 0; i < values.length; i++) {
      values[i] = get(i);
    }
    return values;
  }
}
