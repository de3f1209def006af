package dev.athanor.service.model;

import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.run.Call;
import dev.athanor.service.run.Result;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Random;

/**
 * Checks whether calls of a model may share runs: whether the rows of an example have the same bits
 * with and without others. It finds models that mix rows, except those that mix other values only.
 */
final class BatchCheck {

  private final StoredModel model;
  private final String extent;
  private final Random random = new Random(1);

  /** Runs the model with row invariance. */
  interface Run {
    Result run(Map<String, Call.Input> inputs);
  }

  private BatchCheck(StoredModel model, String extent) {
    this.model = model;
    this.extent = extent;
  }

  /**
   * Checks the inputs of a model.
   *
   * @param extent the name of the first extent of all inputs
   * @throws Failure.Refused if they do not suit
   */
  static void inputs(StoredModel model, String extent) {
    new BatchCheck(model, extent).checkInputs();
  }

  /**
   * Checks an example.
   *
   * @param extent the name of the first extent of all inputs
   * @throws Failure.Refused if outputs do not have the extent, or rows depend on each other
   */
  static void rows(StoredModel model, String extent, Run run) {
    new BatchCheck(model, extent).checkRows(run);
  }

  private Failure refused(String reason) {
    return new Failure.Refused(
        Code.INVALID_ATTRIBUTE,
        ModelUpload.BATCH,
        "batch is \"%s\", but %s".formatted(Tensors.excerpt(extent), reason));
  }

  private void checkInputs() {
    var definition = model.definition();
    if (!definition.states().isEmpty()) {
      throw refused("the model has a state; only independent calls can share a run");
    }
    if (definition.inputs().isEmpty()) {
      throw refused("the model has no inputs");
    }
    for (var input : definition.inputs()) {
      var extents = input.extents();
      if (extents.indexOf(extent) != 0
          || extents.lastIndexOf(extent) != 0
          || input.dtype().isBlock()) {
        throw refused(
            "the input %s has another first extent or the same twice; every input must have it first, and no blocks"
                .formatted(input));
      }
    }
    var range = model.extents().ranges().get(extent);
    if (range == null) {
      throw refused("extents has no range of it; give one, as in extents=%s:1-8".formatted(extent));
    }
    if (range.max() < 2 * Math.max(range.min(), 1)) {
      throw refused("its range is %s, which is too small for two calls".formatted(range));
    }
  }

  private void checkRows(Run run) {
    var range = Objects.requireNonNull(model.extents().ranges().get(extent));
    long first = Math.max(range.min(), 1);
    long second = Math.min(range.max() - first, first + 1);
    var example = new LinkedHashMap<String, HostTensor>();
    model
        .extents()
        .lowest(model.definition().inputs())
        .forEach((name, type) ->
            example.put(name, example(ModelBatches.withRows(type, first + second))));
    var together = run.run(part(example, 0, first + second)).outputs();
    var parts =
        Map.of(
            0L,
            run.run(part(example, 0, first)).outputs(),
            first,
            run.run(part(example, first, second)).outputs());
    together.forEach((name, output) -> {
      var all = tensor(output);
      var shape = all.type().shape();
      if (shape.rank() == 0 || shape.extent(0) != first + second || all.type().dtype().isBlock()) {
        throw refused(
            "the output \"%s\" is %s for %d rows; every output must have the extent first"
                .formatted(name, all.type(), first + second));
      }
      parts.forEach((at, outputs) -> {
        var part = tensor(Objects.requireNonNull(outputs.get(name)));
        long count = at == 0 ? first : second;
        if (!part.type().equals(ModelBatches.withRows(all.type(), count))
            || ModelBatches.rows(all, at, count).data().mismatch(part.data()) >= 0) {
          throw refused(
              "in an example, rows of the output \"%s\" depend on the rows that come with them; store the model without batch"
                  .formatted(name));
        }
      });
    });
  }

  private static HostTensor tensor(Result.Output output) {
    return ((Result.Output.Inline) output).tensor();
  }

  private static Map<String, Call.Input> part(
      Map<String, HostTensor> example, long first, long count) {
    var inputs = new LinkedHashMap<String, Call.Input>();
    example.forEach((name, tensor) ->
        inputs.put(name, new Call.Input.Inline(ModelBatches.rows(tensor, first, count))));
    return inputs;
  }

  /** Returns positive numbers; integers are 0 and 1, which may be indices. */
  private HostTensor example(TensorType type) {
    var tensor = HostTensor.zeros(type);
    long elements = type.shape().elements();
    long columns = elements / type.shape().extent(0);
    for (long i = 0; i < elements; i++) {
      double value =
          type.dtype().isFloat() ? random.nextDouble(0.25, 1) : (i / columns + i % columns) % 2;
      type.dtype().write(tensor.data(), i, value);
    }
    return tensor;
  }
}
