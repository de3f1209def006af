package dev.athanor.ops.recurrence;

import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.TensorReader;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

/** Linear attention in float64. The columns of a state are independent of each other. */
final class LinearAttentionReference {

  private final LinearAttentionProblem problem;
  private final Map<String, HostTensor> inputs;

  private LinearAttentionReference(LinearAttentionProblem problem, Map<String, HostTensor> inputs) {
    this.problem = problem;
    this.inputs = inputs;
  }

  /** A column after the last step, and its products with the queries of all steps. */
  private static final class Column {
    private final double[] state;
    private final double[][] products;

    Column(double[] state, double[][] products) {
      this.state = state;
      this.products = products;
    }
  }

  static Map<String, ReferenceOutput> of(
      LinearAttentionProblem problem, Map<String, HostTensor> inputs) {
    var reference = new LinearAttentionReference(problem, inputs);
    var outputs = new LinkedHashMap<String, ReferenceOutput>();
    problem
        .outputs()
        .forEach((name, type) ->
            outputs.put(
                name,
                new ReferenceOutput(
                    type.shape().elements(),
                    indices ->
                        name.equals("out")
                            ? reference.products(type, indices)
                            : reference.states(type, indices))));
    return outputs;
  }

  private double[] products(TensorType type, long[] indices) {
    var columns = new HashMap<Long, Column>();
    var results = new double[indices.length];
    int queries = problem.queries();
    for (int i = 0; i < results.length; i++) {
      var at = place(type, indices[i]);
      int head = at[2] / queries;
      var column =
          columns.computeIfAbsent(key(at[0], head, at[3]), _ -> column(at[0], head, at[3]));
      results[i] = column.products[at[1]][at[2] % queries];
    }
    return results;
  }

  private double[] states(TensorType type, long[] indices) {
    var columns = new HashMap<Long, Column>();
    var results = new double[indices.length];
    for (int i = 0; i < results.length; i++) {
      var at = place(type, indices[i]);
      var column =
          columns.computeIfAbsent(key(at[0], at[1], at[3]), _ -> column(at[0], at[1], at[3]));
      results[i] = column.state[at[2]];
    }
    return results;
  }

  private long key(int sequence, int head, int column) {
    return ((long) sequence * problem.heads() + head) * problem.values() + column;
  }

  private static int[] place(TensorType type, long index) {
    var place = new int[type.shape().rank()];
    long rest = index;
    for (int i = place.length - 1; i >= 0; i--) {
      place[i] = (int) (rest % type.shape().extent(i));
      rest /= type.shape().extent(i);
    }
    return place;
  }

  private Column column(int sequence, int head, int column) {
    int keys = problem.keys();
    int queries = problem.queries();
    var q = TensorReader.of(inputs, "q");
    var k = TensorReader.of(inputs, "k");
    var v = TensorReader.of(inputs, "v");
    var decay = TensorReader.of(inputs, "decay", 0);
    var beta = TensorReader.of(inputs, "beta", 1);
    var before = TensorReader.of(inputs, LinearAttentionProblem.STATE, 0);
    int keyHead = head / (problem.heads() / problem.keyHeads());
    int perQueryHead = problem.outHeads() / problem.queryHeads();
    var state = new double[keys];
    for (int i = 0; i < keys; i++) {
      long row = ((long) sequence * problem.heads() + head) * keys + i;
      state[i] = before.applyAsDouble(row * problem.values() + column);
    }
    var products = new double[problem.length()][queries];
    for (int t = 0; t < problem.length(); t++) {
      long step = (long) sequence * problem.length() + t;
      long ofHead = step * problem.heads() + head;
      var key = k.get((step * problem.keyHeads() + keyHead) * keys, keys);
      double retrieved = 0;
      for (int i = 0; i < keys; i++) {
        state[i] *= Math.exp(decay.applyAsDouble(problem.perKey() ? ofHead * keys + i : ofHead));
        retrieved += key[i] * state[i];
      }
      double value = v.get(ofHead * problem.values() + column);
      if (problem.beta().isPresent()) {
        value = beta.applyAsDouble(ofHead) * (value - retrieved);
      }
      for (int i = 0; i < keys; i++) {
        state[i] += key[i] * value;
      }
      for (int query = 0; query < queries; query++) {
        int queryHead = (head * queries + query) / perQueryHead;
        var factors = q.get((step * problem.queryHeads() + queryHead) * keys, keys);
        for (int i = 0; i < keys; i++) {
          products[t][query] += problem.scale() * factors[i] * state[i];
        }
      }
    }
    return new Column(state, products);
  }
}
