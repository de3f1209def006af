package dev.athanor.ops.bench;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.matmul.Matmul;
import java.util.Map;

/**
 * A matrix product to be timed: {@code c = a·b}, with a [m, k] and b [k, n], or transposed.
 *
 * @param dtype of all three
 */
public record Workload(DType dtype, boolean transposeA, boolean transposeB, int m, int n, int k) {

  TensorType a() {
    return transposeA ? TensorType.of(dtype, k, m) : TensorType.of(dtype, m, k);
  }

  TensorType b() {
    return transposeB ? TensorType.of(dtype, n, k) : TensorType.of(dtype, k, n);
  }

  TensorType c() {
    return TensorType.of(dtype, m, n);
  }

  Map<String, TensorType> inputs() {
    return Map.of("a", a(), "b", b());
  }

  Attributes attributes(OpDescription matmul) {
    return Attributes.of(matmul, Map.of("transposeA", transposeA, "transposeB", transposeB));
  }

  /** The bytes of a, b and c. */
  long bytes() {
    return a().bytes() + b().bytes() + c().bytes();
  }

  /** How far sampled elements of c may be off, by their norms: as {@code verify} has it. */
  double tolerance() {
    return Matmul.tolerance(dtype, k).limit();
  }

  /** Which of a and b are stored transposed: {@code nt}. */
  public String transposes() {
    return (transposeA ? "t" : "n") + (transposeB ? "t" : "n");
  }

  /** {@code f16 nt 64x32x16}. */
  @Override
  public String toString() {
    return "%s %s %dx%dx%d".formatted(dtype.text(), transposes(), m, n, k);
  }
}
