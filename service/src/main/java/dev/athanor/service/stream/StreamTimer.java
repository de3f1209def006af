package dev.athanor.service.stream;

import dev.athanor.engine.device.Event;
import dev.athanor.engine.device.Stream;
import java.util.ArrayList;
import java.util.List;

/** Measures the time between marks in a stream. The constructor sets the first mark. */
public final class StreamTimer implements AutoCloseable {
  private final Stream stream;
  private final List<Event> events = new ArrayList<>();

  public StreamTimer(Stream stream) {
    this.stream = stream;
    mark();
  }

  /** Adds a mark after all work enqueued so far. */
  public void mark() {
    events.add(stream.record());
  }

  /** Returns the time from mark {@code from} to the next mark, in microseconds. */
  public double micros(int from) {
    return events.get(from + 1).microsSince(events.get(from));
  }

  @Override
  public void close() {
    events.forEach(Event::close);
  }
}
