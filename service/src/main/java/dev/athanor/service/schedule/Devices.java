package dev.athanor.service.schedule;

import static java.util.Comparator.comparingLong;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/** The streams of all devices, and what they are at. */
final class Devices {

  /** A launch under way; by the estimate it ends at {@code end}. */
  record Run(List<Entry> launch, long end) {}

  /** A stream's state: idle, at work when it has a run, otherwise between the two. */
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

  /** Marks a device as lost and tells what ran there. */
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

  /** The devices that are not lost. */
  IntStream alive() {
    return IntStream.range(0, lost.length).filter(device -> !lost[device]);
  }

  /** How many streams have a launch under way. */
  int busy() {
    return IntStream.range(0, count()).map(this::busy).sum();
  }

  /** How many streams of a device have a launch under way. */
  int busy(int device) {
    return (int) slots.get(device).stream().filter(slot -> slot.run != null).count();
  }

  /** An idle stream of a device; a lost device has none. */
  Optional<Slot> idle(int device) {
    return slots.get(device).stream().filter(slot -> slot.idle).findFirst();
  }

  /** Of the devices with an idle stream, the one with the least left to do. */
  OptionalInt idlest(long now) {
    return alive()
        .boxed()
        .filter(device -> idle(device).isPresent())
        .min(comparingLong(device -> remaining(device, now).sum()))
        .map(OptionalInt::of)
        .orElse(OptionalInt.empty());
  }

  /** How long until a device that has {@code ahead} to do first has a stream to spare. */
  long delay(int device, long ahead, long now) {
    return level(remaining(device, now), ahead);
  }

  /** How long until the last of {@code work} is started, with the help of all devices. */
  long delay(long work, long now) {
    return level(remaining(now), work);
  }

  /** How long until the last of what runs is done. */
  long longest(long now) {
    return remaining(now).max().orElse(0);
  }

  private LongStream remaining(int device, long now) {
    return slots.get(device).stream().mapToLong(slot -> slot.remaining(now));
  }

  private LongStream remaining(long now) {
    return alive().boxed().flatMapToLong(device -> remaining(device, now));
  }

  /** How high {@code work} stands that is poured over streams which are busy so long already. */
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
    return 0; // no streams at all
  }
}
