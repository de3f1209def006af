package dev.athanor.engine.lift;

import dev.athanor.engine.device.Graph;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.WeakHashMap;

/** Captured launches of Java kernels, which streams enqueue as a whole. */
public final class KernelGraph implements AutoCloseable {
  private final Graph graph;
  private final FaultRecords records;
  private final List<DeviceArray<?>> arrays;

  /** The streams on which it was launched. */
  private final Set<KernelStream> streams = Collections.newSetFromMap(new WeakHashMap<>());

  KernelGraph(Graph graph, FaultRecords records, List<DeviceArray<?>> arrays) {
    this.graph = graph;
    this.records = records;
    this.arrays = arrays;
  }

  /**
   * Enqueues the launches, with the arguments of the capture.
   *
   * @throws IllegalArgumentException if the stream belongs to another device
   * @throws IllegalStateException if the graph, the stream or an array is closed
   */
  public void launch(KernelStream stream) {
    streams.add(stream);
    stream.launch(this, graph);
  }

  FaultRecords records() {
    return records;
  }

  /** Returns the arrays that the launches use. */
  List<DeviceArray<?>> arrays() {
    return arrays;
  }

  /**
   * Waits for the streams on which it was launched, and destroys the graph.
   *
   * @throws CheckFailedException if a check of these streams failed
   */
  @Override
  public void close() {
    try (records;
        graph) {
      streams.forEach(KernelStream::finish);
      streams.clear();
    }
  }
}
