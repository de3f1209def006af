package dev.athanor.ops.attention;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.HostTensor;
import java.util.Map;
import java.util.Objects;

/** A simple reference implementation of attention in float64. */
public final class AttentionReference {

  private AttentionReference() {}

  public static HostTensor tensor(Map<String, HostTensor> inputs, String name) {
    return Objects.requireNonNull(inputs.get(name), name);
  }

  public static double[] read(Map<String, HostTensor> inputs, String name) {
    return tensor(inputs, name).toDoubles();
  }

  /** Returns the dot product of two rows. */
  public static double dot(double[] a, int rowOfA, double[] b, int rowOfB, int columns) {
    double sum = 0;
    for (int c = 0; c < columns; c++) {
      sum += a[rowOfA * columns + c] * b[rowOfB * columns + c];
    }
    return sum;
  }

  /**
   * Writes the softmax-weighted mean of rows of v.
   *
   * @param scores of consecutive rows of v, starting at {@code first}
   * @return the logarithm of the sum of the exponentials
   */
  public static double weigh(
      double[] scores, double[] v, int first, double[] out, int row, int columns) {
    double greatest = Double.NEGATIVE_INFINITY;
    for (double score : scores) {
      greatest = Math.max(greatest, score);
    }
    double total = 0;
    for (int j = 0; j < scores.length; j++) {
      double weight = Math.exp(scores[j] - greatest);
      total += weight;
      for (int c = 0; c < columns; c++) {
        out[row * columns + c] += weight * v[(first + j) * columns + c];
      }
    }
    for (int c = 0; c < columns && scores.length > 0; c++) {
      out[row * columns + c] /= total;
    }
    return greatest + Math.log(total);
  }

  public static double[] get(Map<String, double[]> outputs, String name) {
    return Objects.requireNonNull(outputs.get(name), name);
  }

  /** Returns out and lse, even if lse is not requested. */
  public static Map<String, double[]> forward(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var p = AttentionProblem.of(HostTensor.types(inputs), attributes);
    var q = read(inputs, "q");
    var k = read(inputs, "k");
    var v = read(inputs, "v");
    int rows = p.batch() * p.heads() * p.queries();
    var out = new double[rows * p.dv()];
    var lse = new double[rows];
    for (int row = 0; row < rows; row++) {
      int query = row % p.queries();
      int firstKey = firstKey(p, row / p.queries()) + p.from(query);
      var scores = new double[Math.max(0, p.to(query) - p.from(query))];
      for (int j = 0; j < scores.length; j++) {
        double product = dot(q, row, k, firstKey + j, p.d());
        scores[j] = p.score().of(product, p.scale(), p.cap());
      }
      lse[row] = weigh(scores, v, firstKey, out, row, p.dv());
    }
    return Map.of("out", out, "lse", lse);
  }

  /** Returns the row of k, counted over all batches, at which the keys of a head of q begin. */
  private static int firstKey(AttentionProblem p, int head) {
    int batch = head / p.heads();
    int group = p.heads() / p.sharedHeads();
    return (batch * p.sharedHeads() + head % p.heads() / group) * p.keys();
  }

  /** Returns the gradients, computed with the given lse and out. */
  public static Map<String, double[]> backward(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var p = AttentionProblem.of(HostTensor.types(inputs), attributes);
    var grad = read(inputs, "grad");
    var q = read(inputs, "q");
    var k = read(inputs, "k");
    var v = read(inputs, "v");
    var out = read(inputs, "out");
    var lse = read(inputs, "lse");
    var dq = new double[q.length];
    var dk = new double[k.length];
    var dv = new double[v.length];
    for (int row = 0; row < lse.length; row++) {
      int query = row % p.queries();
      int firstKey = firstKey(p, row / p.queries());
      double delta = dot(grad, row, out, row, p.dv());
      for (int j = p.from(query); j < p.to(query); j++) {
        int key = firstKey + j;
        double product = dot(q, row, k, key, p.d());
        double weight = Math.exp(p.score().of(product, p.scale(), p.cap()) - lse[row]);
        for (int c = 0; c < p.dv(); c++) {
          dv[key * p.dv() + c] += weight * grad[row * p.dv() + c];
        }
        double slope =
            weight
                * (dot(grad, row, v, key, p.dv()) - delta)
                * p.score().slope(product, p.scale(), p.cap())
                * p.scale();
        for (int c = 0; c < p.d(); c++) {
          dq[row * p.d() + c] += slope * k[key * p.d() + c];
          dk[key * p.d() + c] += slope * q[row * p.d() + c];
        }
      }
    }
    return Map.of("dq", dq, "dk", dk, "dv", dv);
  }
}
