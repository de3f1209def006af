package dev.athanor.client;

import java.time.Duration;
import java.util.function.Consumer;

/**
 * Options of a call that all operations have.
 *
 * @param <O> the options of one operation
 */
public abstract class OpOptions<O extends OpOptions<O>> {

  private final OpCall call;

  /** Starts a call of this operation. */
  protected OpOptions(String op) {
    call = OpCall.of(op);
  }

  /** Returns the call that these options describe. */
  public final OpCall call() {
    return call;
  }

  /** Returns these options as their own type. */
  protected abstract O self();

  /** Returns the value of an attribute, a choice as text. */
  protected final Object attribute(String name, Object defaultValue) {
    return call.attributes().getOrDefault(name, defaultValue);
  }

  /** Bounds the time of this call, retries included; the default is the client's deadline. */
  public final O deadline(Duration limit) {
    call.deadline(limit);
    return self();
  }

  /**
   * Receives what the service measured, once it has run the call and before the result is there.
   */
  public final O timing(Consumer<Timing> receiver) {
    call.timing(receiver);
    return self();
  }

  /** Sets the priority, 1 (first) to 5; 1 and 2 need the scope {@code priority}. */
  public final O priority(int value) {
    call.priority(value);
    return self();
  }
}
