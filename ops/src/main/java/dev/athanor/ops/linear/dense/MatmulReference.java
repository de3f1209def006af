package dev.athanor.ops.linear.dense;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.linear.MatmulProblem;
import java.util.Map;
import java.util.Objects;
import java.util.function.LongToDoubleFunction;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/** A simple reference implementation of the product in float64. */
final class MatmulReference {

  private MatmulReference() {}

  /** Returns all elements of c. */
  static double[] compute(Map<String, HostTensor> inputs, Attributes attributes) {
    long elements = problem(inputs, attributes).output().shape().elements();
    return compute(inputs, attributes, LongStream.range(0, elements).toArray());
  }

  /** Returns the elements of c at some row-major indices. */
  static double[] compute(Map<String, HostTensor> inputs, Attributes attributes, long[] elements) {
    var p = problem(inputs, attributes);
    var a = reader(Objects.requireNonNull(inputs.get("a")), elements.length);
    var b = reader(Objects.requireNonNull(inputs.get("b")), elements.length);
    var bias = inputs.get("bias");
    long matrixC = (long) p.m() * p.n();
    var c = new double[elements.length];
    for (int e = 0; e < elements.length; e++) {
      var matrices = p.batch().matrices(elements[e] / matrixC);
      long firstA = matrices.a() * p.m() * p.k();
      long firstB = matrices.b() * p.k() * p.n();
      c[e] = element(p, a, firstA, b, firstB, bias, elements[e] % matrixC);
    }
    return c;
  }

  private static double element(
      MatmulProblem p,
      LongToDoubleFunction a,
      long firstA,
      LongToDoubleFunction b,
      long firstB,
      @Nullable HostTensor bias,
      long element) {
    long i = element / p.n();
    long j = element % p.n();
    double sum = 0;
    for (long k = 0; k < p.k(); k++) {
      sum +=
          a.applyAsDouble(firstA + (p.transposeA() ? k * p.m() + i : i * p.k() + k))
              * b.applyAsDouble(firstB + (p.transposeB() ? j * p.k() + k : k * p.n() + j));
    }
    return p.activation().apply(p.alpha() * sum + (bias == null ? 0 : bias.get(j)));
  }

  /**
   * Returns a reader of elements, which decodes the whole tensor once if elements are read often.
   */
  private static LongToDoubleFunction reader(HostTensor tensor, int results) {
    if (tensor.type().shape().elements() > 64L * results) {
      return tensor::get;
    }
    var decoded = tensor.toDoubles();
    return i -> decoded[Math.toIntExact(i)];
  }

  private static MatmulProblem problem(Map<String, HostTensor> inputs, Attributes attributes) {
    return MatmulProblem.of(HostTensor.types(inputs), attributes);
  }
}
