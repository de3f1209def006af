package dev.athanor.ops.linear.dense;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.linear.MatmulProblem;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.TensorReader;
import java.util.Map;

/** A simple reference implementation of the product in float64. */
final class MatmulReference {

  private MatmulReference() {}

  static ReferenceOutput product(Map<String, HostTensor> inputs, Attributes attributes) {
    var p = Matmul.problem(HostTensor.types(inputs), attributes);
    var a = TensorReader.of(inputs, "a");
    var b = TensorReader.of(inputs, "b");
    long matrixC = (long) p.m() * p.n();
    return ReferenceOutput.ofElements(
        p.output().shape().elements(),
        e -> {
          var matrices = p.batch().matrices(e / matrixC);
          long firstA = matrices.a() * p.m() * p.k();
          long firstB = matrices.b() * p.k() * p.n();
          return element(p, a, firstA, b, firstB, inputs, e % matrixC);
        });
  }

  private static double element(
      MatmulProblem p,
      TensorReader a,
      long firstA,
      TensorReader b,
      long firstB,
      Map<String, HostTensor> inputs,
      long element) {
    long i = element / p.n();
    long j = element % p.n();
    double sum = 0;
    for (long k = 0; k < p.k(); k++) {
      sum +=
          a.get(firstA + (p.transposeA() ? k * p.m() + i : i * p.k() + k))
              * b.get(firstB + (p.transposeB() ? j * p.k() + k : k * p.n() + j));
    }
    double scaled = p.alpha() * sum * scale(inputs, i, j);
    return p.activation().apply(scaled + value(inputs, "bias", j, 0));
  }

  /** Returns the product of the scales of an element of c, which are 1 if they are omitted. */
  static double scale(Map<String, HostTensor> inputs, long row, long column) {
    return value(inputs, "scale", 0, 1)
        * value(inputs, "aScale", row, 1)
        * value(inputs, "bScale", column, 1);
  }

  /** Returns an element of an input, or a number for an input that is omitted. */
  static double value(Map<String, HostTensor> inputs, String name, long index, double otherwise) {
    var tensor = inputs.get(name);
    return tensor == null ? otherwise : tensor.get(index);
  }
}
