package dev.athanor.models.onnx.operator;

import dev.athanor.models.graph.Value;
import dev.athanor.models.onnx.operator.Operator.NotExpressible;
import dev.athanor.ops.DType;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Operators of attention and of the sequence models related to it. */
final class Attentions {

  static final Map<String, Operator> OPERATORS =
      Map.of(
          "Attention",
          Attentions::attention,
          "FlexAttention",
          Operator.of(Attentions::flexAttention),
          "RotaryEmbedding",
          Operator.of(Attentions::rotaryEmbedding),
          "CausalConvWithState",
          Attentions::causalConvolution,
          "LinearAttention",
          Attentions::linearAttention);

  private Attentions() {}

  private static List<Value> attention(Node node) {
    var q = heads(node, node.x(0), "q_num_heads");
    var k = appended(node, 4, heads(node, node.x(1), "kv_num_heads"));
    var v = appended(node, 5, heads(node, node.x(2), "kv_num_heads"));
    var mask = AttentionMask.of(node, q, k);
    var attributes = scale(node);
    attributes.put("softcap", node.number("softcap", 0));
    attributes.putAll(mask.attributes());
    var out = node.one("attention", attributes, q, k, v, mask.beyondAttributes().orElse(null));
    var outputs = new ArrayList<>(List.of(merged(node, out, node.x(0)), k, v));
    if (node.isWanted(3)) {
      outputs.add(scores(node, q, k, mask));
    }
    return outputs;
  }

  /** Returns [B, S, H·D] as [B, H, S, D]. */
  private static Value heads(Node node, Value x, String count) {
    return x.rank() == 4
        ? x
        : node.permute(x.reshape(x.extent(0), x.extent(1), node.integer(count, 0), -1), 0, 2, 1, 3);
  }

  /** Returns [B, H, S, D] in the layout of an input. */
  private static Value merged(Node node, Value out, Value like) {
    return like.rank() == 4
        ? out
        : node.permute(out, 0, 2, 1, 3).reshape(like.extent(0), like.extent(1), -1);
  }

  private static Value appended(Node node, int past, Value x) {
    return node.input(past)
        .map(before -> node.one("concat", Map.of("axis", 2L), before, x))
        .orElse(x);
  }

  /** Returns the scale, if it is given. */
  private static Map<String, Object> scale(Node node) {
    var attributes = new HashMap<String, Object>();
    if (node.has("scale")) {
      attributes.put("scale", node.number("scale", 1));
    }
    return attributes;
  }

  /** Computes the scores, which the op attention does not store, up to the step of a mode. */
  private static Value scores(Node node, Value q, Value k, AttentionMask mask) {
    long mode = node.integer("qk_matmul_output_mode", 0);
    double cap = node.number("softcap", 0);
    double scale = node.number("scale", 1 / Math.sqrt((double) q.extent(3)));
    var grouped = q.reshape(q.extent(0), k.extent(1), -1, q.extent(3));
    var product = Map.of("transposeB", true, "alpha", scale, "outDtype", DType.F32.text());
    var y =
        node.one("matmul", product, grouped, k)
            .reshape(q.extent(0), q.extent(1), q.extent(2), k.extent(2));
    if (mode >= 1 && cap > 0) {
      y = node.map("c0 * tanh(x / c0)", DType.F32, List.of(cap), y);
    }
    if (mode >= 2) {
      y = mask.applied(y);
    }
    if (mode == 3) {
      y = node.one("softmax", Map.of(), y);
    }
    return node.cast(y, q.dtype());
  }

  private static Value flexAttention(Node node) {
    if (node.has("score_mod") || node.has("prob_mod")) {
      throw new NotExpressible("graphs that modify scores");
    }
    return node.one("attention", scale(node), node.x(0), node.x(1), node.x(2));
  }

  private static Value rotaryEmbedding(Node node) {
    var x = node.x(0);
    var cos = node.x(1);
    var sin = node.x(2);
    // the op takes [B, S, H, D]
    var moved =
        x.rank() == 4
            ? node.permute(x, 0, 2, 1, 3)
            : x.reshape(x.extent(0), x.extent(1), node.integer("num_heads", 0), -1);
    var positions =
        node.input(3)
            .map(given -> node.cast(given, DType.I32))
            // the tables have rows for each position of each sequence
            .orElseGet(() ->
                node.range(x.extent(0) * moved.extent(1)).reshape(x.extent(0), moved.extent(1)));
    var attributes = new HashMap<String, Object>();
    attributes.put("style", node.flag("interleaved", false) ? "interleaved" : "half");
    if (node.integer("rotary_embedding_dim", 0) > 0) {
      attributes.put("rotaryDim", node.integer("rotary_embedding_dim", 0));
    }
    var y =
        node.one(
            "rope",
            attributes,
            moved,
            cos.reshape(-1, cos.extent(-1)),
            sin.reshape(-1, sin.extent(-1)),
            positions);
    return x.rank() == 4 ? node.permute(y, 0, 2, 1, 3) : y.reshape(x.shape().extents());
  }

  private static List<Value> causalConvolution(Node node) {
    var activation = node.text("activation", "none").replace("swish", "silu");
    return node.all(
        "causal-convolution",
        Map.of("activation", activation),
        node.x(0),
        node.x(1).squeeze(List.of(1L)),
        node.input(2).orElse(null),
        node.input(3).orElse(null));
  }

  private static List<Value> linearAttention(Node node) {
    requireInputs(node);
    var q = node.x(0);
    long batch = q.extent(0);
    long steps = q.extent(1);
    long heads = node.integer("kv_num_heads", 0);
    var decay =
        node.input(4)
            .map(given ->
                given.extent(-1) == heads ? given : given.reshape(batch, steps, heads, -1));
    var beta =
        node.input(5)
            .map(given ->
                given.extent(-1) == heads
                    ? given
                    : node.one("expand", Map.of("shape", List.of(batch, steps, heads)), given));
    double scale = node.number("scale", 0);
    var y =
        node.all(
            "linear-attention",
            scale == 0 ? Map.of() : Map.of("scale", scale),
            q.reshape(batch, steps, node.integer("q_num_heads", 0), -1),
            node.x(1).reshape(batch, steps, heads, -1),
            node.x(2).reshape(batch, steps, heads, -1),
            decay.orElse(null),
            beta.orElse(null),
            node.input(3).orElse(null));
    return List.of(y.get(0).reshape(batch, steps, -1), y.get(1));
  }

  /** Checks that the inputs are those of the update rule; the op applies the rule of its inputs. */
  private static void requireInputs(Node node) {
    var rule = node.text("update_rule", "gated_delta");
    if (node.input(4).isPresent() != rule.contains("gated")
        || node.input(5).isPresent() != rule.contains("delta")) {
      throw new IllegalArgumentException(
          "the update rule %s takes decay if it is gated, and beta if it is a delta rule; decay is %s, beta is %s"
              .formatted(rule, given(node, 4), given(node, 5)));
    }
  }

  private static String given(Node node, int input) {
    return node.input(input).map(value -> value.type().toString()).orElse("omitted");
  }
}
