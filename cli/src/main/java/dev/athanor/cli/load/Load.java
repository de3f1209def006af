package dev.athanor.cli.load;

import dev.athanor.client.AthanorException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiConsumer;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/** Sends the requests of a scenario and measures throughput and latency. */
public final class Load {

  /** Every sixteenth response is checked; the others are only read. */
  private static final int CHECK_INTERVAL = 16;

  /** Maximum requests in flight of an open loop; later ones wait, which adds to their latency. */
  private static final int MAX_IN_FLIGHT = 512;

  private static final Duration MAX_RETRY_DELAY = Duration.ofSeconds(60);

  private final Target target;
  private final MeasurementPlan plan;

  public Load(Target target, MeasurementPlan plan) {
    this.target = target;
    this.plan = plan;
  }

  /**
   * Runs a measurement.
   *
   * @param progress receives the number of each completed window and its requests per second
   * @throws LoadException if the scenario cannot be prepared
   */
  public Measurement run(Scenario scenario, Level level, BiConsumer<Integer, Double> progress)
      throws InterruptedException {
    try {
      return run(scenario, scenario.prepare(target, level.slots()), level, progress);
    } catch (AthanorException e) {
      throw new LoadException(
          RequestFailure.of(e).code().equals(RequestFailure.NO_ANSWER)
              ? "%s does not answer: %s".formatted(target.url(), e.getMessage())
              : "\"%s\" cannot be measured: %s".formatted(scenario.text(), e.getMessage()));
    }
  }

  private Measurement run(
      Scenario scenario, Scenario.Ready ready, Level level, BiConsumer<Integer, Double> progress)
      throws InterruptedException {
    var windows = new ArrayList<TimedWindow>();
    var warmup = new Window();
    try (var clients = new RunningClients(ready, level)) {
      if (plan.warmup().isPositive()) {
        warmup.add(clients.window(plan.warmup()).seen);
      }
      if (plan.fixed().isPresent()) {
        windows.add(clients.window(plan.fixed().get()));
      } else {
        while (windows.size() < plan.trials() && !isStable(windows)) {
          windows.add(clients.window(plan.window()));
          progress.accept(windows.size(), windows.getLast().perSecond());
        }
      }
    }
    var all = new Window();
    // like perf_analyzer: windows before the stable ones are not counted
    var last =
        windows.subList(
            Math.max(0, windows.size() - MeasurementPlan.STABLE_WINDOWS), windows.size());
    last.forEach(each -> all.add(each.seen));
    return Measurement.of(
        scenario,
        level,
        plan.fixed().isPresent() || isStable(windows),
        windows.size(),
        last.stream().mapToDouble(TimedWindow::seconds).sum(),
        warmup,
        all,
        ready.residentTensorsAreCorrect());
  }

  private boolean isStable(List<TimedWindow> windows) {
    int count = windows.size();
    if (count < MeasurementPlan.STABLE_WINDOWS) {
      return false;
    }
    var last = windows.subList(count - MeasurementPlan.STABLE_WINDOWS, count);
    return isStable(last, TimedWindow::perSecond)
        && isStable(last, window -> window.seen.nanos("latency").getMean());
  }

  private boolean isStable(List<TimedWindow> windows, ToDoubleFunction<TimedWindow> figure) {
    double mean = windows.stream().mapToDouble(figure).average().orElseThrow();
    return windows.stream()
        .mapToDouble(figure)
        .allMatch(value -> value > 0 && Math.abs(value - mean) <= plan.stability() * mean);
  }

  private record TimedWindow(Window seen, double seconds) {
    double perSecond() {
      return seen.requests() / seconds;
    }
  }

  /**
   * The clients. They start with the first window, so that no request precedes it. Each sends at
   * least one request, however short the windows are.
   */
  private final class RunningClients implements AutoCloseable {
    private final Scenario.Ready ready;
    private final Level level;
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final Semaphore permits = new Semaphore(MAX_IN_FLIGHT);
    private final AtomicLong sent = new AtomicLong();
    private volatile @Nullable Window current;
    private volatile boolean stopped;

    RunningClients(Scenario.Ready ready, Level level) {
      this.ready = ready;
      this.level = level;
    }

    private void start() {
      switch (level) {
        case Level.Clients(int count) -> {
          for (int slot = 0; slot < count; slot++) {
            int clientSlot = slot;
            var _ = threads.submit(() -> runClosedLoop(clientSlot));
          }
        }
        case Level.Rate rate -> {
          var _ = threads.submit(() -> runOpenLoop(rate));
        }
      }
    }

    TimedWindow window(Duration length) throws InterruptedException {
      var window = new Window();
      boolean isFirst = current == null;
      current = window;
      long start = System.nanoTime();
      if (isFirst) {
        start();
      }
      Thread.sleep(length);
      return new TimedWindow(window, (System.nanoTime() - start) / 1e9);
    }

    private Window currentWindow() {
      return Objects.requireNonNull(current);
    }

    private void runClosedLoop(int slot) {
      do {
        long pause = sendRequest(slot, System.nanoTime());
        if (plan.honorsRetryAfter() && pause > 0) {
          long end = System.nanoTime() + pause;
          while (!stopped && System.nanoTime() < end) {
            LockSupport.parkNanos(Math.min(end - System.nanoTime(), 100_000_000));
          }
        }
      } while (!stopped);
    }

    private void runOpenLoop(Level.Rate rate) {
      var random = new SplittableRandom(plan.seed());
      long due = System.nanoTime();
      for (long number = 0; !stopped; number++) {
        double gap = 1e9 / rate.perSecond();
        due += Math.round(rate.poisson() ? -Math.log1p(-random.nextDouble()) * gap : gap);
        while (!stopped && System.nanoTime() < due) {
          LockSupport.parkNanos(due - System.nanoTime());
        }
        if (stopped) {
          return;
        }
        permits.acquireUninterruptibly();
        long intended = due;
        int slot = (int) (number % level.slots());
        Thread.ofVirtual()
            .start(() -> {
              try {
                var _ = sendRequest(slot, intended);
              } finally {
                permits.release();
              }
            });
      }
    }

    /**
     * Sends a request and records the result.
     *
     * @return the requested retry delay in nanoseconds; 0 for none
     */
    private long sendRequest(int slot, long intended) {
      boolean check = sent.getAndIncrement() % CHECK_INTERVAL == 0;
      try {
        var answer = ready.send(slot, check);
        long latency = System.nanoTime() - intended;
        var window = currentWindow();
        window.add(latency, answer.phases());
        if (check) {
          window.checked(answer.correct().getAsBoolean());
        }
        return 0;
      } catch (RequestFailure e) {
        return recordFailure(e);
      } catch (AthanorException e) {
        return recordFailure(RequestFailure.of(e));
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        stopped = true;
        return 0;
      }
    }

    private long recordFailure(RequestFailure e) {
      currentWindow().failed(e.code());
      var pause = e.retryAfter();
      return (pause.compareTo(MAX_RETRY_DELAY) < 0 ? pause : MAX_RETRY_DELAY).toNanos();
    }

    @Override
    public void close() {
      stopped = true;
      threads.close();
      permits.acquireUninterruptibly(MAX_IN_FLIGHT); // requests in flight still use the tensors
    }
  }
}
