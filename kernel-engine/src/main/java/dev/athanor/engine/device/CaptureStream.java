package dev.athanor.engine.device;

import java.lang.foreign.MemorySegment;

/**
 * The stream on which a device captures work. It accepts the operations that a {@link Graph} can
 * hold, and rejects all others for every device alike.
 */
public abstract class CaptureStream implements Stream {

  private boolean ended;

  /** Checks that the capture has not ended. Called before each operation. */
  protected final void requireOpen() {
    if (ended) {
      throw new IllegalStateException("the stream is closed: its capture has ended");
    }
  }

  /** Ends the capture. Later operations are rejected. */
  public final void end() {
    ended = true;
  }

  /**
   * Rejects a stream that is being captured.
   *
   * @param work an operation that no graph can hold, with its article
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
    throw refused("an event");
  }

  @Override
  public final void await(Event event) {
    throw refused("a wait for an event");
  }

  @Override
  public final void synchronize() {
    throw refused("a synchronization");
  }

  @Override
  public final void close() {
    throw refused("a close");
  }

  private IllegalStateException refused(String work) {
    requireOpen();
    return new IllegalStateException(
        "a captured stream accepts launches, device-to-device copies and fills, got " + work);
  }
}
