package com.example;

import static com.example.TransformerLayer.EPSILON;
import static com.example.TransformerLayer.HEAD;
import static com.example.TransformerLayer.KEY_HEADS;
import static com.example.TransformerLayer.QUERY_HEADS;
import static com.example.TransformerLayer.THETA;
import static com.example.TransformerLayer.WIDTH;

import dev.athanor.client.HostTensor;
import java.util.Arrays;
import java.util.Map;

/** The same layer in plain Java and double precision, position by position. */
record Reference(Map<String, HostTensor> weights) {

  double[] run(float[] x) {
    int positions = x.length / WIDTH;
    var keys = new double[positions][];
    var values = new double[positions][];
    var y = new double[x.length];
    for (int p = 0; p < positions; p++) {
      var row = new double[WIDTH];
      for (int i = 0; i < WIDTH; i++) {
        row[i] = x[p * WIDTH + i];
      }
      var h = norm(row, "attention_norm");
      keys[p] = rotated(product("wk", h), p);
      values[p] = product("wv", h);
      var heads = attention(rotated(product("wq", h), p), keys, values, p + 1);
      var wo = weights.get("wo").toFloats();
      for (int i = 0; i < heads.length; i++) {
        for (int j = 0; j < WIDTH; j++) {
          row[j] += heads[i] * wo[i * WIDTH + j];
        }
      }
      h = norm(row, "feed_forward_norm");
      var gate = product("w_gate", h);
      var up = product("w_up", h);
      for (int i = 0; i < gate.length; i++) {
        gate[i] *= up[i] / (1 + Math.exp(-gate[i]));
      }
      var down = product("w_down", gate);
      for (int i = 0; i < WIDTH; i++) {
        y[p * WIDTH + i] = row[i] + down[i];
      }
    }
    return y;
  }

  private double[] norm(double[] x, String gamma) {
    var scale = weights.get(gamma).toFloats();
    double mean = Arrays.stream(x).map(value -> value * value).sum() / x.length;
    var y = new double[x.length];
    for (int i = 0; i < x.length; i++) {
      y[i] = scale[i] * x[i] / Math.sqrt(mean + EPSILON);
    }
    return y;
  }

  /** Returns the product of a matrix [output, input] and a vector. */
  private double[] product(String matrix, double[] x) {
    var w = weights.get(matrix).toFloats();
    var y = new double[w.length / x.length];
    for (int i = 0; i < w.length; i++) {
      y[i / x.length] += w[i] * x[i % x.length];
    }
    return y;
  }

  /** Rotates elements i and i + HEAD / 2 of each head. */
  private static double[] rotated(double[] x, int position) {
    var y = new double[x.length];
    int half = HEAD / 2;
    for (int i = 0; i < x.length; i++) {
      int pair = i % half;
      double angle = position * Math.pow(THETA, -2.0 * pair / HEAD);
      boolean first = i % HEAD < half;
      double other = first ? -x[i + half] : x[i - half];
      y[i] = x[i] * Math.cos(angle) + other * Math.sin(angle);
    }
    return y;
  }

  /** Returns the output of all heads for one query, over the first keys. */
  private static double[] attention(double[] q, double[][] keys, double[][] values, int count) {
    var out = new double[q.length];
    for (int head = 0; head < QUERY_HEADS; head++) {
      int from = head * HEAD;
      int keyFrom = head * KEY_HEADS / QUERY_HEADS * HEAD;
      double sum = 0;
      for (int p = 0; p < count; p++) {
        double score = 0;
        for (int i = 0; i < HEAD; i++) {
          score += q[from + i] * keys[p][keyFrom + i];
        }
        double weight = Math.exp(score / Math.sqrt(HEAD));
        sum += weight;
        for (int i = 0; i < HEAD; i++) {
          out[from + i] += weight * values[p][keyFrom + i];
        }
      }
      for (int i = 0; i < HEAD; i++) {
        out[from + i] /= sum;
      }
    }
    return out;
  }
}
