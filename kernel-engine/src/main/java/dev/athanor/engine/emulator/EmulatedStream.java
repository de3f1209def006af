package dev.athanor.engine.emulator;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Event;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.Stream;
import java.lang.foreign.MemorySegment;

/** A synchronous stream: every task completes within the call. */
final class EmulatedStream implements Stream {

  private final EmulatedDevice device;
  private final LastLaunch last = new LastLaunch();
  private boolean closed;

  EmulatedStream(EmulatedDevice device) {
    this.device = device;
  }

  @Override
  public void upload(MemorySegment source, Buffer target, long offset) {
    use(() -> {
      last.clear();
      StreamTask.range(device, target, offset, source.byteSize()).copyFrom(source);
      device.own(target).define(offset, source.byteSize());
    });
  }

  @Override
  public void download(Buffer source, long offset, MemorySegment target) {
    use(() -> {
      last.clear();
      target.copyFrom(StreamTask.range(device, source, offset, target.byteSize()));
    });
  }

  @Override
  public void copy(Buffer source, long sourceOffset, Buffer target, long targetOffset, long bytes) {
    use(() ->
        StreamTask.copy(device, source, sourceOffset, target, targetOffset, bytes)
            .task()
            .accept(last));
  }

  @Override
  public void fill(Buffer target, long offset, long bytes, byte value) {
    use(() -> StreamTask.fill(device, target, offset, bytes, value).task().accept(last));
  }

  @Override
  public void launch(Launch launch) {
    use(() -> StreamTask.launch(device, launch).task().accept(last));
  }

  @Override
  public Event record() {
    checkOpen();
    return new Mark(System.nanoTime());
  }

  @Override
  public void await(Event event) {
    checkOpen();
    event.synchronize();
  }

  @Override
  public void synchronize() {
    checkOpen();
    last.clear();
  }

  @Override
  public void close() {
    closed = true;
    last.clear();
  }

  /** Work follows that runs after all launches before it. */
  void forgetLastLaunch() {
    last.clear();
  }

  boolean belongsTo(EmulatedDevice owner) {
    return device == owner;
  }

  /** Runs work on the open stream; no memory is freed meanwhile. */
  void use(Runnable work) {
    checkOpen();
    device.use(work);
  }

  private void checkOpen() {
    if (closed) {
      throw new IllegalStateException("the stream is closed");
    }
  }

  /** An event that had completed when it was recorded. */
  private record Mark(long nanos) implements Event {
    @Override
    public void synchronize() {}

    @Override
    public double microsSince(Event earlier) {
      if (!(earlier instanceof Mark mark)) {
        throw new IllegalArgumentException("a mark of another device, " + earlier);
      }
      return (nanos - mark.nanos) / 1e3;
    }

    @Override
    public void close() {}
  }
}
