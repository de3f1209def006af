package dev.athanor.service.stream;

import dev.athanor.engine.device.Event;
import dev.athanor.engine.device.Stream;
import java.util.ArrayList;
import java.util.List;

/** Places in a stream, the first where it is made. */
public final class StreamTimer implements AutoCloseable {
  private final Stream stream;
  private final List<Event> events = new ArrayList<>();

  public StreamTimer(Stream stream) {
    this.stream = stream;
    set();
  }

  public void set() {
    events.add(stream.record());
  }

  /** The time from a mark to the next. */
  public double micros(int from) {
    return events.get(from + 1).microsSince(events.get(from));
  }

  @Override
  public void close() {
    events.forEach(Event::close);
  }
}
