package dev.athanor.engine.cuda.context;

import dev.athanor.engine.cuda.driver.StreamHandle;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The open streams of a device. Memory and modules are freed after the work pending on them. */
public final class OpenStreams {

  /** An open stream. */
  public interface OpenStream {

    StreamHandle handle();

    /** Returns a fence behind all work enqueued so far; empty if that work has completed. */
    Optional<StreamFence> fence();

    /** Waits for the stream's work, closes it and removes it from its registry. */
    void close();
  }

  private final Set<OpenStream> streams = ConcurrentHashMap.newKeySet();

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

  /** Closes all streams. */
  public void closeAll() {
    List.copyOf(streams).forEach(OpenStream::close);
  }
}
