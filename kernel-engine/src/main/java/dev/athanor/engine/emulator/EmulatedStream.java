package dev.athanor.engine.emulator;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Event;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.Stream;
import java.lang.foreign.MemorySegment;

/** A queue that is always empty, since its work is done at the call. */
final class EmulatedStream implements Stream {

  private final EmulatedDevice device;
  private boolean closed;

  EmulatedStream(EmulatedDevice device) {
    this.device = device;
  }

  @Override
  public void upload(MemorySegment source, Buffer target, long offset) {
    use(() -> {
      range(target, offset, source.byteSize()).copyFrom(source);
      device.own(target).define(offset, source.byteSize());
    });
  }

  @Override
  public void download(Buffer source, long offset, MemorySegment target) {
    use(() -> target.copyFrom(range(source, offset, target.byteSize())));
  }

  @Override
  public void copy(Buffer source, long sourceOffset, Buffer target, long targetOffset, long bytes) {
    use(() -> {
      var from = range(source, sourceOffset, bytes);
      var to = range(target, targetOffset, bytes);
      if (source.equals(target) && Math.abs(sourceOffset - targetOffset) < bytes) {
        throw new IllegalArgumentException(
            "the ranges of a copy overlap: %d bytes from %d and from %d of %s"
                .formatted(bytes, sourceOffset, targetOffset, source));
      }
      to.copyFrom(from);
      var known = device.own(source).defined();
      var fresh = device.own(target).defined();
      if (known != null && fresh != null) {
        fresh.copyRange(known, sourceOffset, targetOffset, bytes);
      }
    });
  }

  @Override
  public void fill(Buffer target, long offset, long bytes, byte value) {
    use(() -> {
      range(target, offset, bytes).fill(value);
      device.own(target).define(offset, bytes);
    });
  }

  @Override
  public void launch(Launch launch) {
    use(() -> device.run(launch));
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
  }

  @Override
  public void close() {
    closed = true;
  }

  private void use(Runnable work) {
    checkOpen();
    device.use(work);
  }

  private void checkOpen() {
    if (closed) {
      throw new IllegalStateException("the stream is closed");
    }
  }

  private MemorySegment range(Buffer buffer, long offset, long bytes) {
    var segment = device.own(buffer).segment();
    if (offset < 0 || bytes < 0 || bytes > segment.byteSize() - offset) {
      throw new IllegalArgumentException(
          "%d bytes from byte %d on do not lie in %s".formatted(bytes, offset, buffer));
    }
    return segment.asSlice(offset, bytes);
  }

  /** A mark that was reached when it was made. */
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
