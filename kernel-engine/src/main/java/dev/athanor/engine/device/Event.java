package dev.athanor.engine.device;

/** A mark in a stream. */
public interface Event extends AutoCloseable {

  /** Waits until the stream has reached the mark. */
  void synchronize();

  /**
   * The microseconds that the device took from an earlier mark to this one; both must have been
   * reached.
   */
  double microsSince(Event earlier);

  @Override
  void close();
}
