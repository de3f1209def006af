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

/** Sends a scenario's requests and measures what comes of them. */
public final class Load {

  /** One answer of so many is compared with what is right; the others are only read. */
  private static final int SAMPLE = 16;

  /**
   * So many requests of an open loop are under way at once; further ones wait, and count as late.
   */
  private static final int MOST_OPEN = 512;

  private static final Duration LONGEST_RETRY = Duration.ofSeconds(60);

  private final Target target;
  private final Course course;

  public Load(Target target, Course course) {
    this.target = target;
    this.course = course;
  }

  /**
   * Measures.
   *
   * @param progress is told the number of each window that was done, and its requests a second
   * @throws LoadException when the service refuses what the scenario needs
   */
  public Measurement run(Scenario scenario, Level level, BiConsumer<Integer, Double> progress)
      throws InterruptedException {
    try {
      return run(scenario, scenario.prepare(target, level.slots()), level, progress);
    } catch (AthanorException e) {
      throw new LoadException(
          Refused.of(e).code().equals(Refused.NO_ANSWER)
              ? "%s does not answer: %s".formatted(target.url(), e.getMessage())
              : "\"%s\" cannot be measured: %s".formatted(scenario.text(), e.getMessage()));
    }
  }

  private Measurement run(
      Scenario scenario, Scenario.Ready ready, Level level, BiConsumer<Integer, Double> progress)
      throws InterruptedException {
    var counted = new ArrayList<Timed>();
    try (var running = new Running(ready, level)) {
      if (course.warmup().isPositive()) {
        running.window(course.warmup());
      }
      if (course.fixed().isPresent()) {
        counted.add(running.window(course.fixed().get()));
      } else {
        while (counted.size() < course.trials() && !stable(counted)) {
          counted.add(running.window(course.window()));
          progress.accept(counted.size(), counted.getLast().perSecond());
        }
      }
    }
    var all = new Window();
    // as perf_analyzer: what came before the windows that agree is not counted
    var last = counted.subList(Math.max(0, counted.size() - Course.AGREEING), counted.size());
    last.forEach(each -> all.add(each.seen));
    return Measurement.of(
        scenario,
        level,
        course.fixed().isPresent() || stable(counted),
        counted.size(),
        last.stream().mapToDouble(Timed::seconds).sum(),
        all,
        ready.left());
  }

  private boolean stable(List<Timed> windows) {
    int count = windows.size();
    if (count < Course.AGREEING) {
      return false;
    }
    var last = windows.subList(count - Course.AGREEING, count);
    return agree(last, Timed::perSecond)
        && agree(last, window -> window.seen.nanos("latency").getMean());
  }

  private boolean agree(List<Timed> windows, ToDoubleFunction<Timed> figure) {
    double mean = windows.stream().mapToDouble(figure).average().orElseThrow();
    return windows.stream()
        .mapToDouble(figure)
        .allMatch(value -> value > 0 && Math.abs(value - mean) <= course.stability() * mean);
  }

  private record Timed(Window seen, double seconds) {
    double perSecond() {
      return seen.requests() / seconds;
    }
  }

  /**
   * The clients. They start with the first window, so that no request precedes it, and send at
   * least one request each, however short the windows are.
   */
  private final class Running implements AutoCloseable {
    private final Scenario.Ready ready;
    private final Level level;
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final Semaphore free = new Semaphore(MOST_OPEN);
    private final AtomicLong sent = new AtomicLong();
    private volatile @Nullable Window current;
    private volatile boolean over;

    Running(Scenario.Ready ready, Level level) {
      this.ready = ready;
      this.level = level;
    }

    private void start() {
      switch (level) {
        case Level.Clients(int count) -> {
          for (int slot = 0; slot < count; slot++) {
            int own = slot;
            var _ = threads.submit(() -> closed(own));
          }
        }
        case Level.Rate rate -> {
          var _ = threads.submit(() -> open(rate));
        }
      }
    }

    Timed window(Duration length) throws InterruptedException {
      var window = new Window();
      boolean isFirst = current == null;
      current = window;
      long start = System.nanoTime();
      if (isFirst) {
        start();
      }
      Thread.sleep(length);
      return new Timed(window, (System.nanoTime() - start) / 1e9);
    }

    private Window currentWindow() {
      return Objects.requireNonNull(current);
    }

    private void closed(int slot) {
      do {
        long pause = one(slot, System.nanoTime());
        if (course.patient() && pause > 0) {
          long end = System.nanoTime() + pause;
          while (!over && System.nanoTime() < end) {
            LockSupport.parkNanos(Math.min(end - System.nanoTime(), 100_000_000));
          }
        }
      } while (!over);
    }

    private void open(Level.Rate rate) {
      var random = new SplittableRandom(course.seed());
      long due = System.nanoTime();
      for (long number = 0; !over; number++) {
        double gap = 1e9 / rate.perSecond();
        due += Math.round(rate.poisson() ? -Math.log1p(-random.nextDouble()) * gap : gap);
        while (!over && System.nanoTime() < due) {
          LockSupport.parkNanos(due - System.nanoTime());
        }
        if (over) {
          return;
        }
        free.acquireUninterruptibly();
        long intended = due;
        int slot = (int) (number % level.slots());
        Thread.ofVirtual()
            .start(() -> {
              try {
                var _ = one(slot, intended);
              } finally {
                free.release();
              }
            });
      }
    }

    /** Sends a request; answers for how many nanoseconds the service asks to be left alone. */
    private long one(int slot, long intended) {
      boolean sample = sent.getAndIncrement() % SAMPLE == 0;
      try {
        var answer = ready.send(slot, sample);
        long latency = System.nanoTime() - intended;
        var window = currentWindow();
        window.add(latency, answer.phases());
        if (sample) {
          window.checked(answer.right().getAsBoolean());
        }
        return 0;
      } catch (Refused e) {
        return refused(e);
      } catch (AthanorException e) {
        return refused(Refused.of(e));
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        over = true;
        return 0;
      }
    }

    private long refused(Refused e) {
      currentWindow().refused(e.code());
      var pause = e.retryAfter();
      return (pause.compareTo(LONGEST_RETRY) < 0 ? pause : LONGEST_RETRY).toNanos();
    }

    @Override
    public void close() {
      over = true;
      threads.close();
      free.acquireUninterruptibly(MOST_OPEN); // what is under way still uses the tensors
    }
  }
}
