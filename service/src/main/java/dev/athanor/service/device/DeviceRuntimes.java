package dev.athanor.service.device;

import dev.athanor.service.tensor.DeviceStorage;
import java.util.List;
import java.util.function.ObjLongConsumer;

/**
 * All devices of the service.
 *
 * @param all by device number; at least one
 */
public record DeviceRuntimes(List<DeviceRuntime> all) implements AutoCloseable {
  public DeviceRuntimes {
    all = List.copyOf(all);
  }

  /** Returns the first device, which represents all of them where they are alike. */
  public DeviceRuntime first() {
    return all.getFirst();
  }

  /** Returns a device that is not lost, or the first if all are lost. */
  DeviceRuntime alive() {
    for (var runtime : all) {
      if (!runtime.memory().isLost()) {
        return runtime;
      }
    }
    return first();
  }

  /** Sets the action that releases a number of bytes of a device before an allocation fails. */
  public void onShortage(ObjLongConsumer<DeviceStorage> action) {
    for (var runtime : all) {
      runtime.onShortage(bytes -> action.accept(runtime.memory(), bytes));
    }
  }

  @Override
  public void close() {
    all.forEach(DeviceRuntime::close);
  }
}
