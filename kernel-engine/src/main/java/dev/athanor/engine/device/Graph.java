package dev.athanor.engine.device;

/**
 * Work that a device has captured, see {@link Device#capture}, to be enqueued as a whole as often
 * as wanted, by any thread. It does not own the buffers that it uses: once one of them is closed,
 * its memory may be another's, and the graph can no longer be launched.
 */
public interface Graph extends AutoCloseable {

  /**
   * Enqueues all of its work, which then runs in the order in which it was captured, after the work
   * that the stream has already and before what it gets later. Launches of one graph run one after
   * another, on whichever streams they are. Faults of its kernels are told as those of single
   * launches are.
   *
   * @throws IllegalArgumentException when the stream is not one of the graph's device
   * @throws IllegalStateException when the graph, the stream or a buffer that the graph uses is
   *     closed, or when the stream is itself captured; nothing is enqueued then
   */
  void launch(Stream stream);

  /**
   * Gives the graph back once its launches that were enqueued before are done. Closing twice does
   * nothing; a closed graph cannot be launched.
   */
  @Override
  void close();
}
