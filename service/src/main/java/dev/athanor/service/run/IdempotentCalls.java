package dev.athanor.service.run;

import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.run.Call.Destination;
import dev.athanor.service.tensor.IdempotencyKeys;
import dev.athanor.service.tensor.IdempotencyKeys.Creation;

/**
 * Runs calls with idempotency keys: a repeated call with the same key returns the result of the
 * first while its tensors exist, so that a retry creates no second ones.
 */
public final class IdempotentCalls {

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
   * @throws Failure.Refused with {@code invalid-attribute} unless the call keeps each output that
   *     it names, and names one; a result keeps neither elements nor contents that may change
   */
  public Result run(Call call, String field, String key, String fingerprint) {
    if (call.outputs().isEmpty()) {
      throw rejected(field, "this request names none");
    }
    call.outputs()
        .forEach((name, target) -> {
          if (!(target.destination() instanceof Destination.Keep)) {
            throw rejected(field, "%s is not".formatted(name));
          }
        });
    var kept =
        new Call(call.op(), call.inputs(), call.attributes(), call.outputs(), null, call.context());
    return keys.once(
        call.context().tenant(),
        field,
        key,
        call.context().deadline(),
        () -> creation(runner.run(kept), fingerprint),
        () -> fingerprint);
  }

  private static Creation<Result> creation(Result result, String fingerprint) {
    var handles =
        result.outputs().values().stream()
            .map(output -> ((Result.Output.Resident) output).info().handle())
            .toList();
    return new Creation<>(result, handles, fingerprint);
  }

  private static Failure rejected(String field, String reason) {
    return new Failure.Refused(
        Code.INVALID_ATTRIBUTE,
        field,
        "%s is for calls that keep all outputs as new tensors, but %s; request a handle or omit the key"
            .formatted(field, reason));
  }
}
