package dev.athanor.service.transfer;

import dev.athanor.service.codec.Tensors;
import dev.athanor.service.device.DeviceRuntime;
import dev.athanor.service.device.DeviceRuntimes;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.stream.StreamPool;
import dev.athanor.service.tensor.DeviceStorage;
import dev.athanor.service.tensor.Tenant;
import dev.athanor.service.tensor.TensorStore;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Chooses the device of a run or of a new tensor. A run goes to the device that holds its tensors.
 * A new tensor goes to the device with most of its tenant's tensors that has enough free memory.
 */
public final class Placement {

  private final List<DeviceRuntime> runtimes;
  private final TensorStore store;
  private final StreamPool streams;

  public Placement(DeviceRuntimes runtimes, TensorStore store, StreamPool streams) {
    this.runtimes = runtimes.all();
    this.store = store;
    this.streams = streams;
  }

  /**
   * Chooses the device of a run: the device of the tensors that it writes, or else the device from
   * which it reads most bytes. Tensors on other devices are copied there. A run that only creates
   * tensors is placed like a new tensor; any other run goes to the device that can finish it first.
   *
   * @param reads handles of tensors that the run reads; unknown handles are ignored
   * @param writes handles of tensors that the run writes
   * @param keeps whether the run creates resident tensors
   * @throws Failure.Refused if it writes tensors on several devices
   */
  public DeviceRuntime ofRun(
      Tenant tenant, Collection<String> reads, Collection<String> writes, boolean keeps) {
    if (runtimes.size() == 1) {
      return runtimes.getFirst();
    }
    var tensors = store.of(tenant);
    var written = tensors.bytesByStorage(writes).keySet();
    if (written.size() > 1) {
      throw new Failure.Refused(
          Code.UNSUPPORTED_ON_DEVICE,
          "outputs",
          "the target tensors of outputs reside on %s; they must all reside on one device"
              .formatted(
                  written.stream()
                      .map(DeviceStorage::id)
                      .sorted()
                      .collect(Collectors.joining(", "))));
    }
    return written.stream()
        .findFirst()
        .or(() -> largestShare(tensors.bytesByStorage(reads)))
        .map(this::at)
        .orElseGet(() -> keeps ? ofTensor(tenant, 0, null) : runtimes.get(streams.quietest()));
  }

  /**
   * Chooses the device of a new tensor.
   *
   * @param device the device id that the client requests; null for any
   * @throws Failure.Refused if no such device exists
   */
  DeviceRuntime ofTensor(Tenant tenant, long bytes, @Nullable String device) {
    if (device != null) {
      return named(device);
    }
    if (runtimes.size() == 1) {
      return runtimes.getFirst();
    }
    var bytesByStorage = store.of(tenant).bytesByStorage();
    var wanted =
        runtimes.stream()
            .filter(runtime -> !runtime.memory().isLost())
            .sorted(
                Comparator.<DeviceRuntime>comparingLong(
                        runtime -> bytesByStorage.getOrDefault(runtime.memory(), 0L))
                    .thenComparingLong(runtime -> runtime.memory().free())
                    .reversed())
            .toList();
    return wanted.stream()
        .filter(runtime -> runtime.memory().free() >= bytes)
        .findFirst()
        .or(() -> wanted.stream().findFirst())
        .orElse(runtimes.getFirst());
  }

  private DeviceRuntime named(String device) {
    return runtimes.stream()
        .filter(runtime -> runtime.id().equals(device))
        .findFirst()
        .orElseThrow(() ->
            new Failure.Refused(
                Code.INVALID_ATTRIBUTE,
                "device",
                "device is \"%s\"; it must be one of %s"
                    .formatted(
                        Tensors.excerpt(device),
                        runtimes.stream()
                            .map(DeviceRuntime::id)
                            .collect(Collectors.joining(", ")))));
  }

  private static Optional<DeviceStorage> largestShare(Map<DeviceStorage, Long> bytesByStorage) {
    return bytesByStorage.entrySet().stream()
        .max(Map.Entry.comparingByValue())
        .map(Map.Entry::getKey);
  }

  DeviceRuntime at(DeviceStorage storage) {
    return runtimes.get(storage.number());
  }
}
