package dev.athanor.engine.device;

import java.lang.foreign.MemorySegment;

/**
 * The stream that a device gives to the work that it captures. It takes what a {@link Graph} can
 * hold; what it refuses is refused here, for all devices alike.
 */
public abstract class CaptureStream implements Stream {

  private boolean ended;

  /** Called before anything is taken. */
  protected final void requireOpen() {
    if (ended) {
      throw new IllegalStateException("the stream is closed, for its capture is over");
    }
  }

  /** Takes nothing more: the capture is over. */
  public final void end() {
    ended = true;
  }

  /**
   * Refuses a stream that is captured.
   *
   * @param work what no graph can hold, with its article
   */
  public static void refuse(Stream stream, String work) {
    if (stream instanceof CaptureStream captured) {
      throw captured.refused(work);
    }
  }

  @Override
  public final void upload(MemorySegment source, Buffer target, long offset) {
    throw refused("an upload");
  }

  @Override
  public final void download(Buffer source, long offset, MemorySegment target) {
    throw refused("a download");
  }

  @Override
  public final Event record() {
    throw refused("a mark");
  }

  @Override
  public final void await(Event event) {
    throw refused("a wait for a mark");
  }

  @Override
  public final void synchronize() {
    throw refused("a wait for its work, none of which runs");
  }

  @Override
  public final void close() {
    throw refused("its end, which is that of the capture");
  }

  private IllegalStateException refused(String work) {
    requireOpen();
    return new IllegalStateException(
        "a stream that is captured takes launches, copies on the device and fills; got " + work);
  }
}
