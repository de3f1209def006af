package dev.athanor.service.stream;

import dev.athanor.engine.device.Stream;
import dev.athanor.service.schedule.Ticket;
import java.util.List;
import java.util.Optional;

/**
 * Work for a stream, which keeps its result. Whatever happens, {@link #close} is called exactly
 * once, after all else.
 */
public interface Job extends AutoCloseable {

  /** The device on which it is done. */
  int device();

  /** What kind of work it is: jobs of one kind are wrongly estimated by the same factor. */
  Object kind();

  /** How long it will keep a stream, by the estimate, in nanoseconds. */
  long cost();

  /** The host memory that it holds while it waits, in bytes. */
  long hostBytes();

  /** Whether it goes on with something of which a part is done. */
  default boolean goesOn() {
    return false;
  }

  /** With which others it can share a launch. */
  default Optional<Ticket.Batch> batch() {
    return Optional.empty();
  }

  /** Does the work and waits for it. */
  void run(Stream stream);

  /**
   * Does the work of all in one launch and waits for it.
   *
   * @param jobs of this job's batch, itself the first of them
   * @return false when nothing was done, since they are better run one by one
   */
  default boolean runTogether(Stream stream, List<Job> jobs) {
    return false;
  }

  /** Gives back what was taken to run together, which has failed; the job is run alone next. */
  default void leave() {}

  /** Makes the result visible to others; not called when nobody waits for it any more. */
  default void commit(Stream stream) {}

  /** Gives back all that the job holds. */
  @Override
  void close();
}
