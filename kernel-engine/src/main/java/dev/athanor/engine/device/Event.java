package dev.athanor.engine.device;

/** An event in a stream, with a timestamp. */
public interface Event extends AutoCloseable {

  /** Waits until the stream has reached the event. */
  void synchronize();

  /**
   * Returns the microseconds on the device from an earlier event to this one. Both must have
   * completed.
   */
  double microsSince(Event earlier);

  @Override
  void close();
}
