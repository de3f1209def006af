package dev.athanor.service.stream;

import dev.athanor.engine.device.Stream;
import dev.athanor.service.schedule.Ticket;
import java.util.List;
import java.util.Optional;

/**
 * A unit of work for a stream. It holds its own result. {@link #close} is always called exactly
 * once, as the last method.
 */
public interface Job extends AutoCloseable {

  /** Returns the number of the device that runs it. */
  int device();

  /** Returns the kind of work. Estimates of jobs of one kind are off by the same factor. */
  Object kind();

  /** Returns the estimated run time in nanoseconds. */
  long cost();

  /** Returns the host memory that it holds while it waits, in bytes. */
  long hostBytes();

  /** Whether it continues a transfer that has already begun. */
  default boolean isContinuation() {
    return false;
  }

  /** Whether it only copies between host and device. */
  default boolean isTransfer() {
    return false;
  }

  /** Returns the batch that it can join; empty if it must run alone. */
  default Optional<Ticket.Batch> batch() {
    return Optional.empty();
  }

  /** Runs the job and waits for its completion. */
  void run(Stream stream);

  /**
   * Runs all jobs in one launch and waits for its completion.
   *
   * @param jobs the jobs of the batch, this one first
   * @return false if nothing has run and the jobs must run one by one
   */
  default boolean runBatch(Stream stream, List<Job> jobs) {
    return false;
  }

  /**
   * Asks a running job to end without a result, because its client has stopped waiting. Any thread
   * may call this.
   *
   * @return false if the job can no longer be undone; it then ends as usual
   */
  default boolean abandon() {
    return true;
  }

  /** Releases the resources of a failed batch; the job runs alone next. */
  default void leaveBatch() {}

  /** Publishes the result; not called if the client has stopped waiting. */
  default void commit(Stream stream) {}

  /** Releases everything that the job holds. */
  @Override
  void close();
}
