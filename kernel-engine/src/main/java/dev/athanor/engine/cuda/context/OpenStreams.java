package dev.athanor.engine.cuda.context;

import static jcuda.driver.JCudaDriver.cuStreamDestroy;

import dev.athanor.engine.cuda.driver.StreamHandle;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The open streams of a device. Memory and modules are freed after the work pending on them.
 *
 * <p>The driver's streams of closed ones are used again: creating and destroying one may take
 * longer than a launch.
 */
public final class OpenStreams {

  private static final int MAX_IDLE = 16;

  /** An open stream. */
  public interface OpenStream {

    StreamHandle handle();

    /** Returns a fence behind all work enqueued so far; empty if that work has completed. */
    Optional<StreamFence> fence();

    /** Waits for the stream's work, closes it and removes it from its registry. */
    void close();
  }

  private final Set<OpenStream> streams = ConcurrentHashMap.newKeySet();
  private final Queue<StreamHandle> idle = new ArrayBlockingQueue<>(MAX_IDLE);

  public void add(OpenStream stream) {
    streams.add(stream);
  }

  public void remove(OpenStream stream) {
    streams.remove(stream);
  }

  /** Returns fences behind all work that the streams hold now; idle streams need none. */
  public List<StreamFence> fences() {
    return streams.stream().map(OpenStream::fence).flatMap(Optional::stream).toList();
  }

  /** Returns the kernels launched on each stream since it was last synchronized. */
  public List<String> recentKernels() {
    return streams.stream()
        .map(stream -> stream.handle().recentKernels())
        .flatMap(Collection::stream)
        .toList();
  }

  /** Takes a stream of the driver that has no work; empty if there is none. */
  public Optional<StreamHandle> takeIdle() {
    return Optional.ofNullable(idle.poll());
  }

  /** Keeps a stream of the driver that has no work. Returns false if enough are kept. */
  public boolean keepIdle(StreamHandle handle) {
    return idle.offer(handle);
  }

  /** Closes all streams. */
  public void closeAll(Context context) {
    List.copyOf(streams).forEach(OpenStream::close);
    context.enter();
    for (var handle = idle.poll(); handle != null; handle = idle.poll()) {
      context.check(cuStreamDestroy(handle), "cuStreamDestroy");
    }
  }
}
