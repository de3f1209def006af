package dev.athanor.ops.attention;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.HostTensor;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/** Attention in float64, as plainly as it can be written. */
final class AttentionReference {

  private AttentionReference() {}

  static HostTensor tensor(Map<String, HostTensor> inputs, String name) {
    return Objects.requireNonNull(inputs.get(name), name);
  }

  private static double[] read(Map<String, HostTensor> inputs, String name) {
    return tensor(inputs, name).toDoubles();
  }

  /** The product of two rows. */
  static double dot(double[] a, int rowOfA, double[] b, int rowOfB, int columns) {
    double sum = 0;
    for (int c = 0; c < columns; c++) {
      sum += a[rowOfA * columns + c] * b[rowOfB * columns + c];
    }
    return sum;
  }

  /**
   * Writes the mean of rows of v, weighted by the exponentials of their scores.
   *
   * @param scores of the rows of v from {@code first} on
   * @return the logarithm of the sum of the exponentials
   */
  static double weigh(double[] scores, double[] v, int first, double[] out, int row, int columns) {
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

  static double[] get(Map<String, double[]> outputs, String name) {
    return Objects.requireNonNull(outputs.get(name), name);
  }

  /** Gives lse whether it is asked for or not. */
  static Map<String, double[]> forward(Map<String, HostTensor> inputs, Attributes attributes) {
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

  /** The row of k where the keys of a head of q begin, counted over all batches. */
  private static int firstKey(AttentionProblem p, int head) {
    int batch = head / p.heads();
    int group = p.heads() / p.sharedHeads();
    return (batch * p.sharedHeads() + head % p.heads() / group) * p.keys();
  }

  /** The gradients, with probabilities from the given lse and the given out. */
  static Map<String, double[]> backward(Map<String, HostTensor> inputs, Attributes attributes) {
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

  /** The keys of a sequence that its newest query may see. */
  private static int length(Map<String, HostTensor> inputs, DecodeProblem p, int sequence) {
    return Math.clamp((long) tensor(inputs, "lengths").get(sequence), 0, p.capacity());
  }

  /** Which row of the cache is a key of a head of a sequence. */
  private static int cacheRow(
      Map<String, HostTensor> inputs, DecodeProblem p, int sequence, int sharedHead, int key) {
    if (!p.paged()) {
      return (sequence * p.sharedHeads() + sharedHead) * p.capacity() + key;
    }
    int size = p.pages().blockSize();
    var table = tensor(inputs, "blockTable");
    double entry = table.get((long) sequence * p.pages().maxBlocks() + key / size);
    int block = (int) Math.clamp(entry, 0, p.pages().blocks() - 1);
    return (block * p.sharedHeads() + sharedHead) * size + key % size;
  }

  /** The rows of the cache that are there, of all sequences and heads. */
  static Set<Integer> cachedRows(Map<String, HostTensor> inputs, Attributes attributes) {
    var p = DecodeProblem.of(HostTensor.types(inputs), attributes);
    var rows = new HashSet<Integer>();
    for (int b = 0; b < p.batch(); b++) {
      for (int h = 0; h < p.sharedHeads(); h++) {
        for (int key = 0; key < length(inputs, p, b); key++) {
          rows.add(cacheRow(inputs, p, b, h, key));
        }
      }
    }
    return rows;
  }

  static double[] decode(Map<String, HostTensor> inputs, Attributes attributes) {
    var p = DecodeProblem.of(HostTensor.types(inputs), attributes);
    var q = read(inputs, "q");
    var k = read(inputs, "kCache");
    var v = read(inputs, "vCache");
    var out = new double[p.batch() * p.heads() * p.dv()];
    for (int row = 0; row < p.batch() * p.heads(); row++) {
      int sequence = row / p.heads();
      int sharedHead = row % p.heads() / (p.heads() / p.sharedHeads());
      int length = length(inputs, p, sequence);
      int from = p.from(length);
      var scores = new double[length - from];
      var values = new double[scores.length * p.dv()];
      for (int j = 0; j < scores.length; j++) {
        int key = cacheRow(inputs, p, sequence, sharedHead, from + j);
        scores[j] = p.scale() * dot(q, row, k, key, p.d());
        System.arraycopy(v, key * p.dv(), values, j * p.dv(), p.dv());
      }
      weigh(scores, values, 0, out, row, p.dv());
    }
    return out;
  }
}
