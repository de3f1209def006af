package dev.athanor.ops.linear.dense;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.linear.MatmulProblem;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.TensorReader;
import dev.athanor.ops.tile.BlockScales;
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

  /**
   * Returns the product of factors with the optional inputs {@code aScale, bScale, scale, bias}.
   */
  static ReferenceOutput scaled(MatmulProblem p, Map<String, HostTensor> inputs) {
    var a = TensorReader.of(inputs, "a");
    var b = TensorReader.of(inputs, "b");
    int size = p.scaled() ? BlockScales.SIZE : Math.max(1, p.k());
    int blocks = Math.ceilDiv(p.k(), size);
    return ReferenceOutput.ofElements(
        (long) p.m() * p.n(),
        element -> {
          long i = element / p.n();
          long j = element % p.n();
          double sum = 0;
          for (int block = 0; block < blocks; block++) {
            double part = 0;
            for (int k = block * size; k < Math.min(p.k(), (block + 1) * size); k++) {
              long ofB = p.transposeB() ? j * p.k() + k : (long) k * p.n() + j;
              part += a.get(i * p.k() + k) * b.get(ofB);
            }
            long columns = p.scaled() ? j / size : j;
            sum +=
                part
                    * value(inputs, "aScale", i * blocks + block, 1)
                    * value(inputs, "bScale", columns * blocks + block, 1);
          }
          return sum * value(inputs, "scale", 0, 1) + value(inputs, "bias", j, 0);
        });
  }

  private static double value(
      Map<String, HostTensor> inputs, String name, long index, double otherwise) {
    var tensor = inputs.get(name);
    return tensor == null ? otherwise : tensor.get(index);
  }
}
