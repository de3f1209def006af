package dev.athanor.service.device;

import dev.athanor.service.tensor.DeviceStorage;
import java.util.List;
import java.util.function.ObjLongConsumer;

/**
 * All devices of the service.
 *
 * @param all by their numbers, at least one
 */
public record DeviceRuntimes(List<DeviceRuntime> all) implements AutoCloseable {
  public DeviceRuntimes {
    all = List.copyOf(all);
  }

  /** The first, which stands for all where they are alike. */
  public DeviceRuntime first() {
    return all.getFirst();
  }

  /** One that is not lost, or the first where all are. */
  DeviceRuntime alive() {
    return all.stream().filter(place -> !place.memory().isLost()).findFirst().orElse(first());
  }

  /** What to do before a device refuses an allocation: give as many bytes of its memory back. */
  public void onShortage(ObjLongConsumer<DeviceStorage> action) {
    for (var place : all) {
      place.onShortage(bytes -> action.accept(place.memory(), bytes));
    }
  }

  @Override
  public void close() {
    all.forEach(DeviceRuntime::close);
  }
}
