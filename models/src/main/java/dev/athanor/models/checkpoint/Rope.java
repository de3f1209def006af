package dev.athanor.models.checkpoint;

import dev.athanor.models.ModelException;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.DoubleUnaryOperator;
import java.util.stream.LongStream;

/**
 * Tables of rotary position embeddings.
 *
 * @param frequencies the angles of position 1, of each pair of rotated elements
 * @param positions the maximum of rows
 */
record Rope(List<Double> frequencies, long positions, Map<Long, Tables> known) {

  /** Tables f32[positions, pairs]. */
  record Tables(HostTensor cos, HostTensor sin) {}

  /**
   * Reads the kind and its parameters: {@code default}, {@code linear} (Chen et al., "Extending
   * context window of large language models via positional interpolation", 2023) or {@code llama3}
   * (Llama 3.1).
   *
   * @param size elements of a head
   */
  static Rope of(Config config, long size) {
    var options =
        config
            .object("rope_parameters")
            .or(() -> config.object("rope_scaling"))
            .orElse(new Config(Map.of()));
    double theta = options.number("rope_theta", config.number("rope_theta", 10_000));
    double part =
        options.number("partial_rotary_factor", config.number("partial_rotary_factor", 1));
    long rotated = (long) (size * part);
    if (rotated < 2 || rotated > size || rotated % 2 != 0) {
      throw new ModelException.Malformed(
          "a head has %d elements, of which %d would be rotated; their number must be even, and at least 2"
              .formatted(size, rotated));
    }
    var scaling = scaling(options, config.size("max_position_embeddings"));
    var frequencies =
        LongStream.range(0, rotated / 2)
            .mapToDouble(i -> Math.pow(theta, -2.0 * i / rotated))
            .map(scaling)
            .boxed()
            .toList();
    return new Rope(frequencies, config.size("max_position_embeddings"), new ConcurrentHashMap<>());
  }

  private static DoubleUnaryOperator scaling(Config options, long positions) {
    var member = options.members().get("rope_type") == null ? "type" : "rope_type";
    return switch (options.text(member, "default")) {
      case "default" -> DoubleUnaryOperator.identity();
      case "linear" -> {
        double factor = required(options, "factor");
        yield frequency -> frequency / factor;
      }
      case "llama3" ->
          llama3(
              required(options, "factor"),
              required(options, "low_freq_factor"),
              required(options, "high_freq_factor"),
              options.number("original_max_position_embeddings", (double) positions));
      default -> throw options.unsupported(member, "default, linear and llama3");
    };
  }

  private static double required(Config options, String name) {
    double value = options.number(name, 0);
    if (value == 0) {
      throw new ModelException.Malformed(
          "`%s` is missing in the parameters of rope in config.json".formatted(name));
    }
    return value;
  }

  /**
   * Divides frequencies with less than {@code low} periods in the context, and blends up to high.
   */
  private static DoubleUnaryOperator llama3(
      double factor, double low, double high, double context) {
    return frequency -> {
      double periods = context * frequency / (2 * Math.PI);
      double kept = Math.clamp((periods - low) / (high - low), 0.0, 1.0);
      return frequency * (kept + (1 - kept) / factor);
    };
  }

  /** Returns tables with rows for at least some positions, or for as many as the model supports. */
  Tables tables(long rows) {
    long rounded = Math.max(1, Long.highestOneBit(2 * rows - 1));
    return known.computeIfAbsent(Math.min(rounded, positions), this::computed);
  }

  private Tables computed(long rows) {
    var type = TensorType.of(DType.F32, rows, frequencies.size());
    var cos = HostTensor.zeros(type);
    var sin = HostTensor.zeros(type);
    long i = 0;
    for (long position = 0; position < rows; position++) {
      for (double frequency : frequencies) {
        DType.F32.write(cos.data(), i, Math.cos(position * frequency));
        DType.F32.write(sin.data(), i, Math.sin(position * frequency));
        i++;
      }
    }
    return new Tables(cos, sin);
  }
}
