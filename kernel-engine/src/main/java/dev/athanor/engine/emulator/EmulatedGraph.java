package dev.athanor.engine.emulator;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.CaptureStream;
import dev.athanor.engine.device.Graph;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.Stream;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * A recorded sequence of tasks, which runs anew at each launch with all of the emulator's checks.
 */
final class EmulatedGraph implements Graph {

  private final EmulatedDevice device;
  private final List<StreamTask> work;
  private volatile boolean closed;

  private EmulatedGraph(EmulatedDevice device, List<StreamTask> work) {
    this.device = device;
    this.work = List.copyOf(work);
  }

  /** Records the tasks that code issues to a stream. */
  static EmulatedGraph of(EmulatedDevice device, Consumer<Stream> code) {
    var capture = new Capture(device);
    try {
      code.accept(capture);
    } finally {
      capture.end();
    }
    return new EmulatedGraph(device, capture.work);
  }

  /** Runs one launch at a time, as a GPU does. */
  @Override
  public synchronized void launch(Stream stream) {
    CaptureStream.refuse(stream, "a graph");
    if (!(stream instanceof EmulatedStream ours) || !ours.belongsTo(device)) {
      throw new IllegalArgumentException("a stream of another device, " + stream);
    }
    if (closed) {
      throw new IllegalStateException("the graph is closed");
    }
    ours.use(() -> {
      work.forEach(each -> each.buffers().forEach(device::own));
      ours.forgetLastLaunch(); // a graph runs after all work before it
      var last = new LastLaunch();
      work.forEach(each -> each.task().accept(last));
    });
  }

  @Override
  public void close() {
    closed = true;
  }

  private static final class Capture extends CaptureStream {
    private final EmulatedDevice device;
    private final List<StreamTask> work = new ArrayList<>();

    Capture(EmulatedDevice device) {
      this.device = device;
    }

    @Override
    public void copy(
        Buffer source, long sourceOffset, Buffer target, long targetOffset, long bytes) {
      keep(() -> StreamTask.copy(device, source, sourceOffset, target, targetOffset, bytes));
    }

    @Override
    public void fill(Buffer target, long offset, long bytes, byte value) {
      keep(() -> StreamTask.fill(device, target, offset, bytes, value));
    }

    @Override
    public void launch(Launch launch) {
      keep(() -> StreamTask.launch(device, launch));
    }

    private void keep(Supplier<StreamTask> next) {
      requireOpen();
      device.use(() -> work.add(next.get()));
    }
  }
}
