package dev.athanor.ops.bench;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.MatrixFragment;
import dev.athanor.engine.author.Mma;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.Variant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * The measured peak rates of a device: of copies, and of {@code mma.sync} and fused multiply-adds
 * in isolation.
 *
 * @param bytesPerSecond bytes read plus bytes written by a copy within the device
 * @param flops operations per second, of each arithmetic that the device has
 */
public record Ceilings(double bytesPerSecond, Map<Arithmetic, Double> flops) {

  /** The factors of an op's products: a shape of {@code mma.sync}, or none for f32. */
  public enum Arithmetic {
    F64,
    F32,
    TF32,
    F16,
    BF16,
    E4M3,
    I8;

    private Optional<Mma> shape() {
      return switch (this) {
        case F64 -> Optional.of(Mma.F64);
        case F32 -> Optional.empty();
        case TF32 -> Optional.of(Mma.TF32);
        case F16 -> Optional.of(Mma.F16);
        case BF16 -> Optional.of(Mma.BF16);
        case E4M3 -> Optional.of(Mma.fp8(Type.E4M3, Type.E4M3));
        case I8 -> Optional.of(Mma.S8);
      };
    }

    private Target least() {
      return this == E4M3 ? Target.SM_89 : Target.SM_80;
    }

    /** Returns the name for reports, such as {@code tf32}. */
    public String text() {
      return name().toLowerCase(Locale.ROOT);
    }

    /** Returns the arithmetic of a problem: that of the dtype of its first input, if any. */
    static Optional<Arithmetic> of(Problem problem) {
      var first = problem.op().description().inputs().getFirst().name();
      var dtype = problem.inputs().get(first);
      if (dtype == null) {
        return Optional.empty();
      }
      return switch (dtype.dtype()) {
        case F64 -> Optional.of(F64);
        case F32 ->
            Optional.of(problem.attributes().choice("precision").equals("tf32") ? TF32 : F32);
        case F16 -> Optional.of(F16);
        case BF16 -> Optional.of(BF16);
        case E4M3, E5M2 -> Optional.of(E4M3);
        case I8 -> Optional.of(I8);
        default -> Optional.empty();
      };
    }
  }

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
      var flops = new EnumMap<Arithmetic, Double>(Arithmetic.class);
      for (var arithmetic : Arithmetic.values()) {
        if (device.capability().target().canRun(arithmetic.least())) {
          measure(device, stream, stopwatch, arithmetic)
              .ifPresent(rate -> flops.put(arithmetic, rate));
        }
      }
      // where tensor cores do not multiply fp8, kernels convert it to f16, which is exact
      var half = flops.get(Arithmetic.F16);
      if (half != null) {
        flops.merge(Arithmetic.E4M3, half, Math::max);
      }
      return new Ceilings(copy(device, stream, stopwatch), flops);
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

  /** Returns a rate; empty if the driver is older than the instruction. */
  private static Optional<Double> measure(
      Device device, Stream stream, Stopwatch stopwatch, Arithmetic arithmetic) {
    try {
      return Optional.of(rate(device, stream, stopwatch, new Multiplier(arithmetic)));
    } catch (DeviceException.LoadFailed e) {
      return Optional.empty();
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
   * time. Without a measured rate of the problem's arithmetic, only the transfer time counts.
   */
  public double leastMicros(Problem problem, Plan.Cost cost) {
    double moving = cost.bytes() / bytesPerSecond;
    var rate = Arithmetic.of(problem).map(flops::get);
    return Math.max(moving, rate.map(each -> cost.flops() / each).orElse(0.0)) * 1e6;
  }

  /** A kernel that repeatedly multiplies register operands. */
  record Multiplier(Arithmetic arithmetic) implements Variant {

    private static final int WARPS = THREADS / KernelBuilder.WARP;

    @Override
    public String name() {
      return "multiplier_" + arithmetic.text();
    }

    /** Returns the operations of a block per round. */
    double flops() {
      return 2.0
          * INDEPENDENT
          * arithmetic
              .shape()
              .map(shape -> WARPS * shape.m() * shape.n() * shape.k())
              .orElse(THREADS);
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
            if (arithmetic.shape().isEmpty()) {
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
              matrices(k, arithmetic.shape().get(), rounds, sum -> out.store(index, sum));
            }
          });
    }

    private static void matrices(KernelBuilder k, Mma shape, Int rounds, Consumer<Value> result) {
      var bits =
          shape.a() == Type.F64 ? k.thread().real(Type.F64) : k.thread().value().as(Type.B32);
      var a = Collections.nCopies(shape.registersA(), bits);
      var b = Collections.nCopies(shape.registersB(), bits);
      var sums = new ArrayList<MatrixFragment>();
      for (int i = 0; i < INDEPENDENT; i++) {
        sums.add(k.accumulator(shape));
      }
      k.loop(
          k.integer(0), rounds, 1, _ -> sums.forEach(sum -> k.mma(shape, a, b, sum.registers())));
      Real all = k.real(shape.sum() == Type.F64 ? Type.F64 : Type.F32, 0);
      for (var sum : sums) {
        for (var part : sum.registers()) {
          all = all.plus(part.widen());
        }
      }
      result.accept(all.to(Type.F32));
    }
  }
}
