package dev.athanor.ops.linear.dense;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.linear.MatmulProblem;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;

/**
 * A reference implementation of the gradients in float64. Each element of the product adds its
 * gradient, times the other factor, to both of its factors.
 */
final class MatmulBackwardReference {

  private MatmulBackwardReference() {}

  static Map<String, double[]> compute(Map<String, HostTensor> inputs, Attributes attributes) {
    var typeA = Objects.requireNonNull(inputs.get("a")).type();
    var typeB = Objects.requireNonNull(inputs.get("b")).type();
    boolean transposeA = attributes.flag("transposeA");
    boolean transposeB = attributes.flag("transposeB");
    var p =
        MatmulProblem.of(
            Map.of("a", typeA, "b", typeB),
            Attributes.of(
                new Matmul().description(),
                Map.of("transposeA", transposeA, "transposeB", transposeB)));
    var grad = Objects.requireNonNull(inputs.get("grad")).toDoubles();
    var a = Objects.requireNonNull(inputs.get("a")).toDoubles();
    var b = Objects.requireNonNull(inputs.get("b")).toDoubles();
    var da = new double[a.length];
    var db = new double[b.length];
    int at = 0;
    for (long product = 0; product < p.batch().products(); product++) {
      var matrices = p.batch().matrices(product);
      int firstA = (int) matrices.a() * p.m() * p.k();
      int firstB = (int) matrices.b() * p.k() * p.n();
      for (int i = 0; i < p.m(); i++) {
        for (int j = 0; j < p.n(); j++) {
          double g = grad[at++];
          for (int k = 0; k < p.k(); k++) {
            int inA = firstA + (transposeA ? k * p.m() + i : i * p.k() + k);
            int inB = firstB + (transposeB ? j * p.k() + k : k * p.n() + j);
            da[inA] += g * b[inB];
            db[inB] += g * a[inA];
          }
        }
      }
    }
    var gradients = new HashMap<String, double[]>();
    gradients.put("da", da);
    gradients.put("db", db);
    return gradients;
  }
}
