package dev.athanor.service.run;

import java.util.List;

/**
 * All devices of the service.
 *
 * @param all by their numbers, at least one
 */
public record Places(List<Place> all) implements AutoCloseable {
  public Places {
    all = List.copyOf(all);
  }

  /** The first, which stands for all where they are alike. */
  public Place first() {
    return all.getFirst();
  }

  /** What to do before any device refuses an allocation: whatever gives memory back. */
  public void onShortage(Runnable action) {
    all.forEach(place -> place.onShortage(action));
  }

  @Override
  public void close() {
    all.forEach(Place::close);
  }
}
