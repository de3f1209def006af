package dev.athanor.service.run;

import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.stream.ContentLocks;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.Pin;
import dev.athanor.service.tensor.Pin.Access;
import dev.athanor.service.tensor.TenantTensors;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The resident tensors that a call has pinned, by handle or name. */
final class Pins implements AutoCloseable {

  private record Held(Pin pin, Access access) {}

  private record Expected(Pin pin, long version, String field) {}

  private final TenantTensors tensors;
  private final Map<String, Held> held = new TreeMap<>();
  private final List<Expected> expected = new ArrayList<>();

  Pins(TenantTensors tensors) {
    this.tensors = tensors;
  }

  /**
   * Pins a tensor that the call reads.
   *
   * @param field the path of the handle in the request
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
   * Pins a tensor that the call writes. The call may also read it but may write it only once.
   *
   * @throws Failure.Refused with {@code handle-in-use} if another output already writes it
   */
  Pin write(String handle, String field) {
    tensors.requireWritable(handle, field);
    var present = held.get(handle);
    if (present != null && present.access == Access.WRITE) {
      throw new Failure.Refused(
          Code.HANDLE_IN_USE,
          field,
          "%s is %s, which another output of the same call already writes; name another tensor"
              .formatted(field, handle));
    }
    var pin = present == null ? tensors.pin(handle, field) : present.pin;
    held.put(handle, new Held(pin, Access.WRITE));
    return pin;
  }

  /**
   * Requires a version of a tensor when it is locked.
   *
   * @param field the path of the version in the request
   */
  void expect(Pin pin, long version, String field) {
    expected.add(new Expected(pin, version, field));
  }

  /**
   * Locks the contents of all tensors, in handle order so that calls cannot deadlock.
   *
   * @throws Failure.Refused with {@code version-mismatch} if a tensor has not the version that the
   *     call requires
   */
  void lock(ContentLocks locks, RequestContext context) {
    held.values().forEach(each -> locks.lock(each.pin, each.access, context));
    for (var each : expected) {
      long version = each.pin.version();
      if (version != each.version) {
        throw new Failure.Refused(
            Code.VERSION_MISMATCH,
            each.field,
            "%s is %d, but %s has version %d; read the tensor again"
                .formatted(each.field, each.version, each.pin.handle(), version));
      }
    }
  }

  @Override
  public void close() {
    held.values().forEach(each -> each.pin.close());
  }
}
