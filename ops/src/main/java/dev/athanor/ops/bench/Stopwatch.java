package dev.athanor.ops.bench;

import dev.athanor.engine.cuda.CudaDevice;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.Stream;
import java.util.List;
import java.util.stream.DoubleStream;
import org.jspecify.annotations.Nullable;

/** Times launches by the device's own clock: between two events of a stream. */
final class Stopwatch implements AutoCloseable {

  /** A sample should be long against the resolution of events, about half a microsecond. */
  private static final double SAMPLE_MICROS = 200;

  private static final int GREATEST_BATCH = 64;
  private static final int MOST_SAMPLES = 10_000;

  /** Work before each sample on a GPU; it also drives everything else out of the L2 cache. */
  private static final long PLUG_BYTES = 256L << 20;

  private static final int MOST_PLUGS = 32;

  private final Stream stream;

  /** Only where launches return before they are done. */
  private final @Nullable Buffer plug;

  private final double plugMicros;

  Stopwatch(Device device, Stream stream) {
    this.stream = stream;
    if (device instanceof CudaDevice) {
      plug = device.allocate(PLUG_BYTES);
      plug(1);
      plugMicros = time(() -> plug(4)).device / 4;
    } else {
      plug = null;
      plugMicros = 0;
    }
  }

  private record Time(double device, double host) {}

  /**
   * Times some ways to do the same, turn by turn, so that a device that grows slow or fast does so
   * for all.
   *
   * @param contenders each enqueues one launch
   */
  List<Samples> time(List<Runnable> contenders, Effort effort) {
    var clocks = contenders.stream().map(contender -> new Clock(contender, effort)).toList();
    double first = 0;
    for (int n = 0;
        n < effort.repeat() || (first < effort.minMillis() * 1e3 && n < MOST_SAMPLES);
        n++) {
      for (var clock : clocks) {
        double micros = clock.sample();
        first += clock == clocks.getFirst() ? micros : 0;
      }
    }
    return clocks.stream().map(Clock::samples).toList();
  }

  /** One contender. */
  private final class Clock {
    private final Runnable work;
    private final int batch;
    private final int plugs;
    private final DoubleStream.Builder micros = DoubleStream.builder();

    Clock(Runnable contender, Effort effort) {
      for (int i = 1; i < effort.warmup(); i++) {
        contender.run();
      }
      double once = Stopwatch.this.time(contender).device;
      batch = (int) Math.clamp(Math.ceil(SAMPLE_MICROS / Math.max(once, 1)), 1, GREATEST_BATCH);
      work =
          () -> {
            for (int i = 0; i < batch; i++) {
              contender.run();
            }
          };
      // The device must not wait for the host: it is kept busy until the whole batch is enqueued.
      plugs =
          plug == null
              ? 0
              : (int)
                  Math.clamp(
                      Math.ceil(2 * Stopwatch.this.time(work).host / plugMicros), 1, MOST_PLUGS);
    }

    /** Returns the microseconds of all launches of a new sample. */
    double sample() {
      plug(plugs);
      double all = Stopwatch.this.time(work).device;
      micros.add(all / batch);
      return all;
    }

    Samples samples() {
      return Samples.of(micros.build().toArray(), batch);
    }
  }

  private void plug(int times) {
    if (plug != null) {
      for (int i = 0; i < times; i++) {
        stream.fill(plug, 0, PLUG_BYTES, (byte) i);
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
    if (plug != null) {
      plug.close();
    }
  }
}
