package dev.athanor.ops.bench;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.MatrixFragment;
import dev.athanor.engine.author.Mma;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Variant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * The measured peak rates of a device: of copies, and of {@code mma.sync} and fused multiply-adds
 * in isolation.
 *
 * @param bytesPerSecond bytes read plus bytes written by a copy within the device
 * @param flops operations per second, by the dtype of the factors
 */
public record Ceilings(double bytesPerSecond, Map<DType, Double> flops) {

  private static final long COPIED = 256L << 20;
  private static final int BLOCKS_PER_MULTIPROCESSOR = 4;
  private static final int THREADS = 256;
  private static final int ROUNDS = 4096;

  /** Independent products in flight per warp or thread, to hide latency. */
  private static final int INDEPENDENT = 8;

  private static final Effort EFFORT = new Effort(3, 10, 50);

  public Ceilings {
    flops = Map.copyOf(flops);
  }

  /** Measures a GPU. This takes a few seconds. */
  public static Ceilings measure(Device device) {
    try (var stream = device.openStream();
        var stopwatch = new Stopwatch(device, stream)) {
      return new Ceilings(
          copy(device, stream, stopwatch),
          Map.of(
              DType.F32, rate(device, stream, stopwatch, new Multiplier(DType.F32)),
              DType.F16, rate(device, stream, stopwatch, new Multiplier(DType.F16)),
              DType.BF16, rate(device, stream, stopwatch, new Multiplier(DType.BF16)),
              DType.I8, rate(device, stream, stopwatch, new Multiplier(DType.I8))));
    }
  }

  private static double copy(Device device, Stream stream, Stopwatch stopwatch) {
    try (var from = device.allocate(COPIED);
        var to = device.allocate(COPIED)) {
      stream.fill(from, 0, COPIED, (byte) 1);
      var samples =
          stopwatch.time(List.of(() -> stream.copy(from, 0, to, 0, COPIED)), EFFORT).getFirst();
      return 2.0 * COPIED / samples.median() * 1e6;
    }
  }

  private static double rate(
      Device device, Stream stream, Stopwatch stopwatch, Multiplier multiplier) {
    var kernel = new KernelCache(device).get(multiplier);
    int blocks = device.capability().multiprocessors() * BLOCKS_PER_MULTIPROCESSOR;
    try (var out = device.allocate((long) blocks * THREADS * Float.BYTES)) {
      var launch =
          new Launch(
              kernel,
              Dim3.of(blocks),
              Dim3.of(THREADS),
              0,
              List.of(Argument.of(out), Argument.of(ROUNDS)));
      var samples = stopwatch.time(List.of(() -> stream.launch(launch)), EFFORT).getFirst();
      return multiplier.flops() * blocks * ROUNDS / samples.median() * 1e6;
    }
  }

  /**
   * Returns the minimum time in microseconds: the maximum of the transfer time and the compute
   * time.
   *
   * @param dtype of the factors; without a measured rate, only the transfer time counts
   */
  public double leastMicros(Plan.Cost cost, DType dtype) {
    double moving = cost.bytes() / bytesPerSecond;
    var rate = flops.get(dtype);
    return Math.max(moving, rate == null ? 0 : cost.flops() / rate) * 1e6;
  }

  /** A kernel that repeatedly multiplies register operands. */
  record Multiplier(DType dtype) implements Variant {

    private static final int WARPS = THREADS / KernelBuilder.WARP;

    @Override
    public String name() {
      return "multiplier_" + dtype.text();
    }

    /** Returns the operations of a block per round. */
    double flops() {
      if (dtype == DType.F32) {
        return 2.0 * INDEPENDENT * THREADS;
      }
      var shape = shape();
      return 2.0 * INDEPENDENT * WARPS * shape.m() * shape.n() * shape.k();
    }

    private Mma shape() {
      return switch (dtype) {
        case F16 -> Mma.F16;
        case BF16 -> Mma.BF16;
        case I8 -> Mma.S8;
        default -> throw new IllegalStateException(dtype.text());
      };
    }

    @Override
    public Kernel build() {
      return KernelBuilder.build(
          name(),
          THREADS,
          k -> {
            var out = k.pointer("out", Type.F32);
            var rounds = k.integer("rounds");
            var index = k.block().times(THREADS).plus(k.thread());
            if (dtype == DType.F32) {
              var x = k.thread().real(Type.F32);
              var sums = new ArrayList<Real.Variable>();
              for (int i = 0; i < INDEPENDENT; i++) {
                sums.add(k.variable(k.real(Type.F32, i)));
              }
              k.loop(k.integer(0), rounds, 1, _ -> sums.forEach(sum -> sum.set(sum.fma(x, x))));
              Real all = sums.getFirst();
              for (var sum : sums.subList(1, INDEPENDENT)) {
                all = all.plus(sum);
              }
              out.store(index, all);
            } else {
              matrices(k, rounds, sum -> out.store(index, sum));
            }
          });
    }

    private void matrices(KernelBuilder k, Int rounds, Consumer<Real> result) {
      var shape = shape();
      var bits = k.thread().value().as(Type.B32);
      var a = Collections.nCopies(shape.registersA(), bits);
      var b = Collections.nCopies(shape.registersB(), bits);
      var sums = new ArrayList<MatrixFragment>();
      for (int i = 0; i < INDEPENDENT; i++) {
        sums.add(k.accumulator(shape));
      }
      k.loop(
          k.integer(0), rounds, 1, _ -> sums.forEach(sum -> k.mma(shape, a, b, sum.registers())));
      Real all = k.real(Type.F32, 0);
      for (var sum : sums) {
        for (var part : sum.registers()) {
          all = all.plus(part.widen());
        }
      }
      result.accept(all);
    }
  }
}
