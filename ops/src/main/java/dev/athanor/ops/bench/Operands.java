package dev.athanor.ops.bench;

import dev.athanor.engine.cuda.CudaDevice;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.Stream;
import dev.athanor.ops.Bindings;
import dev.athanor.ops.DeviceTensor;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/**
 * The matrices of a workload on the device: normally distributed numbers, in as many copies as it
 * takes that no launch finds its inputs in a cache.
 */
final class Operands implements AutoCloseable {

  /** Twice the largest L2 cache of a GPU so far. */
  private static final long ROTATED_BYTES = 256L << 20;

  private static final int MOST_COPIES = 256;

  private static final int DRAWN_AT_ONCE = 1 << 16;
  private static final int SPOTS = 256;

  private final Device device;
  private final Workload workload;
  private final Stream stream;
  private final Arena arena = Arena.ofShared();
  private final List<Buffer> buffers = new ArrayList<>();
  private final List<Set> sets = new ArrayList<>();
  private final HostTensor a;
  private final HostTensor b;
  private final int[][] spots;
  private Optional<Buffer> workspace = Optional.empty();

  /** One copy. */
  record Set(Buffer a, Buffer b, Buffer c) {}

  Operands(Device device, Stream stream, Workload workload, long seed) {
    this.device = device;
    this.workload = workload;
    this.stream = stream;
    boolean made = false;
    try {
      var random = new SplittableRandom(seed);
      a = draw(workload.a(), random.split());
      b = draw(workload.b(), random.split());
      spots = spots(random);
      long count = device instanceof CudaDevice ? copies(device, workload.bytes()) : 1;
      for (long i = 0; i < count; i++) {
        var set =
            new Set(
                allocate(device, workload.a()),
                allocate(device, workload.b()),
                allocate(device, workload.c()));
        if (i == 0) {
          stream.upload(a.data(), set.a, 0);
          stream.upload(b.data(), set.b, 0);
        } else {
          stream.copy(sets.getFirst().a, 0, set.a, 0, workload.a().bytes());
          stream.copy(sets.getFirst().b, 0, set.b, 0, workload.b().bytes());
        }
        sets.add(set);
      }
      stream.synchronize();
      made = true;
    } finally {
      if (!made) {
        close();
      }
    }
  }

  private static long copies(Device device, long bytes) {
    var memory = device.memory();
    long fitting = (memory.free() + memory.pooled()) / 2 / bytes;
    return Math.clamp(Math.min(Math.ceilDiv(ROTATED_BYTES, bytes), fitting), 1, MOST_COPIES);
  }

  private Buffer allocate(Device device, TensorType type) {
    var buffer = device.allocate(type.bytes());
    buffers.add(buffer);
    return buffer;
  }

  private HostTensor draw(TensorType type, SplittableRandom random) {
    var tensor = new HostTensor(type, arena.allocate(type.bytes(), 16));
    long elements = type.shape().elements();
    var parts =
        IntStream.range(0, Math.toIntExact(Math.ceilDiv(elements, DRAWN_AT_ONCE)))
            .mapToObj(_ -> random.split())
            .toList();
    IntStream.range(0, parts.size())
        .parallel()
        .forEach(part -> {
          long end = Math.min(elements, (part + 1L) * DRAWN_AT_ONCE);
          for (long i = (long) part * DRAWN_AT_ONCE; i < end; i++) {
            type.dtype().write(tensor.data(), i, parts.get(part).nextGaussian());
          }
        });
    return tensor;
  }

  /** The corners of c, and elements anywhere. */
  private int[][] spots(SplittableRandom random) {
    int m = workload.m();
    int n = workload.n();
    var all = new int[SPOTS][];
    for (int i = 0; i < SPOTS; i++) {
      all[i] =
          switch (i) {
            case 0 -> new int[] {0, 0};
            case 1 -> new int[] {0, n - 1};
            case 2 -> new int[] {m - 1, 0};
            case 3 -> new int[] {m - 1, n - 1};
            default -> new int[] {random.nextInt(m), random.nextInt(n)};
          };
    }
    return all;
  }

  List<Set> sets() {
    return sets;
  }

  /** What a plan works on, of one copy; all copies share the workspace. */
  Bindings bindings(Set set, long workspaceBytes) {
    if (workspaceBytes > workspace.map(Buffer::bytes).orElse(0L)) {
      var buffer = device.allocate(workspaceBytes);
      buffers.add(buffer);
      workspace = Optional.of(buffer);
    }
    return new Bindings(
        Map.of(
            "a", new DeviceTensor(workload.a(), set.a), "b", new DeviceTensor(workload.b(), set.b)),
        Map.of("c", new DeviceTensor(workload.c(), set.c)),
        workspace);
  }

  /** Fills every c with NaN, so that what is not computed anew shows. */
  void poison() {
    sets.forEach(set -> stream.fill(set.c, 0, workload.c().bytes(), (byte) 0xFF));
  }

  /**
   * How far sampled elements of c are from their dot products in float64: ‖c − ref‖ / ‖ref‖.
   *
   * @return infinite where one is not finite
   */
  double error(Set set) {
    double difference = 0;
    double norm = 0;
    int bytes = workload.dtype().bytes();
    var element = MemorySegment.ofArray(new byte[bytes]);
    for (var spot : spots) {
      stream.download(set.c, ((long) spot[0] * workload.n() + spot[1]) * bytes, element);
      stream.synchronize();
      double is = workload.dtype().read(element, 0);
      double should = dot(spot[0], spot[1]);
      difference += (is - should) * (is - should);
      norm += should * should;
    }
    double error = Math.sqrt(difference / norm);
    return Double.isFinite(error) ? error : Double.POSITIVE_INFINITY;
  }

  private double dot(int row, int column) {
    int k = workload.k();
    double sum = 0;
    for (long i = 0; i < k; i++) {
      sum +=
          a.get(workload.transposeA() ? i * workload.m() + row : (long) row * k + i)
              * b.get(workload.transposeB() ? (long) column * k + i : i * workload.n() + column);
    }
    return sum;
  }

  @Override
  public void close() {
    buffers.forEach(Buffer::close);
    arena.close();
  }
}
