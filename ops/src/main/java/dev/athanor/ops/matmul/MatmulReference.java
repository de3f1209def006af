package dev.athanor.ops.matmul;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;

/** The product in float64, as plainly as it can be written. */
final class MatmulReference {

  private MatmulReference() {}

  static double[] compute(Map<String, HostTensor> inputs, Attributes attributes) {
    var types = new HashMap<String, TensorType>();
    inputs.forEach((name, tensor) -> types.put(name, tensor.type()));
    var p = MatmulProblem.of(types, attributes);
    var a = Objects.requireNonNull(inputs.get("a")).toDoubles();
    var b = Objects.requireNonNull(inputs.get("b")).toDoubles();
    var bias =
        p.bias() ? Objects.requireNonNull(inputs.get("bias")).toDoubles() : new double[p.n()];
    int matrixA = p.m() * p.k();
    int matrixB = p.k() * p.n();
    var c = new double[Math.toIntExact(p.output().shape().elements())];
    int at = 0;
    var inner = p.batch().inner();
    for (var start : p.batch().starts()) {
      for (long product = 0; product < inner.count(); product++) {
        int firstA = (int) (start.a() + product * inner.strideA()) * matrixA;
        int firstB = (int) (start.b() + product * inner.strideB()) * matrixB;
        for (int i = 0; i < p.m(); i++) {
          for (int j = 0; j < p.n(); j++) {
            double sum = 0;
            for (int k = 0; k < p.k(); k++) {
              sum +=
                  a[firstA + (p.transposeA() ? k * p.m() + i : i * p.k() + k)]
                      * b[firstB + (p.transposeB() ? j * p.k() + k : k * p.n() + j)];
            }
            c[at++] = p.activation().apply(p.alpha() * sum + bias[j]);
          }
        }
      }
    }
    return c;
  }
}
