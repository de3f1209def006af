package dev.athanor.ops.tune;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Problem;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/**
 * Tunes problems that have no winner, on a thread of its own, while the device is idle. Problems
 * offered while the queue is full are dropped; they are tuned when offered again.
 */
public final class BackgroundTuner implements AutoCloseable {

  private static final System.Logger LOG = System.getLogger(BackgroundTuner.class.getName());
  private static final int QUEUE_CAPACITY = 64;
  private static final long SEED = 1;
  private static final long IDLE_POLL_NANOS = Duration.ofMillis(20).toNanos();

  private final Tuner tuner;
  private final TuningCache cache;
  private final Capability device;
  private final BooleanSupplier idle;
  private final Consumer<Problem> tuned;
  private final BlockingQueue<Problem> waiting = new ArrayBlockingQueue<>(QUEUE_CAPACITY);
  private final Set<TuningKey> known = new HashSet<>();
  private final Thread thread;
  private volatile boolean closed;

  /**
   * Starts the thread.
   *
   * @param idle returns whether no work waits for the device
   * @param tuned called with each problem that has been tuned successfully
   */
  public BackgroundTuner(
      Tuner tuner,
      TuningCache cache,
      Capability device,
      BooleanSupplier idle,
      Consumer<Problem> tuned) {
    this.tuner = tuner;
    this.cache = cache;
    this.device = device;
    this.idle = idle;
    this.tuned = tuned;
    thread = Thread.ofPlatform().name("tuner").daemon().start(this::run);
  }

  /** Queues a problem for tuning unless its bucket has a winner or was offered before. */
  public void offer(Problem problem) {
    var key = TuningKey.of(problem, device);
    if (cache.find(key).isPresent()) {
      return;
    }
    synchronized (known) {
      if (known.add(key) && !waiting.offer(problem)) {
        known.remove(key);
      }
    }
  }

  private void run() {
    try {
      while (!closed) {
        var problem = waiting.take();
        while (!idle.getAsBoolean()) {
          if (closed) {
            return;
          }
          LockSupport.parkNanos(IDLE_POLL_NANOS);
        }
        tune(problem);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // closed
    } catch (DeviceException.Lost e) {
      LOG.log(System.Logger.Level.WARNING, "tuning stopped: {0}", e.getMessage());
    }
  }

  private void tune(Problem problem) {
    try {
      var result = tuner.tune(problem, SEED);
      if (result.winner().isPresent()) {
        tuned.accept(problem);
      } else {
        LOG.log(
            System.Logger.Level.WARNING,
            "no variant of {0} {1} could be tuned: {2}",
            problem.op().description().name(),
            problem.text(),
            result.rows().getFirst().failure().orElse(""));
      }
    } catch (DeviceException.Lost e) {
      throw e;
    } catch (DeviceException | OpException | UncheckedIOException e) {
      LOG.log(
          System.Logger.Level.WARNING,
          "{0} {1} was not tuned: {2}",
          problem.op().description().name(),
          problem.text(),
          e.getMessage());
    }
  }

  /** Stops the thread after the current measurement. */
  @Override
  public void close() {
    closed = true;
    thread.interrupt();
    boolean interrupted = false;
    while (true) {
      try {
        thread.join();
        break;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
