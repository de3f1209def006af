package dev.athanor.service.run;

import dev.athanor.engine.device.Stream;

/**
 * Work for a stream. Whatever happens, {@link #close} is called exactly once, after all else.
 *
 * @param <T> what it gives
 */
interface Job<T> extends AutoCloseable {

  /** What kind of work it is: jobs of one kind are wrongly estimated by the same factor. */
  Object kind();

  /** How long it will keep a stream, by the estimate, in nanoseconds. */
  long cost();

  /** The host memory that it holds while it waits, in bytes. */
  long hostBytes();

  /** Does the work and waits for it. */
  T run(Stream stream);

  /** Makes the result visible to others; not called when nobody waits for it any more. */
  default void commit(Stream stream, T result) {}

  /** Gives back all that the job holds. */
  @Override
  void close();
}
