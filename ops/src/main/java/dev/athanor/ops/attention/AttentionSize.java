package dev.athanor.ops.attention;

import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * The size of a test case of attention or its gradients.
 *
 * @param given the attributes
 */
public record AttentionSize(
    int batch, int heads, int sharedHeads, int sq, int sk, int d, int dv, Map<String, ?> given) {

  /** The dtypes of test cases. */
  public static final List<DType> DTYPES = List.of(DType.F32, DType.F16, DType.BF16);

  /** Returns the size of a problem of rank 2. */
  public static AttentionSize oneHead(int sq, int sk, int d, int dv, Map<String, ?> given) {
    return new AttentionSize(1, 1, 1, sq, sk, d, dv, given);
  }

  public TensorType of(DType dtype, int h, int rows, int columns) {
    return batch * heads == 1
        ? TensorType.of(dtype, rows, columns)
        : TensorType.of(dtype, batch, h, rows, columns);
  }

  public Map<String, HostTensor> draw(Draw draw, DType dtype) {
    return Map.of(
        "q", draw.normal(0, 1, of(dtype, heads, sq, d)),
        "k", draw.normal(0, 1, of(dtype, sharedHeads, sk, d)),
        "v", draw.normal(0, 1, of(dtype, sharedHeads, sk, dv)));
  }

  /**
   * Returns inputs whose scores are equal and large, so that the output is the mean of v: near the
   * greatest that f32 holds, or as large as the dtype makes them.
   *
   * @param sign of the scores
   */
  public Map<String, HostTensor> drawLargeScores(Draw draw, DType dtype, int sign) {
    double greatest = Math.min(1e18, dtype.greatest() * 0.9);
    return Map.of(
        "q", draw.normal(greatest, 0, of(dtype, heads, sq, d)),
        "k", draw.normal(sign * greatest, 0, of(dtype, sharedHeads, sk, d)),
        "v", draw.normal(0, 1, of(dtype, sharedHeads, sk, dv)));
  }

  /**
   * Returns all sizes, or every other one for bf16, whose kernels differ from those of f16 only in
   * their conversions.
   */
  public static <T> List<T> forDType(DType dtype, List<T> sizes) {
    return dtype == DType.BF16
        ? IntStream.range(0, sizes.size()).filter(i -> i % 2 == 1).mapToObj(sizes::get).toList()
        : sizes;
  }
}
