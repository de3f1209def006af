package com.example;

import dev.athanor.client.Athanor;
import dev.athanor.client.HostTensor;
import dev.athanor.client.Pipeline;
import dev.athanor.client.Safetensors;
import dev.athanor.client.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.LongStream;

/**
 * Runs a transformer layer as one request: RMS norm, causal attention with rotary positions and
 * grouped queries, and a gated feed-forward network, each with a residual. The weights come from a
 * safetensors file and stay on the device.
 */
public final class TransformerLayer {

  static final int WIDTH = 32;
  static final int QUERY_HEADS = 4;
  static final int KEY_HEADS = 2;
  static final int HEAD = 8;
  static final int HIDDEN = 64;
  static final double THETA = 10_000;
  static final double EPSILON = 1e-5;

  private TransformerLayer() {}

  public static void main(String[] arguments) throws IOException {
    var url = arguments.length == 0 ? "http://127.0.0.1:8080" : arguments[0];
    int positions = 12;
    var file = Files.createTempFile("layer", ".safetensors");
    try (var athanor = Athanor.connect(url)) {
      Safetensors.write(file, randomWeights());
      var layer = new Layer(athanor, upload(athanor, file));
      var x = gaussian(new SplittableRandom(2), 1, 1, positions, WIDTH);

      float[] y = layer.run(x).toFloats();

      double[] exact = new Reference(Safetensors.read(file)).run(x.toFloats());
      double worst = 0;
      for (int i = 0; i < exact.length; i++) {
        worst = Math.max(worst, Math.abs(y[i] - exact[i]));
      }
      if (!(worst < 1e-4)) {
        throw new AssertionError("the largest error is " + worst);
      }
      System.out.printf(
          "transformer-layer: %d positions of %d, largest error %.1e%n", positions, WIDTH, worst);
    } finally {
      Files.delete(file);
    }
  }

  /** Copies the tensors of a file to the device, where they stay until the client is closed. */
  private static Map<String, Tensor> upload(Athanor athanor, Path file) throws IOException {
    var tensors = new HashMap<String, Tensor>();
    Safetensors.read(file).forEach((name, values) -> tensors.put(name, athanor.upload(values)));
    return tensors;
  }

  /** The layer on the service. */
  record Layer(Athanor athanor, Map<String, Tensor> weights) {

    /** Returns the output for [1, positions, WIDTH]. */
    HostTensor run(HostTensor x) {
      var p = athanor.pipeline();
      var h = p.rmsNorm(x, o -> o.gamma(weights.get("attention_norm")).epsilon(EPSILON));
      var q = project(p, h, "wq", QUERY_HEADS);
      var k = project(p, h, "wk", KEY_HEADS);
      var v = project(p, h, "wv", KEY_HEADS);
      var heads = p.attention(rotate(p, q), rotate(p, k), v, o -> o.causal(true)).out();
      // The output projection of all heads side by side is the sum of the projections of each.
      var perHead = p.matmul(heads, weights.get("wo").reshape(1, QUERY_HEADS, HEAD, WIDTH));
      var attention = p.reduce(perHead, o -> o.axis(1));

      var gamma = weights.get("feed_forward_norm");
      var normed = p.residualRmsNorm(attention, x, o -> o.gamma(gamma).epsilon(EPSILON));
      var gate = p.matmul(normed.y(), weights.get("w_gate"), o -> o.transposeB(true));
      var up = p.matmul(normed.y(), weights.get("w_up"), o -> o.transposeB(true));
      var down = p.matmul(p.swiglu(gate, up), weights.get("w_down"), o -> o.transposeB(true));
      var y = p.add(normed.sum(), down);
      return p.run().values(y);
    }

    /** Returns [1, heads, positions, HEAD] by one product per head, which broadcasts the rows. */
    private Pipeline.Value project(Pipeline p, Pipeline.Value rows, String matrix, int heads) {
      var perHead = weights.get(matrix).reshape(1, heads, HEAD, WIDTH);
      return p.matmul(rows, perHead, o -> o.transposeB(true));
    }

    /** Rotates [1, heads, positions, HEAD]; rope expects positions before heads. */
    private static Pipeline.Value rotate(Pipeline p, Pipeline.Value x) {
      var rotated = p.rope(swap(p, x), o -> o.theta(THETA));
      return swap(p, rotated);
    }

    private static Pipeline.Value swap(Pipeline p, Pipeline.Value x) {
      return p.transpose(x, o -> o.axisA(1).axisB(2));
    }
  }

  /** Returns the weights: matrices [output, input], but {@code wo} [input, output]. */
  private static Map<String, HostTensor> randomWeights() {
    var random = new SplittableRandom(1);
    double deviation = 1 / Math.sqrt(WIDTH);
    var weights = new LinkedHashMap<String, HostTensor>();
    weights.put("attention_norm", gaussian(random, 1, WIDTH));
    weights.put("wq", gaussian(random, deviation, QUERY_HEADS * HEAD, WIDTH));
    weights.put("wk", gaussian(random, deviation, KEY_HEADS * HEAD, WIDTH));
    weights.put("wv", gaussian(random, deviation, KEY_HEADS * HEAD, WIDTH));
    weights.put("wo", gaussian(random, deviation, QUERY_HEADS * HEAD, WIDTH));
    weights.put("feed_forward_norm", gaussian(random, 1, WIDTH));
    weights.put("w_gate", gaussian(random, deviation, HIDDEN, WIDTH));
    weights.put("w_up", gaussian(random, deviation, HIDDEN, WIDTH));
    weights.put("w_down", gaussian(random, deviation, WIDTH, HIDDEN));
    return weights;
  }

  private static HostTensor gaussian(SplittableRandom random, double deviation, long... shape) {
    int count = Math.toIntExact(LongStream.of(shape).reduce(1, Math::multiplyExact));
    var values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = (float) (deviation * random.nextGaussian());
    }
    return HostTensor.of(values, shape);
  }
}
