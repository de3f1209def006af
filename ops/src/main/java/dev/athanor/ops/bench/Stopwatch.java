package dev.athanor.ops.bench;

import dev.athanor.engine.cuda.CudaDevice;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.Stream;
import java.util.List;
import java.util.stream.DoubleStream;
import org.jspecify.annotations.Nullable;

/** Times launches with the device clock, between two events of a stream. */
public final class Stopwatch implements AutoCloseable {

  /**
   * The target duration of a sample, long relative to the event resolution of about half a
   * microsecond.
   */
  private static final double SAMPLE_MICROS = 200;

  private static final int MAX_BATCH = 64;
  private static final int MAX_SAMPLES = 10_000;

  /** The size of the fill that precedes each sample on a GPU; it also evicts the L2 cache. */
  private static final long FILL_BYTES = 256L << 20;

  private static final int MAX_FILLS = 32;

  private final Stream stream;

  /** Null if launches are synchronous. */
  private final @Nullable Buffer filler;

  private final double fillMicros;

  /**
   * Creates a stopwatch.
   *
   * @param stream the stream of everything that is timed
   */
  public Stopwatch(Device device, Stream stream) {
    this.stream = stream;
    if (device instanceof CudaDevice) {
      filler = device.allocate(FILL_BYTES);
      fill(1);
      fillMicros = time(() -> fill(4)).device / 4;
    } else {
      filler = null;
      fillMicros = 0;
    }
  }

  private record Time(double device, double host) {}

  /**
   * Times contenders in alternation, so that changes of the device's clock rate affect all of them.
   *
   * @param contenders each enqueues one launch
   */
  List<Samples> time(List<Runnable> contenders, Effort effort) {
    return time(
        effort, contenders.stream().map(contender -> new Clock(contender, effort)).toList());
  }

  /**
   * Times a launch that starts from the same state each time; on a CUDA device, with a cold L2
   * cache. A sample is one launch.
   *
   * @param prepare enqueues work that precedes each launch and is not timed
   * @param launch enqueues the launch
   */
  public Samples time(Runnable prepare, Runnable launch, Effort effort) {
    return time(effort, List.of(new Clock(prepare, launch, 1, effort))).getFirst();
  }

  private List<Samples> time(Effort effort, List<Clock> clocks) {
    double first = 0;
    for (int n = 0;
        n < effort.repeat() || (first < effort.minMillis() * 1e3 && n < MAX_SAMPLES);
        n++) {
      for (var clock : clocks) {
        double micros = clock.sample();
        first += clock == clocks.getFirst() ? micros : 0;
      }
    }
    return clocks.stream().map(Clock::samples).toList();
  }

  /**
   * Times two contenders in alternation and returns in how many pairs of samples the first was
   * faster.
   */
  int wins(Runnable contender, Runnable other, int pairs, Effort effort) {
    var clock = new Clock(contender, effort);
    var otherClock = new Clock(other, effort);
    int wins = 0;
    for (int i = 0; i < pairs; i++) {
      wins += clock.sample() / clock.batch < otherClock.sample() / otherClock.batch ? 1 : 0;
    }
    return wins;
  }

  /** The clock of one contender. */
  private final class Clock {
    private final Runnable prepare;
    private final Runnable work;
    private final int batch;
    private final int fills;
    private final DoubleStream.Builder micros = DoubleStream.builder();

    Clock(Runnable contender, Effort effort) {
      this(() -> {}, contender, MAX_BATCH, effort);
    }

    Clock(Runnable prepare, Runnable contender, int maxBatch, Effort effort) {
      this.prepare = prepare;
      for (int i = 1; i < effort.warmup(); i++) {
        prepare.run();
        contender.run();
      }
      prepare.run();
      double once = Stopwatch.this.time(contender).device;
      batch = (int) Math.clamp(Math.ceil(SAMPLE_MICROS / Math.max(once, 1)), 1, maxBatch);
      work =
          () -> {
            for (int i = 0; i < batch; i++) {
              contender.run();
            }
          };
      // Fills keep the device busy until the whole batch is enqueued, so that it never waits for
      // the host.
      fills = filler == null ? 0 : fills();
    }

    private int fills() {
      prepare.run();
      double host = Stopwatch.this.time(work).host;
      return (int) Math.clamp(Math.ceil(2 * host / fillMicros), 1, MAX_FILLS);
    }

    /** Takes a sample and returns the microseconds of all its launches. */
    double sample() {
      prepare.run();
      fill(fills);
      double all = Stopwatch.this.time(work).device;
      micros.add(all / batch);
      return all;
    }

    Samples samples() {
      return Samples.of(micros.build().toArray(), batch);
    }
  }

  private void fill(int times) {
    if (filler != null) {
      for (int i = 0; i < times; i++) {
        stream.fill(filler, 0, FILL_BYTES, (byte) i);
      }
    }
  }

  private Time time(Runnable work) {
    try (var start = stream.record()) {
      long before = System.nanoTime();
      work.run();
      double host = (System.nanoTime() - before) / 1e3;
      try (var end = stream.record()) {
        end.synchronize();
        return new Time(end.microsSince(start), host);
      }
    }
  }

  @Override
  public void close() {
    if (filler != null) {
      filler.close();
    }
  }
}
