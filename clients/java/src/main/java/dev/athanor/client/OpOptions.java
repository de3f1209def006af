package dev.athanor.client;

import java.time.Duration;
import java.util.function.Consumer;

/**
 * Options of calls of all operations.
 *
 * @param <O> the options of one operation
 */
public abstract class OpOptions<O extends OpOptions<O>> {

  private final OpCall call;

  /** Creates the options of a call. */
  protected OpOptions(String op) {
    call = OpCall.of(op);
  }

  /** Returns the call that these options describe. */
  public final OpCall call() {
    return call;
  }

  /** Returns this object as its own type. */
  protected abstract O self();

  /** Returns the value of an attribute; a choice as text. */
  protected final Object attribute(String name, Object defaultValue) {
    return call.attributes().getOrDefault(name, defaultValue);
  }

  /** Bounds the time of this call, retries included; the default is the client's deadline. */
  public final O deadline(Duration limit) {
    call.deadline(limit);
    return self();
  }

  /** Sets the receiver of the service's timing, which is called before the result is available. */
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
