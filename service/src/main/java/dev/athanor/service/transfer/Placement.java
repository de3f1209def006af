package dev.athanor.service.transfer;

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
 * Says on which device things are done: where the tensors are. A tensor that is new goes where most
 * of its tenant's are, so that they can be used together, as long as there is room.
 */
public final class Placement {

  private final List<DeviceRuntime> places;
  private final TensorStore store;
  private final StreamPool streams;

  public Placement(DeviceRuntimes places, TensorStore store, StreamPool streams) {
    this.places = places.all();
    this.store = store;
    this.streams = streams;
  }

  /**
   * Where a run of ops is done: on the device that it writes to, or else that from which it reads
   * most. What it reads elsewhere is copied there. Where it keeps something but reads nothing, that
   * is placed as any new tensor; where it does neither, it goes to the device that is done first.
   *
   * @param reads handles of the tensors that are read; what is unknown does not count
   * @param writes those of the tensors that are written
   * @param keeps whether there will be new tensors
   * @throws Failure.Refused when it writes on several devices
   */
  public DeviceRuntime ofRun(
      Tenant tenant, Collection<String> reads, Collection<String> writes, boolean keeps) {
    if (places.size() == 1) {
      return places.getFirst();
    }
    var tensors = store.of(tenant);
    var written = tensors.homes(writes).keySet();
    if (written.size() > 1) {
      throw new Failure.Refused(
          Code.UNSUPPORTED_ON_DEVICE,
          "outputs",
          "the tensors that outputs go into lie on %s; all must lie on one device"
              .formatted(
                  written.stream()
                      .map(DeviceStorage::id)
                      .sorted()
                      .collect(Collectors.joining(", "))));
    }
    return written.stream()
        .findFirst()
        .or(() -> most(tensors.homes(reads)))
        .map(this::at)
        .orElseGet(() -> keeps ? ofTensor(tenant, 0, null) : places.get(streams.quietest()));
  }

  /**
   * Where a new tensor is put.
   *
   * @param device the id of the device that the client asks for; null where any will do
   * @throws Failure.Refused when there is no such device
   */
  DeviceRuntime ofTensor(Tenant tenant, long bytes, @Nullable String device) {
    if (device != null) {
      return named(device);
    }
    if (places.size() == 1) {
      return places.getFirst();
    }
    var homes = store.of(tenant).homes();
    var wanted =
        places.stream()
            .filter(place -> !place.memory().isLost())
            .sorted(
                Comparator.<DeviceRuntime>comparingLong(
                        place -> homes.getOrDefault(place.memory(), 0L))
                    .thenComparingLong(place -> place.memory().free())
                    .reversed())
            .toList();
    return wanted.stream()
        .filter(place -> place.memory().free() >= bytes)
        .findFirst()
        .or(() -> wanted.stream().findFirst())
        .orElse(places.getFirst());
  }

  private DeviceRuntime named(String device) {
    return places.stream()
        .filter(place -> place.id().equals(device))
        .findFirst()
        .orElseThrow(() ->
            new Failure.Refused(
                Code.INVALID_ATTRIBUTE,
                "device",
                "device must be one of %s"
                    .formatted(
                        places.stream().map(DeviceRuntime::id).collect(Collectors.joining(", ")))));
  }

  private static Optional<DeviceStorage> most(Map<DeviceStorage, Long> homes) {
    return homes.entrySet().stream().max(Map.Entry.comparingByValue()).map(Map.Entry::getKey);
  }

  DeviceRuntime at(DeviceStorage home) {
    return places.get(home.number());
  }
}
