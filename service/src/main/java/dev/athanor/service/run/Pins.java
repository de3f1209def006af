package dev.athanor.service.run;

import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.stream.ContentLocks;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.Pin;
import dev.athanor.service.tensor.Pin.Access;
import dev.athanor.service.tensor.TenantTensors;
import java.util.Map;
import java.util.TreeMap;

/** The resident tensors of a call, by handle or name. */
final class Pins implements AutoCloseable {

  private record Held(Pin pin, Access access) {}

  private final TenantTensors tensors;
  private final Map<String, Held> held = new TreeMap<>();

  Pins(TenantTensors tensors) {
    this.tensors = tensors;
  }

  /**
   * Holds a tensor that the call reads.
   *
   * @param field where the handle stands in the request
   */
  Pin read(String handle, String field) {
    var present = held.get(handle);
    if (present != null) {
      return present.pin;
    }
    var pin = tensors.pin(handle, field);
    held.put(handle, new Held(pin, Access.READ));
    return pin;
  }

  /**
   * Holds a tensor that the call writes. The call may read it as well, but write it only once.
   *
   * @throws Failure.Refused with {@code handle-in-use} when another output goes there
   */
  Pin write(String handle, String field) {
    tensors.requireWritable(handle, field);
    var present = held.get(handle);
    if (present != null && present.access == Access.WRITE) {
      throw new Failure.Refused(
          Code.HANDLE_IN_USE,
          field,
          "%s is %s, which another output of the same call goes to; name another tensor"
              .formatted(field, handle));
    }
    var pin = present == null ? tensors.pin(handle, field) : present.pin;
    held.put(handle, new Held(pin, Access.WRITE));
    return pin;
  }

  /** Waits for the contents of all; in one order in all calls, so that none wait in a circle. */
  void lock(ContentLocks locks, RequestContext terms) {
    held.values().forEach(one -> locks.lock(one.pin, one.access, terms));
  }

  @Override
  public void close() {
    held.values().forEach(one -> one.pin.close());
  }
}
