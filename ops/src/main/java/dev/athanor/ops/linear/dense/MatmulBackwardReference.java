package dev.athanor.ops.linear.dense;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.linear.MatmulProblem;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.TensorReader;
import java.util.Map;

/** A simple reference implementation of the gradients in float64. */
final class MatmulBackwardReference {

  private final MatmulProblem p;
  private final TensorReader grad;
  private final TensorReader a;
  private final TensorReader b;

  private MatmulBackwardReference(MatmulProblem p, Map<String, HostTensor> inputs) {
    this.p = p;
    grad = TensorReader.of(inputs, "grad");
    a = TensorReader.of(inputs, "a");
    b = TensorReader.of(inputs, "b");
  }

  static Map<String, ReferenceOutput> gradients(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var types = HostTensor.types(inputs);
    types.remove("grad");
    var transposed =
        Map.<String, Object>of(
            "transposeA",
            attributes.flag("transposeA"),
            "transposeB",
            attributes.flag("transposeB"));
    var p = Matmul.problem(types, Attributes.of(new Matmul().description(), transposed));
    var reference = new MatmulBackwardReference(p, inputs);
    return Map.of(
        "da", ReferenceOutput.ofElements(reference.a.elements(), reference::da),
        "db", ReferenceOutput.ofElements(reference.b.elements(), reference::db));
  }

  /** Returns an element of da: a sum over the products of its matrix and the columns of b. */
  private double da(long element) {
    long matrix = element / ((long) p.m() * p.k());
    long inMatrix = element % ((long) p.m() * p.k());
    long i = p.transposeA() ? inMatrix % p.m() : inMatrix / p.k();
    long k = p.transposeA() ? inMatrix / p.m() : inMatrix % p.k();
    double sum = 0;
    for (long product = 0; product < p.batch().products(); product++) {
      var matrices = p.batch().matrices(product);
      for (int j = 0; j < p.n() && matrices.a() == matrix; j++) {
        sum += grad.get((product * p.m() + i) * p.n() + j) * b.get(inB(matrices.b(), k, j));
      }
    }
    return sum;
  }

  /** Returns an element of db: a sum over the products of its matrix and the rows of a. */
  private double db(long element) {
    long matrix = element / ((long) p.k() * p.n());
    long inMatrix = element % ((long) p.k() * p.n());
    long k = p.transposeB() ? inMatrix % p.k() : inMatrix / p.n();
    long j = p.transposeB() ? inMatrix / p.k() : inMatrix % p.n();
    double sum = 0;
    for (long product = 0; product < p.batch().products(); product++) {
      var matrices = p.batch().matrices(product);
      for (int i = 0; i < p.m() && matrices.b() == matrix; i++) {
        sum += grad.get((product * p.m() + i) * p.n() + j) * a.get(inA(matrices.a(), i, k));
      }
    }
    return sum;
  }

  private long inA(long matrix, long i, long k) {
    return matrix * p.m() * p.k() + (p.transposeA() ? k * p.m() + i : i * p.k() + k);
  }

  private long inB(long matrix, long k, long j) {
    return matrix * p.k() * p.n() + (p.transposeB() ? j * p.k() + k : k * p.n() + j);
  }
}
