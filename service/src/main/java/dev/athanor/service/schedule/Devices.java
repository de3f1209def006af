package dev.athanor.service.schedule;

import static java.util.Comparator.comparingLong;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/** The streams of all devices and their running launches. */
final class Devices {

  /** A running launch with its estimated end. */
  record Run(List<Entry> launch, long end) {}

  /** The state of a stream: idle, busy with a run, or neither (not ready yet). */
  static final class Slot {
    final int device;
    final int stream;
    boolean idle;
    @Nullable Run run;

    Slot(int device, int stream) {
      this.device = device;
      this.stream = stream;
    }

    private long remaining(long now) {
      return run == null ? 0 : Math.max(0, run.end - now);
    }
  }

  private final List<List<Slot>> slots = new ArrayList<>();
  private final boolean[] lost;

  Devices(int devices, int streams) {
    lost = new boolean[devices];
    for (int i = 0; i < devices; i++) {
      int device = i;
      slots.add(IntStream.range(0, streams).mapToObj(s -> new Slot(device, s)).toList());
    }
  }

  Slot slot(int device, int stream) {
    return slots.get(device).get(stream);
  }

  /** Marks a device as lost and returns the tickets that ran on it. */
  List<Entry> lose(int device) {
    lost[device] = true;
    var launched = new ArrayList<Entry>();
    for (var slot : slots.get(device)) {
      if (slot.run != null) {
        launched.addAll(slot.run.launch);
      }
      slot.run = null;
      slot.idle = false;
    }
    return launched;
  }

  boolean isLost(int device) {
    return lost[device];
  }

  int count() {
    return lost.length;
  }

  int streams() {
    return slots.getFirst().size();
  }

  /** Returns the devices that are not lost. */
  IntStream alive() {
    return IntStream.range(0, lost.length).filter(device -> !lost[device]);
  }

  /** Returns the number of busy streams. */
  int busy() {
    return IntStream.range(0, count()).map(this::busy).sum();
  }

  /** Returns the number of busy streams of a device. */
  int busy(int device) {
    return (int) slots.get(device).stream().filter(slot -> slot.run != null).count();
  }

  /** Returns an idle stream of a device; a lost device has none. */
  Optional<Slot> idle(int device) {
    for (var slot : slots.get(device)) {
      if (slot.idle) {
        return Optional.of(slot);
      }
    }
    return Optional.empty();
  }

  /** Returns the device with an idle stream and the least remaining work. */
  OptionalInt idlest(long now) {
    return alive()
        .boxed()
        .filter(device -> idle(device).isPresent())
        .min(comparingLong(device -> remaining(device, now).sum()))
        .map(OptionalInt::of)
        .orElse(OptionalInt.empty());
  }

  /**
   * Returns the time until a stream of a device becomes free after {@code ahead} of queued work.
   */
  long delay(int device, long ahead, long now) {
    return level(remaining(device, now), ahead);
  }

  /** Returns the time until the last part of {@code work} starts, using all devices. */
  long delay(long work, long now) {
    return level(remaining(now), work);
  }

  /** Returns the time until all running launches have finished. */
  long longest(long now) {
    return remaining(now).max().orElse(0);
  }

  private LongStream remaining(int device, long now) {
    return slots.get(device).stream().mapToLong(slot -> slot.remaining(now));
  }

  private LongStream remaining(long now) {
    return alive().boxed().flatMapToLong(device -> remaining(device, now));
  }

  /**
   * Returns the level to which {@code work} fills the streams, which are busy for the given times
   * (water filling).
   */
  private static long level(LongStream busy, long work) {
    long[] floors = busy.sorted().toArray();
    long sum = work;
    for (int streams = 1; streams <= floors.length; streams++) {
      sum += floors[streams - 1];
      long level = Math.ceilDiv(sum, streams);
      if (streams == floors.length || level <= floors[streams]) {
        return level;
      }
    }
    return 0; // no streams
  }
}
