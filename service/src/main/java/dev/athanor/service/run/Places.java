package dev.athanor.service.run;

import dev.athanor.service.tensor.Home;
import java.util.List;
import java.util.function.ObjLongConsumer;

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

  /** One that is not lost, or the first where all are. */
  Place alive() {
    return all.stream().filter(place -> !place.memory().isLost()).findFirst().orElse(first());
  }

  /** What to do before a device refuses an allocation: give as many bytes of its memory back. */
  public void onShortage(ObjLongConsumer<Home> action) {
    for (var place : all) {
      place.onShortage(bytes -> action.accept(place.memory(), bytes));
    }
  }

  @Override
  public void close() {
    all.forEach(Place::close);
  }
}
