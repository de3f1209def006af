package dev.athanor.ops.linear.dense;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.linear.MatmulProblem;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.TensorReader;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A simple reference implementation of the product in float64. */
final class MatmulReference {

  private MatmulReference() {}

  static ReferenceOutput product(Map<String, HostTensor> inputs, Attributes attributes) {
    var p = Matmul.problem(HostTensor.types(inputs), attributes);
    var a = TensorReader.of(inputs, "a");
    var b = TensorReader.of(inputs, "b");
    var bias = inputs.get("bias");
    long matrixC = (long) p.m() * p.n();
    return ReferenceOutput.ofElements(
        p.output().shape().elements(),
        e -> {
          var matrices = p.batch().matrices(e / matrixC);
          long firstA = matrices.a() * p.m() * p.k();
          long firstB = matrices.b() * p.k() * p.n();
          return element(p, a, firstA, b, firstB, bias, e % matrixC);
        });
  }

  private static double element(
      MatmulProblem p,
      TensorReader a,
      long firstA,
      TensorReader b,
      long firstB,
      @Nullable HostTensor bias,
      long element) {
    long i = element / p.n();
    long j = element % p.n();
    double sum = 0;
    for (long k = 0; k < p.k(); k++) {
      sum +=
          a.get(firstA + (p.transposeA() ? k * p.m() + i : i * p.k() + k))
              * b.get(firstB + (p.transposeB() ? j * p.k() + k : k * p.n() + j));
    }
    return p.activation().apply(p.alpha() * sum + (bias == null ? 0 : bias.get(j)));
  }
}
