package dev.athanor.ops.bench;

import dev.athanor.engine.cuda.CudaDevice;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.Stream;
import dev.athanor.ops.Bindings;
import dev.athanor.ops.DeviceTensor;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Problem;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.stream.LongStream;

/**
 * The tensors of a problem on a device, in enough copies that no launch finds its inputs in a
 * cache, and expected output elements for checks.
 */
public final class Sets implements AutoCloseable {

  /** Twice the largest L2 cache of a GPU so far. */
  private static final long ROTATED_BYTES = 256L << 20;

  private static final int MAX_SETS = 256;

  /** The sampled elements of each output, including the first and the last. */
  private static final int SAMPLED = 256;

  /** The maximum number of rows with sampled elements. */
  private static final int SAMPLED_ROWS = 32;

  private final Device device;
  private final Stream stream;
  private final Problem problem;
  private final Map<String, TensorType> outputs;
  private final Map<String, long[]> sampled = new LinkedHashMap<>();
  private final Map<String, double[]> expected = new LinkedHashMap<>();
  private final List<Buffer> buffers = new ArrayList<>();
  private final List<Bindings> sets = new ArrayList<>();
  private Optional<Buffer> workspace = Optional.empty();

  /**
   * Draws and uploads the inputs.
   *
   * @param outputs types of the outputs of the problem's plans
   * @throws dev.athanor.engine.device.DeviceException.OutOfMemory if one set does not fit
   */
  public Sets(
      Device device, Stream stream, Problem problem, Map<String, TensorType> outputs, long seed) {
    this.device = device;
    this.stream = stream;
    this.problem = problem;
    this.outputs = new LinkedHashMap<>(outputs);
    boolean made = false;
    try {
      var random = new SplittableRandom(seed);
      var drawn = problem.draw(random);
      outputs.forEach((name, type) -> {
        var at = sampled(type.shape(), random);
        sampled.put(name, at);
        expected.put(name, problem.op().reference(drawn, problem.attributes(), name, at));
      });
      long count = device instanceof CudaDevice ? copies() : 1;
      for (long i = 0; i < count; i++) {
        add(drawn);
      }
      stream.synchronize();
      made = true;
    } finally {
      if (!made) {
        close();
      }
    }
  }

  private long copies() {
    long bytes = 0;
    for (var type : problem.inputs().values()) {
      bytes += type.bytes();
    }
    for (var type : outputs.values()) {
      bytes += type.bytes();
    }
    var memory = device.memory();
    long fitting = (memory.free() + memory.pooled()) / 2 / bytes;
    return Math.clamp(Math.min(Math.ceilDiv(ROTATED_BYTES, bytes), fitting), 1, MAX_SETS);
  }

  private void add(Map<String, HostTensor> drawn) {
    var inputs = new LinkedHashMap<String, DeviceTensor>();
    drawn.forEach((name, tensor) -> {
      var buffer = allocate(tensor.type().bytes());
      if (sets.isEmpty()) {
        stream.upload(tensor.data(), buffer, 0);
      } else {
        stream.copy(sets.getFirst().input(name).buffer(), 0, buffer, 0, tensor.type().bytes());
      }
      inputs.put(name, new DeviceTensor(tensor.type(), buffer));
    });
    var results = new LinkedHashMap<String, DeviceTensor>();
    outputs.forEach(
        (name, type) -> results.put(name, new DeviceTensor(type, allocate(type.bytes()))));
    sets.add(new Bindings(inputs, results, Optional.empty()));
  }

  private Buffer allocate(long bytes) {
    var buffer = device.allocate(bytes);
    buffers.add(buffer);
    return buffer;
  }

  /**
   * Returns the ascending indices of the first, the last and random elements of random rows of an
   * output, or all indices of a small output. The reference of an element often costs as much as
   * that of its row.
   */
  private static long[] sampled(Shape shape, SplittableRandom random) {
    long elements = shape.elements();
    if (elements <= SAMPLED) {
      return LongStream.range(0, elements).toArray();
    }
    long n = shape.rank() == 0 ? 1 : shape.extent(-1);
    long rows = elements / n;
    long[] sampledRows =
        rows <= SAMPLED_ROWS
            ? LongStream.range(0, rows).toArray()
            : random.longs(SAMPLED_ROWS, 0, rows).toArray();
    sampledRows[0] = 0;
    sampledRows[sampledRows.length - 1] = rows - 1;
    var some = new long[SAMPLED];
    for (int i = 0; i < SAMPLED; i++) {
      some[i] = sampledRows[i % sampledRows.length] * n + random.nextLong(n);
    }
    some[0] = 0;
    some[1] = elements - 1;
    Arrays.sort(some);
    return some;
  }

  /** Returns the number of sets. */
  public int count() {
    return sets.size();
  }

  /** Returns a task that launches on the next set, in rotation; all sets share a workspace. */
  public Runnable inRotation(long workspaceBytes, Consumer<Bindings> launch) {
    if (workspaceBytes > workspace.map(Buffer::bytes).orElse(0L)) {
      workspace = Optional.of(allocate(workspaceBytes));
    }
    var shared = workspace;
    return new Runnable() {
      private int next;

      @Override
      public void run() {
        var set = sets.get(next);
        launch.accept(new Bindings(set.inputs(), set.outputs(), shared));
        next = (next + 1) % sets.size();
      }
    };
  }

  /**
   * The error of sampled elements and its limit.
   *
   * @param output the output with the largest error relative to its limit
   */
  public record Deviation(String output, double error, double limit) {

    /** Returns whether the error is within the limit; NaN is not. */
    public boolean isWithinLimit() {
      return error <= limit;
    }

    private double share() {
      return error == 0 ? 0 : error / limit;
    }
  }

  /**
   * Runs a contender once on every set, with outputs initialized to NaN, and checks the first and
   * the last set.
   */
  public Deviation deviation(Runnable contender) {
    for (var set : sets) {
      set.outputs()
          .values()
          .forEach(output -> stream.fill(output.buffer(), 0, output.type().bytes(), (byte) 0xFF));
    }
    sets.forEach(_ -> contender.run());
    stream.synchronize();
    var first = deviation(sets.getFirst());
    var last = deviation(sets.getLast());
    return last.share() > first.share() ? last : first;
  }

  private Deviation deviation(Bindings set) {
    var worst = new Deviation("", 0, 0);
    for (var name : outputs.keySet()) {
      var one = deviation(name, set.output(name));
      worst = worst.output.isEmpty() || one.share() > worst.share() ? one : worst;
    }
    return worst;
  }

  private Deviation deviation(String name, DeviceTensor output) {
    var type = output.type();
    var at = Objects.requireNonNull(sampled.get(name));
    var is = new double[at.length];
    var dtype = type.dtype();
    var block = MemorySegment.ofArray(new byte[dtype.bytes()]);
    for (int i = 0; i < at.length; i++) {
      stream.download(output.buffer(), at[i] / dtype.blockElements() * dtype.bytes(), block);
      stream.synchronize();
      is[i] = dtype.read(block, at[i] % dtype.blockElements());
    }
    Tolerance tolerance =
        problem.op().tolerance(name, type.dtype(), problem.inputs(), problem.attributes());
    double error = tolerance.error(is, Objects.requireNonNull(expected.get(name)));
    return new Deviation(name, error, tolerance.limit());
  }

  @Override
  public void close() {
    buffers.forEach(Buffer::close);
  }
}
