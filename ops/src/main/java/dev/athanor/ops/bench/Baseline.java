package dev.athanor.ops.bench;

import dev.athanor.engine.cuda.CuBlas;
import dev.athanor.engine.cuda.CudaDevice;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Bindings;
import dev.athanor.ops.DType;
import dev.athanor.ops.Problem;
import dev.athanor.ops.TensorType;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/** A third-party library to compare with. */
public sealed interface Baseline extends AutoCloseable {

  /** Returns the short name used on the command line: {@code cublas}. */
  String library();

  /** Returns the name and version of the library. */
  String name();

  /** Returns in one sentence why the library is unavailable, once that is known. */
  default Optional<String> missing() {
    return Optional.empty();
  }

  @Override
  void close();

  /** A library that launches on our stream and buffers; its samples alternate with ours. */
  non-sealed interface Enqueued extends Baseline {

    /** Returns whether the library computes exactly this problem. */
    boolean computes(Problem problem);

    /** Enqueues a problem that the library {@link #computes}. */
    void enqueue(Stream stream, Problem problem, Bindings bindings);
  }

  /** A library with its own tensors and clock; it is timed after ours for each problem. */
  non-sealed interface Timed extends Baseline {

    /**
     * Times a problem.
     *
     * @param outputs their types by name, in order
     * @param seed of the random inputs
     * @return empty if the library is {@link #missing()}
     */
    Optional<Result> time(
        Problem problem, Map<String, TensorType> outputs, Effort effort, long seed);
  }

  /**
   * The result of a problem.
   *
   * @param samples empty if it was not timed
   * @param remark the calls that computed it, or the reason why it was not timed; may be empty
   */
  record Result(String library, Optional<Samples> samples, String remark) {}

  /**
   * Opens cuBLAS.
   *
   * @throws DeviceException.Unavailable if the device is not a GPU or the machine has no cuBLAS
   */
  static Enqueued cuBlas(Device device) {
    if (!(device instanceof CudaDevice gpu)) {
      throw new DeviceException.Unavailable(
          "cuBLAS requires a CUDA device, got %s".formatted(device.capability().id()));
    }
    var library = CuBlas.open(gpu);
    return new Enqueued() {
      @Override
      public String library() {
        return "cublas";
      }

      @Override
      public String name() {
        return "cuBLAS " + library.version();
      }

      @Override
      public boolean computes(Problem problem) {
        return isPlainProduct(problem)
            && TYPES.containsKey(Objects.requireNonNull(problem.inputs().get("a")).dtype());
      }

      @Override
      public void enqueue(Stream stream, Problem problem, Bindings bindings) {
        boolean transposeA = problem.attributes().flag("transposeA");
        var a = bindings.input("a");
        var c = bindings.output("c");
        var type = Objects.requireNonNull(TYPES.get(a.type().dtype()));
        library.gemm(
            stream,
            type,
            type,
            transposeA,
            problem.attributes().flag("transposeB"),
            Math.toIntExact(c.type().shape().extent(0)),
            Math.toIntExact(c.type().shape().extent(1)),
            Math.toIntExact(a.type().shape().extent(transposeA ? 0 : 1)),
            1,
            a.buffer(),
            bindings.input("b").buffer(),
            c.buffer());
      }

      @Override
      public void close() {
        library.close();
      }
    };
  }

  /** Returns the product of a loop in Java, which runs on the host. */
  static Enqueued loop() {
    return new PlainLoop();
  }

  /** Returns whether a problem is the product of two matrices, which may be transposed. */
  static boolean isPlainProduct(Problem problem) {
    return problem.op().description().name().equals("matmul")
        && problem.inputs().size() == 2
        && problem.inputs().values().stream().allMatch(type -> type.shape().rank() == 2)
        && problem.attributes().values().entrySet().stream()
            .allMatch(each ->
                each.getKey().startsWith("transpose")
                    || each.getValue().equals(PLAIN.get(each.getKey())));
  }

  Map<DType, Type> TYPES = Map.of(DType.F32, Type.F32, DType.F16, Type.F16, DType.BF16, Type.BF16);

  /** The attributes of a plain product. */
  Map<String, Object> PLAIN = Map.of("alpha", 1.0, "activation", "none", "precision", "ieee");
}
