package dev.athanor.service.run;

import dev.athanor.engine.device.Event;
import dev.athanor.engine.device.Stream;
import java.util.ArrayList;
import java.util.List;

/** Places in a stream, the first where it is made. */
final class Marks implements AutoCloseable {
  private final Stream stream;
  private final List<Event> events = new ArrayList<>();

  Marks(Stream stream) {
    this.stream = stream;
    set();
  }

  void set() {
    events.add(stream.record());
  }

  /** The time from a mark to the next. */
  double micros(int from) {
    return events.get(from + 1).microsSince(events.get(from));
  }

  @Override
  public void close() {
    events.forEach(Event::close);
  }
}
