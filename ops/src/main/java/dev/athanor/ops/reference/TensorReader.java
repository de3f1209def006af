package dev.athanor.ops.reference;

import dev.athanor.ops.HostTensor;
import java.util.Map;
import java.util.Objects;
import java.util.function.LongToDoubleFunction;

/**
 * Reads elements of a tensor in float64: fast if the indices are ascending or elements are read
 * often, and without decoding the whole tensor if only a few are read. Not thread-safe.
 */
public final class TensorReader {

  /** The maximum number of elements decoded ahead. */
  private static final int AHEAD = 1024;

  /** The number of decoded elements per element of the tensor after which all are decoded. */
  private static final int REPEATS = 8;

  private final HostTensor tensor;
  private final long elements;

  /** The number of elements decoded so far. */
  private long work;

  /** The last element that was not in the window. */
  private long last = -1;

  /** Decoded elements, the first of which is {@code start}. */
  private double[] window = {};

  private long start;

  public TensorReader(HostTensor tensor) {
    this.tensor = tensor;
    elements = tensor.type().shape().elements();
  }

  /** Returns a reader of a given input. */
  public static TensorReader of(Map<String, HostTensor> inputs, String name) {
    return new TensorReader(Objects.requireNonNull(inputs.get(name), name));
  }

  /**
   * Returns a function that reads an optional input.
   *
   * @param omitted the value of all elements if the input is not given
   */
  public static LongToDoubleFunction of(
      Map<String, HostTensor> inputs, String name, double omitted) {
    return inputs.containsKey(name) ? of(inputs, name)::get : _ -> omitted;
  }

  /** Returns the number of elements. */
  public long elements() {
    return elements;
  }

  /** Returns the element at a row-major index. */
  public double get(long index) {
    long at = index - start;
    return at >= 0 && at < window.length ? window[(int) at] : decode(index);
  }

  private double decode(long index) {
    if (work > REPEATS * elements) {
      move(0, Math.toIntExact(elements));
    } else if (index == last + 1) {
      move(index, (int) Math.min(AHEAD, elements - index));
    } else {
      work++;
      last = index;
      return tensor.get(index);
    }
    last = index;
    return window[(int) (index - start)];
  }

  private void move(long first, int count) {
    start = first;
    window = tensor.toDoubles(first, count);
    work += count;
  }

  /** Returns {@code n} consecutive elements. */
  public double[] get(long first, int n) {
    return tensor.toDoubles(first, n);
  }
}
