package dev.athanor.client;

import java.time.Duration;

/** Observes calls, for example to record metrics. */
@FunctionalInterface
public interface CallListener {

  /**
   * Called for each completed call, including its retries, on a thread of the client. Must not
   * block.
   *
   * @param op the operation, {@code pipeline}, or for other calls a name such as {@code
   *     tensors.create}
   * @param outcome {@code ok}, {@code cancelled}, or the code of the failure
   */
  void completed(String op, String outcome, Duration duration);
}
