package dev.athanor.service.run;

import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Stream;
import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Phaser;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A bounded number of streams, each with a thread of its own, and one fair queue of bounded length
 * before them. Platform threads, since calls into a driver block and the emulator computes: neither
 * shall hold up the virtual threads that serve requests.
 */
public final class StreamPool implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(StreamPool.class);
  private static final Duration RETRY = Duration.ofSeconds(1);

  /** Work for a stream. Whatever happens, {@link #close} is called exactly once, after all else. */
  interface Job<T> extends AutoCloseable {

    /** Does the work and waits for it. */
    T run(Stream stream);

    /** Makes the result visible to others; not called when nobody waits for it any more. */
    default void commit(Stream stream, T result) {}

    /** Gives back all that the job holds. */
    @Override
    void close();
  }

  private enum State {
    QUEUED,
    RUNNING,
    DONE,
    /** Its client has gone before it was done. */
    ABANDONED
  }

  private static final class Ticket<T> {
    final Job<T> job;
    final CompletableFuture<T> result = new CompletableFuture<>();
    final AtomicReference<State> state = new AtomicReference<>(State.QUEUED);

    Ticket(Job<T> job) {
      this.job = job;
    }

    boolean move(State from, State to) {
      return state.compareAndSet(from, to);
    }
  }

  private final DeviceHealth health;
  private final BlockingQueue<Ticket<?>> queue;
  private final int capacity;
  private final AtomicInteger busy = new AtomicInteger();

  /** Counts what is queued or running. */
  private final Phaser underWay = new Phaser(1);

  private final List<Thread> threads = new ArrayList<>();
  private volatile boolean closed;

  public StreamPool(Device device, DeviceHealth health, RunSettings settings) {
    this.health = health;
    this.capacity = settings.queue();
    queue = new ArrayBlockingQueue<>(capacity, true);
    for (int i = 0; i < settings.streams(); i++) {
      var stream = device.openStream();
      threads.add(Thread.ofPlatform().daemon().name("stream-" + i).start(() -> serve(stream)));
    }
  }

  /**
   * Runs a job and waits for it.
   *
   * @throws Failure.Busy with {@code queue-full}, {@code draining} or {@code device-lost}
   * @throws Failure.TooLate when the deadline passes first; what is running is then left to finish,
   *     and its result is dropped
   * @throws Failure what a fault of the device means
   */
  <T> T run(Job<T> job, Deadline deadline) {
    var ticket = new Ticket<>(job);
    boolean queued = false;
    try {
      health.admit();
      deadline.check();
      underWay.register();
      queued = queue.offer(ticket);
      if (!queued) {
        underWay.arriveAndDeregister();
        throw new Failure.Busy(
            Code.QUEUE_FULL,
            "%d jobs wait for the device already, which is the most; try again".formatted(capacity),
            RETRY);
      }
    } finally {
      if (!queued) {
        job.close();
      }
    }
    return await(ticket, deadline);
  }

  private <T> T await(Ticket<T> ticket, Deadline deadline) {
    long wait = Math.max(deadline.remainingNanos(), 0);
    try {
      return outcome(ticket, wait);
    } catch (TimeoutException e) {
      if (abandon(ticket)) {
        throw new Failure.TooLate(deadline);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      if (abandon(ticket)) {
        throw new Failure.Busy(Code.DRAINING, "the service is shutting down", RETRY);
      }
    }
    // It was done at the last moment; what is left takes no time.
    try {
      return ticket.result.join();
    } catch (CompletionException e) {
      throw failure(e.getCause());
    }
  }

  private <T> T outcome(Ticket<T> ticket, long nanos)
      throws InterruptedException, TimeoutException {
    try {
      return ticket.result.get(nanos, TimeUnit.NANOSECONDS);
    } catch (ExecutionException e) {
      throw failure(e.getCause());
    }
  }

  private RuntimeException failure(@Nullable Throwable fault) {
    return switch (fault) {
      case DeviceException e -> health.explain(e);
      case RuntimeException e -> e;
      case null, default -> new IllegalStateException(fault);
    };
  }

  private boolean abandon(Ticket<?> ticket) {
    if (ticket.move(State.QUEUED, State.ABANDONED)) {
      queue.remove(ticket);
      ticket.job.close();
      underWay.arriveAndDeregister();
      return true;
    }
    return ticket.move(State.RUNNING, State.ABANDONED);
  }

  private void serve(Stream stream) {
    try (stream) {
      while (!closed) {
        var ticket = queue.take();
        if (ticket.move(State.QUEUED, State.RUNNING)) {
          busy.incrementAndGet();
          try {
            work(stream, ticket);
          } finally {
            busy.decrementAndGet();
            underWay.arriveAndDeregister();
          }
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // the pool was closed
    }
  }

  /** The client's thread sees the outcome last, when all is given back. */
  private static <T> void work(Stream stream, Ticket<T> ticket) {
    try {
      var result = runAndClose(stream, ticket);
      ticket.result.complete(result);
    } catch (RuntimeException | Error e) {
      ticket.result.completeExceptionally(e);
    }
  }

  private static <T> T runAndClose(Stream stream, Ticket<T> ticket) {
    var job = ticket.job;
    try {
      var result = job.run(stream);
      if (ticket.move(State.RUNNING, State.DONE)) {
        job.commit(stream, result);
      }
      return result;
    } catch (RuntimeException | Error e) {
      quiesce(stream);
      throw e;
    } finally {
      job.close();
    }
  }

  /** After a fault: nothing may still run when memory is given back. */
  private static void quiesce(Stream stream) {
    try {
      stream.synchronize();
    } catch (DeviceException e) {
      LOG.debug("a second fault of the stream", e);
    }
  }

  /** How many jobs wait. */
  public int waiting() {
    return queue.size();
  }

  /** How many streams are at work. */
  public int busy() {
    return busy.get();
  }

  /** Waits until nothing is queued or running. */
  void awaitIdle() {
    underWay.arriveAndAwaitAdvance();
  }

  @Override
  public void close() {
    closed = true;
    threads.forEach(Thread::interrupt);
    for (var thread : threads) {
      try {
        thread.join(Duration.ofSeconds(10));
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      }
    }
  }
}
