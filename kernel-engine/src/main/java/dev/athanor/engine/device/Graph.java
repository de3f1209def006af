package dev.athanor.engine.device;

/**
 * Captured work, see {@link Device#capture}, that any thread can enqueue repeatedly as a whole. A
 * graph does not own its buffers: once one of them is closed, the graph cannot be launched.
 */
public interface Graph extends AutoCloseable {

  /**
   * Enqueues the work, which runs in capture order, after the work that the stream already holds.
   * Launches of one graph never overlap, even on different streams. Faults of its kernels are
   * reported like those of single launches.
   *
   * @throws IllegalArgumentException if the stream belongs to another device
   * @throws IllegalStateException if the graph, the stream or a buffer of the graph is closed, or
   *     if the stream is being captured; nothing is enqueued then
   */
  void launch(Stream stream);

  /**
   * Destroys the graph after its pending launches. Closing twice has no effect; a closed graph
   * cannot be launched.
   */
  @Override
  void close();
}
