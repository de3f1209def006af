package dev.athanor.service.run;

import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.run.Call.Destination;
import dev.athanor.service.run.Call.Target;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.IdempotencyKeys;
import dev.athanor.service.tensor.IdempotencyKeys.Creation;
import dev.athanor.service.tensor.TensorStore;
import java.util.Map;
import java.util.function.Supplier;

/**
 * Runs calls and pipelines with idempotency keys: a repeated request with the same key returns the
 * result of the first while its tensors exist, so that a retry neither creates nor updates tensors
 * twice. The key of an update is forgotten after {@value #UPDATES} further updates of the tensor.
 */
public final class IdempotentCalls {

  /** Updates of a tensor after which the key of an update is forgotten. */
  private static final int UPDATES = 64;

  private final OpRunner runner;
  private final IdempotencyKeys<Result> keys;

  /** The keys are those of calls only. */
  public IdempotentCalls(OpRunner runner, IdempotencyKeys<Result> keys) {
    this.runner = runner;
    this.keys = keys;
  }

  /**
   * Runs a call, or returns its result if it ran before. Outputs that the call does not name are
   * discarded.
   *
   * @param field the path of the key in the request
   * @param fingerprint the same for equal requests only
   * @throws Failure.Refused with {@code invalid-attribute} unless the call names an output and each
   *     that it names stays on the device; a result keeps no elements
   */
  public Result run(Call call, String field, String key, String fingerprint) {
    requireResident(call.outputs(), field);
    var kept =
        new Call(call.op(), call.inputs(), call.attributes(), call.outputs(), null, call.context());
    return once(call.context(), field, key, fingerprint, () -> runner.run(kept));
  }

  /**
   * Runs a pipeline, or returns its result if it ran before.
   *
   * @throws Failure.Refused as for calls
   */
  public Result run(Pipeline pipeline, String field, String key, String fingerprint) {
    return run(
        pipeline.outputs(),
        pipeline.context(),
        field,
        key,
        fingerprint,
        () -> runner.run(pipeline));
  }

  /**
   * Does work, or returns its result if it ran before.
   *
   * @param outputs the targets of the outputs that the request names
   * @throws Failure.Refused as for calls
   */
  public Result run(
      Map<String, Target> outputs,
      RequestContext context,
      String field,
      String key,
      String fingerprint,
      Supplier<Result> work) {
    requireResident(outputs, field);
    return once(context, field, key, fingerprint, work);
  }

  private Result once(
      RequestContext context, String field, String key, String fingerprint, Supplier<Result> run) {
    return keys.once(
        context.tenant(),
        field,
        key,
        context.deadline(),
        () -> new Creation<>(run.get(), fingerprint),
        () -> fingerprint);
  }

  private static void requireResident(Map<String, Target> outputs, String field) {
    if (outputs.isEmpty()) {
      throw rejected(field, "this request names none");
    }
    outputs.forEach((name, target) -> {
      if (target.destination() instanceof Destination.Inline) {
        throw rejected(field, "%s is returned inline".formatted(name));
      }
    });
  }

  /**
   * Returns whether the tensors of a result exist, and those that it updated have had fewer than
   * {@value #UPDATES} further updates.
   */
  public static boolean isValid(Result result, TensorStore store) {
    return result.outputs().values().stream()
        .map(output -> ((Result.Output.Resident) output).info())
        .allMatch(info ->
            store.lives(
                info.handle(), info.version() == 1 ? Long.MAX_VALUE : info.version() + UPDATES));
  }

  private static Failure rejected(String field, String reason) {
    return new Failure.Refused(
        Code.INVALID_ATTRIBUTE,
        field,
        "%s is for requests that keep all outputs on the device, but %s; request a handle or omit the key"
            .formatted(field, reason));
  }
}
