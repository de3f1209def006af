package dev.athanor.ops.attention;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.TensorReader;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.IntToLongFunction;
import java.util.function.LongConsumer;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;

/** A simple reference implementation of attention in float64. */
public final class AttentionReference {

  private AttentionReference() {}

  public static HostTensor tensor(Map<String, HostTensor> inputs, String name) {
    return Objects.requireNonNull(inputs.get(name), name);
  }

  /** Returns the dot product of two rows. */
  public static double dot(TensorReader a, long rowOfA, TensorReader b, long rowOfB, int columns) {
    double sum = 0;
    for (int c = 0; c < columns; c++) {
      sum += a.get(rowOfA * columns + c) * b.get(rowOfB * columns + c);
    }
    return sum;
  }

  /** Adds a multiple of a row. */
  private static void add(double[] sums, double factor, TensorReader a, long row) {
    for (int c = 0; c < sums.length; c++) {
      sums[c] += factor * a.get(row * sums.length + c);
    }
  }

  private static double greatest(double[] scores) {
    return DoubleStream.of(scores).reduce(Double.NEGATIVE_INFINITY, Math::max);
  }

  /**
   * Returns the softmax-weighted mean of rows of v; zeros if there are none.
   *
   * @param row returns the row of v that belongs to a score
   */
  public static double[] mean(double[] scores, TensorReader v, IntToLongFunction row, int columns) {
    double greatest = greatest(scores);
    double total = 0;
    var out = new double[columns];
    for (int j = 0; j < scores.length; j++) {
      double weight = Math.exp(scores[j] - greatest);
      total += weight;
      add(out, weight, v, row.applyAsLong(j));
    }
    for (int c = 0; c < columns && scores.length > 0; c++) {
      out[c] /= total;
    }
    return out;
  }

  private static double logSumExp(double[] scores) {
    double greatest = greatest(scores);
    double total = 0;
    for (double score : scores) {
      total += Math.exp(score - greatest);
    }
    return greatest + Math.log(total);
  }

  public static double[] get(Map<String, double[]> outputs, String name) {
    return Objects.requireNonNull(outputs.get(name), name);
  }

  /** Returns out and lse, even if lse is not requested. */
  public static Map<String, ReferenceOutput> forward(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var p = AttentionProblem.of(HostTensor.types(inputs), attributes);
    var q = TensorReader.of(inputs, "q");
    var k = TensorReader.of(inputs, "k");
    var v = TensorReader.of(inputs, "v");
    var bias = p.mask().map(mask -> new MaskReader(mask, TensorReader.of(inputs, Mask.NAME)));
    long rows = (long) p.batch() * p.heads() * p.queries();
    var outputs = new HashMap<String, ReferenceOutput>();
    outputs.put(
        "out",
        ReferenceOutput.ofRows(
            rows,
            p.dv(),
            row -> {
              long first = firstKey(p, row / p.queries());
              var seen = seen(p, row, bias);
              var scores = scores(p, q, row, k, seen, bias);
              return mean(scores, v, j -> first + seen[j], p.dv());
            }));
    outputs.put(
        "lse",
        ReferenceOutput.ofElements(
            rows, row -> logSumExp(scores(p, q, row, k, seen(p, row, bias), bias))));
    return outputs;
  }

  /** Returns the keys that a query sees. */
  private static int[] seen(AttentionProblem p, long row, Optional<MaskReader> mask) {
    int query = (int) (row % p.queries());
    return IntStream.range(p.from(query), Math.max(p.from(query), p.to(query)))
        .filter(key -> mask.isEmpty() || mask.get().bias(p, row, key) != Double.NEGATIVE_INFINITY)
        .toArray();
  }

  private static double[] scores(
      AttentionProblem p,
      TensorReader q,
      long row,
      TensorReader k,
      int[] keys,
      Optional<MaskReader> mask) {
    long first = firstKey(p, row / p.queries());
    return IntStream.of(keys)
        .mapToDouble(key -> {
          double product = dot(q, row, k, first + key, p.d());
          return p.score().of(product, p.scale(), p.cap())
              + mask.map(each -> each.bias(p, row, key)).orElse(0.0);
        })
        .toArray();
  }

