package dev.athanor.engine.lift;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.emulator.EmulatedDevice;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** The time of a launch of a kernel of a few instructions. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class LaunchBenchmark {

  private final EmulatedDevice device = new EmulatedDevice();
  private final int[] array = new int[32];
  private Buffer buffer;
  private DeviceKernel kernel;

  @GpuKernel(blockSize = 32)
  static void increment(int[] counters) {
    counters[Gpu.threadIdxX()] += 1;
  }

  @Setup
  public void open() {
    buffer = device.allocate(4L * array.length);
    try (var stream = device.openStream()) {
      stream.fill(buffer, 0, buffer.bytes(), (byte) 0);
    }
    kernel = Kernels.of(LaunchBenchmark::increment).on(device);
  }

  @TearDown
  public void close() {
    device.close();
  }

  @Benchmark
  public void methodReferenceAndArray() {
    Kernels.of(LaunchBenchmark::increment).on(device).launch(1, (Object) array);
  }

  @Benchmark
  public void checked() {
    kernel.launch(1, buffer);
  }

  @Benchmark
  public void unchecked() {
    kernel.checked(false).launch(1, buffer);
  }
}
