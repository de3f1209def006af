package dev.athanor.models.checkpoint;

import dev.athanor.models.ModelDefinition.Input;
import dev.athanor.models.ModelException;
import dev.athanor.models.graph.GraphBuilder;
import dev.athanor.models.graph.Value;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpException;
import dev.athanor.ops.TensorType;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.LongStream;

/** Adds the parts of layers to a graph. */
final class Steps {

  /** The outputs of decoders. */
  static final List<String> LOGITS_OUTPUTS = List.of("logits", "next");

  /** Returns the dtype and extents of an output of decoders. */
  static Optional<Input> declared(String output, long vocabulary) {
    var extents =
        output.equals("logits")
            ? List.of("batch", "sequence", "" + vocabulary)
            : List.of("batch", "" + vocabulary);
    return LOGITS_OUTPUTS.contains(output)
        ? Optional.of(new Input(output, DType.F32, extents))
        : Optional.empty();
  }

  private final GraphBuilder graph;
  private final Map<String, HostTensor> weights;
  private final Map<String, Value> constants = new HashMap<>();

  /**
   * Creates a helper.
   *
   * @param weights the tensors of the model by name
   */
  Steps(GraphBuilder graph, Map<String, HostTensor> weights) {
    this.graph = graph;
    this.weights = weights;
  }

  /** Adds the inputs of a model to a graph. */
  static Map<String, Value> inputs(
      GraphBuilder graph, List<Input> inputs, Map<String, TensorType> types) {
    var values = new LinkedHashMap<String, Value>();
    for (var input : inputs) {
      var type = Objects.requireNonNull(types.get(input.name()));
      values.put(input.name(), graph.input(input.name(), type));
    }
    return values;
  }

  Value weight(String name) {
    return constants.computeIfAbsent(
        name, key -> graph.constant(Objects.requireNonNull(weights.get(key), key)));
  }

  Value constant(HostTensor tensor) {
    return graph.constant(tensor);
  }

  /** Runs an op; returns its outputs by name. */
  Map<String, Value> run(String op, Map<String, Value> inputs, Map<String, ?> attributes) {
    try {
      return graph.run(op, inputs, attributes);
    } catch (OpException e) {
      throw new ModelException.Unsupported("%s: %s".formatted(op, e.getMessage()), e);
    }
  }

  /** Runs an op; returns its first output. */
  Value one(String op, Map<String, Value> inputs, Map<String, ?> attributes) {
    return run(op, inputs, attributes).values().iterator().next();
  }

  Value map(String expression, Value x) {
    return one("map", Map.of("x0", x), Map.of("expression", expression));
  }

  /** Multiplies by the transposed matrix {@code name.weight}, and adds {@code name.bias} if any. */
  Value linear(Value x, String name, Map<String, ?> attributes) {
    var inputs = new LinkedHashMap<String, Value>();
    inputs.put("a", x);
    inputs.put("b", weight(name + ".weight"));
    if (weights.containsKey(name + ".bias")) {
      inputs.put("bias", weight(name + ".bias"));
    }
    var all = new LinkedHashMap<String, Object>(attributes);
    all.put("transposeB", true);
    return one("matmul", inputs, all);
  }

  Value linear(Value x, String name) {
    return linear(x, name, Map.of());
  }

  /** Exchanges the second and third of four dimensions. */
  Value exchanged(Value x) {
    return x.extent(1) == 1 || x.extent(2) == 1
        ? x.reshape(x.extent(0), x.extent(2), x.extent(1), x.extent(3))
        : one("permute", Map.of("x", x), Map.of("axes", List.of(0L, 2L, 1L, 3L)));
  }

  /** Returns one position of x [batch, sequence, size], as [batch, size]. */
  Value position(Value x, long position) {
    if (x.extent(1) == 1) {
      return x.reshape(x.extent(0), x.extent(2));
    }
    var index = graph.constant(HostTensor.of(TensorType.of(DType.I64), (double) position));
    return one("gather", Map.of("table", x, "index", index), Map.of("axis", 1L));
  }

  /** Normalizes rows by their root mean square. */
  Value norm(Value x, String name, double epsilon) {
    var inputs = Map.of("x", x, "gamma", weight(name + ".weight"));
    return one("rms-norm", inputs, Map.of("epsilon", epsilon));
  }

  /** Returns the {@code sum} and its norm, {@code y}. */
  Map<String, Value> sum(Value x, Value residual, String name, double epsilon) {
    var inputs = Map.of("x", x, "residual", residual, "gamma", weight(name + ".weight"));
    return run("residual-rms-norm", inputs, Map.of("epsilon", epsilon));
  }

  /**
   * Returns the logits that are asked for: of all positions, or of the last only.
   *
   * @param y [batch, sequence, hidden]
   */
  Map<String, Value> logits(Value y, String matrix, double alpha, Set<String> outputs) {
    var attributes = Map.of("alpha", alpha, "outDtype", "f32");
    long last = y.extent(1) - 1;
    if (outputs.contains("logits")) {
      var logits = linear(y, matrix, attributes);
      return Map.of("logits", logits, "next", position(logits, last));
    }
    return outputs.contains("next")
        ? Map.of("next", linear(position(y, last), matrix, attributes))
        : Map.of();
  }

  /** Returns the i32 numbers from first to last, exclusive. */
  Value range(long first, long last) {
    var numbers = LongStream.range(first, last).asDoubleStream().toArray();
    return graph.constant(HostTensor.of(TensorType.of(DType.I32, last - first), numbers));
  }

  /** Checks the number of tokens of each sequence. */
  static void requireTokens(String input, Map<String, TensorType> types, long maximum) {
    var type = Objects.requireNonNull(types.get(input));
    if (type.shape().elements() == 0 || type.shape().extent(1) > maximum) {
      throw new ModelException.InvalidInput(
          "input \"%s\" is %s; the model requires sequences of 1 to %d tokens"
              .formatted(input, type, maximum));
    }
  }
}