  /** The elements of a mask. */
  private record MaskReader(Mask mask, TensorReader elements) {

    /** Returns the bias of a key; -infinity if it is hidden. */
    double bias(AttentionProblem p, long row, int key) {
      long head = row / p.queries();
      long at = mask.row(head / p.heads(), head % p.heads(), row % p.queries()) * p.keys() + key;
      return mask.bias(elements.get(at));
    }
  }

  /** Returns the row of k, counted over all batches, at which the keys of a head of q begin. */
  private static long firstKey(AttentionProblem p, long head) {
    long batch = head / p.heads();
    return (batch * p.sharedHeads() + head % p.heads() / group(p)) * p.keys();
  }

  /** Returns the number of heads of q that share a head of k. */
  private static int group(AttentionProblem p) {
    return p.heads() / p.sharedHeads();
  }

  /** Returns the gradients, computed with the given lse and out. */
  public static Map<String, ReferenceOutput> backward(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var backward = new Backward(AttentionProblem.of(HostTensor.types(inputs), attributes), inputs);
    var p = backward.p;
    long queries = (long) p.batch() * p.heads() * p.queries();
    long keys = (long) p.batch() * p.sharedHeads() * p.keys();
    return Map.of(
        "dq", ReferenceOutput.ofRows(queries, p.d(), backward::ofQuery),
        "dk", ReferenceOutput.ofRows(keys, p.d(), backward::ofKey),
        "dv", ReferenceOutput.ofRows(keys, p.dv(), backward::ofValue));
  }

  /** The rows of the gradients. */
  private static final class Backward {
    private final AttentionProblem p;
    private final TensorReader grad;
    private final TensorReader q;
    private final TensorReader k;
    private final TensorReader v;
    private final TensorReader out;
    private final TensorReader lse;

    Backward(AttentionProblem p, Map<String, HostTensor> inputs) {
      this.p = p;
      grad = TensorReader.of(inputs, "grad");
      q = TensorReader.of(inputs, "q");
      k = TensorReader.of(inputs, "k");
      v = TensorReader.of(inputs, "v");
      out = TensorReader.of(inputs, "out");
      lse = TensorReader.of(inputs, "lse");
    }

    double[] ofQuery(long row) {
      var dq = new double[p.d()];
      int query = (int) (row % p.queries());
      for (int j = p.from(query); j < p.to(query); j++) {
        long key = firstKey(p, row / p.queries()) + j;
        add(dq, slope(row, key), k, key);
      }
      return dq;
    }

    double[] ofKey(long key) {
      var dk = new double[p.d()];
      forEachQuery(key, row -> add(dk, slope(row, key), q, row));
      return dk;
    }

    double[] ofValue(long key) {
      var dv = new double[p.dv()];
      forEachQuery(key, row -> add(dv, weight(row, dot(q, row, k, key, p.d())), grad, row));
      return dv;
    }

    /** Calls an action with the row of each query that sees a key. */
    private void forEachQuery(long key, LongConsumer action) {
      long firstHead = key / p.keys() * group(p);
      int j = (int) (key % p.keys());
      for (long head = firstHead; head < firstHead + group(p); head++) {
        for (int query = 0; query < p.queries(); query++) {
          if (p.from(query) <= j && j < p.to(query)) {
            action.accept(head * p.queries() + query);
          }
        }
      }
    }

    private double weight(long row, double product) {
      return Math.min(1, Math.exp(p.score().of(product, p.scale(), p.cap()) - lse.get(row)));
    }

    /** Returns the gradient with respect to the product of a query and a key. */
    private double slope(long row, long key) {
      double product = dot(q, row, k, key, p.d());
      double delta = dot(grad, row, out, row, p.dv());
      return weight(row, product)
          * (dot(grad, row, v, key, p.dv()) - delta)
          * p.score().slope(product, p.scale(), p.cap())
          * p.scale();
    }
  }
}
