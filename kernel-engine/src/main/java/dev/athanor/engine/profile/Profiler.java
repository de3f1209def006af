package dev.athanor.engine.profile;

import dev.athanor.engine.emulator.watch.Observer;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;

/** Profiles each launch on an emulator. Install it as the observer of one emulator. */
public final class Profiler implements Observer.Factory {

  private final NavigableMap<Long, Launch> launches = new TreeMap<>();

  private record Launch(Observer.Observed observed, List<Counters> workers) {}

  @Override
  public Observer observe(Observer.Observed launch) {
    var counters = counters(launch);
    synchronized (launches) {
      launches
          .computeIfAbsent(launch.number(), _ -> new Launch(launch, new ArrayList<>()))
          .workers
          .add(counters);
    }
    return counters;
  }

  /** Returns the profiles of the launches, in order. No launch may be running. */
  public List<Profile> profiles() {
    synchronized (launches) {
      return launches.values().stream().map(Profiler::profile).toList();
    }
  }

  private static Counters counters(Observer.Observed launch) {
    int warps = (int) Math.ceilDiv(launch.block().count(), 32);
    return new Counters(launch.instructions().size(), warps);
  }

  private static Profile profile(Launch launch) {
    var sum = counters(launch.observed);
    launch.workers.forEach(sum::add);
    return Profile.of(launch.observed, sum);
  }
}
