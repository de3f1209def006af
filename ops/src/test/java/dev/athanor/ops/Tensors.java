package dev.athanor.ops;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;

/** Creates, slices and compares tensors for tests. */
public final class Tensors {

  private Tensors() {}

  /** Returns the tensor with a name, which must exist. */
  public static HostTensor get(Map<String, HostTensor> tensors, String name) {
    return Objects.requireNonNull(tensors.get(name), name);
  }

  /** Returns a tensor filled with a value. */
  public static HostTensor filled(TensorType type, double value) {
    var values = new double[(int) type.shape().elements()];
    Arrays.fill(values, value);
    return HostTensor.of(type, values);
  }

  /** Returns an identity matrix. */
  public static HostTensor identity(DType dtype, int n) {
    var values = new double[n * n];
    for (int i = 0; i < n; i++) {
      values[i * n + i] = 1;
    }
    return HostTensor.of(TensorType.of(dtype, n, n), values);
  }

  /** Returns a copy of consecutive elements of a tensor, starting at {@code first}. */
  public static HostTensor slice(HostTensor tensor, long first, TensorType type) {
    var bytes =
        tensor
            .data()
            .asSlice(first * type.dtype().bytes(), type.bytes())
            .toArray(ValueLayout.JAVA_BYTE);
    return new HostTensor(type, MemorySegment.ofArray(bytes));
  }

  /** Returns a copy of a tensor, which may be modified. */
  public static HostTensor copy(HostTensor tensor) {
    return new HostTensor(tensor.type(), MemorySegment.ofArray(bytes(tensor)));
  }

  /** Returns the bytes of a tensor. */
  public static byte[] bytes(HostTensor tensor) {
    return tensor.data().toArray(ValueLayout.JAVA_BYTE);
  }

  /** Asserts that two tensors are bit-identical. */
  public static void equalBits(HostTensor a, HostTensor b) {
    assertThat(a.type()).isEqualTo(b.type());
    assertThat(bytes(a)).isEqualTo(bytes(b));
  }

  /** Returns the cosine of the angle between two vectors. */
  public static double cosine(double[] x, double[] y) {
    return dot(x, y) / Math.sqrt(dot(x, x) * dot(y, y));
  }

  private static double dot(double[] x, double[] y) {
    return IntStream.range(0, x.length).mapToDouble(i -> x[i] * y[i]).sum();
  }

  /** Returns the index of the greatest number. */
  public static int greatest(double[] x) {
    return IntStream.range(0, x.length).reduce((i, j) -> x[j] > x[i] ? j : i).orElseThrow();
  }
}
