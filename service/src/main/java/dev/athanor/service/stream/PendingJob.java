package dev.athanor.service.stream;

import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Stream;
import dev.athanor.service.device.DeviceHealth;
import dev.athanor.service.failure.Deadline;
import dev.athanor.service.schedule.Ticket;
import io.opentelemetry.context.Context;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A submitted job and the future that its client waits for. A fault of the job becomes its failure,
 * which is logged within the trace of the call.
 */
final class PendingJob {

  private static final Logger LOG = LoggerFactory.getLogger(PendingJob.class);

  final long id;
  final Job job;
  final Deadline deadline;
  final CompletableFuture<Boolean> answer = new CompletableFuture<>();
  final WaitingClient client = new WaitingClient();

  // guarded by the lock of the pool

  /** Whether a stream has the job. */
  boolean started;

  /** Whether the job could not be abandoned, so that its client waits for its end. */
  volatile boolean mustEnd;

  /** Whether the job finished before its deadline. */
  boolean inTime;

  private final Context trace = Context.current();
  private final DeviceHealth health;
  private volatile @Nullable RuntimeException fault;

  PendingJob(long id, Job job, Deadline deadline, DeviceHealth health) {
    this.id = id;
    this.job = job;
    this.deadline = deadline;
    this.health = health;
  }

  /**
   * @param epoch the origin of the scheduler's clock, as {@link System#nanoTime()}
   */
  Ticket ticket(RequestContext context, long epoch) {
    return new Ticket(
        id,
        context.account(),
        context.priority(),
        deadline.isSet() ? Math.max(deadline.at() - epoch, 0) : Ticket.NEVER,
        job.kind(),
        Math.max(job.cost(), 1),
        job.hostBytes(),
        job.device(),
        job.isContinuation(),
        job.batch().orElse(null));
  }

  // -- on the stream

  /** Runs the job on its own, outside a batch. */
  void run(Stream stream) {
    try {
      job.run(stream);
    } catch (RuntimeException | Error e) {
      drain(stream);
      fault = explain(e);
    }
  }

  /** Runs jobs as a batch. If the batch fails, returns false so that the jobs run one by one. */
  static boolean runBatch(Stream stream, List<PendingJob> launch) {
    try {
      return launch
          .getFirst()
          .job
          .runBatch(stream, launch.stream().map(pending -> pending.job).toList());
    } catch (RuntimeException | Error e) {
      LOG.debug("A batch of {} jobs failed", launch.size(), e);
      drain(stream);
      launch.forEach(pending -> pending.job.leaveBatch());
      return false;
    }
  }

  boolean hasFailed() {
    return fault != null;
  }

  /** Returns the failure of a job that has failed. */
  RuntimeException fault() {
    return Objects.requireNonNull(fault, "the stream recorded the fault");
  }

  /** Commits a job that finished in time, closes it, and answers its client. */
  void end(Stream stream) {
    var failure = fault;
    try {
      if ((inTime || mustEnd) && failure == null) {
        job.commit(stream);
      }
    } catch (RuntimeException | Error e) {
      drain(stream);
      failure = explain(e);
    }
    close();
    if (failure != null) {
      answer.completeExceptionally(failure);
    } else if (inTime || mustEnd) {
      answer.complete(true);
    }
  }

  /** Closes the job of a failed launch, whose client the scheduler answers unless it must wait. */
  void close(RuntimeException failure) {
    close();
    if (mustEnd) {
      answer.completeExceptionally(failure);
    }
  }

  /** Closes the job. A fault while closing is logged but not reported to any client. */
  void close() {
    try {
      job.close();
    } catch (RuntimeException | Error e) {
      explain(e instanceof RuntimeException ? e : new IllegalStateException(e));
    }
  }

  /** Translates a fault into a failure, and marks a lost device. */
  private RuntimeException explain(Throwable cause) {
    try (var _ = trace.makeCurrent()) {
      return switch (cause) {
        case DeviceException e -> health.explain(job.device(), e);
        case RuntimeException e -> e;
        default -> new IllegalStateException(cause);
      };
    }
  }

  /** Waits for enqueued work after a fault, so that no kernel uses memory that is freed next. */
  private static void drain(Stream stream) {
    try {
      stream.synchronize();
    } catch (RuntimeException e) {
      LOG.debug("The stream reported another fault", e);
    }
  }

  // -- on the client's thread

  /** Waits for the answer. */
  void join() {
    try {
      answer.join();
    } catch (CompletionException e) {
      throw failure(e);
    }
  }

  /** Returns the failure that an exception of {@link #answer} wraps. */
  static RuntimeException failure(Exception e) {
    return e.getCause() instanceof RuntimeException failure
        ? failure
        : new IllegalStateException(e);
  }
}
