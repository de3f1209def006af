package dev.athanor.engine.emulator;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import dev.athanor.engine.emulator.options.EmulatorOptions.Execution;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.emulator.options.Schedule;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Samples;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.text.Parser;
import dev.athanor.testing.TestTier;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** A sample kernel on an emulator, and the configurations of its runs. */
final class SampleRig implements AutoCloseable {

  /**
   * A file, with the schedule, execution mode and timing of its kernels. A correct kernel gives the
   * same results in all of them.
   */
  record Way(String file, Schedule schedule, AsyncTiming timing, Execution execution) {
    /** Creates an interpreted run. */
    Way(String file, Schedule schedule, AsyncTiming timing) {
      this(file, schedule, timing, Execution.INTERPRETED);
    }

    @Override
    public String toString() {
      return file + " " + schedule + " " + timing + " " + execution;
    }
  }

  private static final long SEED = TestTier.seed();

  private final Module module;
  private final EmulatedDevice device;
  private final Stream stream;

  SampleRig(Way way) {
    this(way, Rig.options(way.execution).sanitize());
  }

  SampleRig(Way way, Sanitize sanitize) {
    this(way, text(way.file), sanitize);
  }

  /** Creates a rig for a target other than the newest. */
  SampleRig(Way way, Target target) {
    this(way, text(way.file), Rig.options(way.execution).sanitize(), target);
  }

  /** Creates a rig with a modified text. */
  SampleRig(Way way, String text) {
    this(way, text, Rig.options(way.execution).sanitize());
  }

  SampleRig(Way way, String text, Sanitize sanitize) {
    this(way, text, sanitize, Target.of("sm_90a"));
  }

  private SampleRig(Way way, String text, Sanitize sanitize, Target target) {
    module = Parser.parse(text, way.file + ".ptx");
    device =
        new EmulatedDevice(
            EmulatorOptions.DEFAULT
                .withTarget(target)
                .withSchedule(way.schedule)
                .withSeed(SEED)
                .withAsyncTiming(way.timing)
                .withExecution(way.execution)
                .withSanitize(sanitize));
    stream = device.openStream();
  }

  /** Returns the text of a file, named without {@code .ptx}. */
  static String text(String file) {
    return Samples.text(file + ".ptx");
  }

  /**
   * Returns all configurations of each file: the default schedule and one without accidental
   * convergence.
   */
  static List<Way> ways(String... files) {
    var all = new ArrayList<Way>();
    for (var file : files) {
      for (var schedule : List.of(Schedule.CONVERGING, Schedule.APART)) {
        for (var timing : AsyncTiming.values()) {
          all.add(new Way(file, schedule, timing, Execution.INTERPRETED));
        }
      }
      for (var timing : AsyncTiming.values()) {
        all.add(new Way(file, Schedule.CONVERGING, timing, Execution.COMPILED));
      }
    }
    return TestTier.sample(all, AsyncTiming.values().length + 1);
  }

  /** Returns the configurations of kernels without asynchronous work. */
  static List<Way> schedules(String... files) {
    var all = new ArrayList<Way>();
    for (var file : files) {
      all.add(new Way(file, Schedule.CONVERGING, AsyncTiming.EAGER, Execution.INTERPRETED));
      all.add(new Way(file, Schedule.APART, AsyncTiming.EAGER, Execution.INTERPRETED));
      all.add(new Way(file, Schedule.CONVERGING, AsyncTiming.EAGER, Execution.COMPILED));
    }
    return all;
  }

  /** Returns random numbers from 0 to 1. */
  static float[] randomFloats(int n, long seed) {
    var random = new Random(seed);
    var values = new float[n];
    for (int i = 0; i < n; i++) {
      values[i] = random.nextFloat();
    }
    return values;
  }

  Buffer buffer(float... values) {
    return upload(MemorySegment.ofArray(values));
  }

  Buffer buffer(int... values) {
    return upload(MemorySegment.ofArray(values));
  }

  Buffer buffer(short... values) {
    return upload(MemorySegment.ofArray(values));
  }

  Buffer buffer(byte... values) {
    return upload(MemorySegment.ofArray(values));
  }

  Buffer buffer(long... values) {
    return upload(MemorySegment.ofArray(values));
  }

  Buffer buffer(double... values) {
    return upload(MemorySegment.ofArray(values));
  }

  private Buffer upload(MemorySegment values) {
    var buffer = device.allocate(Math.max(1, values.byteSize()));
    stream.upload(values, buffer, 0);
    return buffer;
  }

  float[] floats(Buffer buffer) {
    var values = new float[(int) (buffer.bytes() / Float.BYTES)];
    stream.download(buffer, 0, MemorySegment.ofArray(values));
    return values;
  }

  int[] ints(Buffer buffer) {
    var values = new int[(int) (buffer.bytes() / Integer.BYTES)];
    stream.download(buffer, 0, MemorySegment.ofArray(values));
    return values;
  }

  short[] shorts(Buffer buffer) {
    var values = new short[(int) (buffer.bytes() / Short.BYTES)];
    stream.download(buffer, 0, MemorySegment.ofArray(values));
    return values;
  }

  byte[] bytes(Buffer buffer) {
    var values = new byte[(int) buffer.bytes()];
    stream.download(buffer, 0, MemorySegment.ofArray(values));
    return values;
  }

  double[] doubles(Buffer buffer) {
    var values = new double[(int) (buffer.bytes() / Double.BYTES)];
    stream.download(buffer, 0, MemorySegment.ofArray(values));
    return values;
  }

  long[] longs(Buffer buffer) {
    var values = new long[(int) (buffer.bytes() / Long.BYTES)];
    stream.download(buffer, 0, MemorySegment.ofArray(values));
    return values;
  }

  /**
   * Runs a kernel; arguments are buffers, numbers, segments and {@link Argument}s, in parameter
   * order.
   */
  void run(String kernel, Dim3 grid, Dim3 block, int dynamicSharedBytes, Object... arguments) {
    var all = new ArrayList<Argument>();
    for (var argument : arguments) {
      all.add(
          switch (argument) {
            case Buffer buffer -> Argument.of(buffer);
            case Integer value -> Argument.of(value);
            case Long value -> Argument.of(value);
            case Float value -> Argument.of(value);
            case Double value -> Argument.of(value);
            case Argument ready -> ready;
            case MemorySegment bytes -> new Argument.Bytes(bytes);
            default -> throw new IllegalArgumentException("no argument: " + argument);
          });
    }
    stream.launch(new Launch(device.load(module, kernel), grid, block, dynamicSharedBytes, all));
  }

  @Override
  public void close() {
    device.close();
  }
}
