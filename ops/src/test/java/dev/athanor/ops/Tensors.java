package dev.athanor.ops;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;

/** Makes tensors for tests, takes them apart and compares them. */
public final class Tensors {

  private Tensors() {}

  /** The tensor of a name, which must be there. */
  public static HostTensor get(Map<String, HostTensor> tensors, String name) {
    return Objects.requireNonNull(tensors.get(name), name);
  }

  /** A tensor of one number. */
  public static HostTensor filled(TensorType type, double value) {
    var values = new double[(int) type.shape().elements()];
    Arrays.fill(values, value);
    return HostTensor.of(type, values);
  }

  /** The matrix with ones where row and column are the same. */
  public static HostTensor identity(DType dtype, int n) {
    var values = new double[n * n];
    for (int i = 0; i < n; i++) {
      values[i * n + i] = 1;
    }
    return HostTensor.of(TensorType.of(dtype, n, n), values);
  }

  /** Elements of a tensor, from the given one on, in a tensor of their own. */
  public static HostTensor slice(HostTensor tensor, long first, TensorType type) {
    var bytes =
        tensor
            .data()
            .asSlice(first * type.dtype().bytes(), type.bytes())
            .toArray(ValueLayout.JAVA_BYTE);
    return new HostTensor(type, MemorySegment.ofArray(bytes));
  }

  /** Copies a tensor, to be changed. */
  public static HostTensor copy(HostTensor tensor) {
    return new HostTensor(tensor.type(), MemorySegment.ofArray(bytes(tensor)));
  }

  /** The bits of a tensor. */
  public static byte[] bytes(HostTensor tensor) {
    return tensor.data().toArray(ValueLayout.JAVA_BYTE);
  }

  /** Asserts that two tensors are the same, bit for bit. */
  public static void equalBits(HostTensor a, HostTensor b) {
    assertThat(a.type()).isEqualTo(b.type());
    assertThat(bytes(a)).isEqualTo(bytes(b));
  }

  /** The cosine of the angle between two vectors. */
  public static double cosine(double[] x, double[] y) {
    return dot(x, y) / Math.sqrt(dot(x, x) * dot(y, y));
  }

  private static double dot(double[] x, double[] y) {
    return IntStream.range(0, x.length).mapToDouble(i -> x[i] * y[i]).sum();
  }

  /** The index of the greatest number. */
  public static int greatest(double[] x) {
    return IntStream.range(0, x.length).reduce((i, j) -> x[j] > x[i] ? j : i).orElseThrow();
  }
}
