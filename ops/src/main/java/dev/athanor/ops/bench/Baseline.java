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
import java.util.Map;
import java.util.Objects;

/** Somebody else's library, to be measured beside ours. */
public interface Baseline extends AutoCloseable {

  /** Its name and version. */
  String name();

  /** Whether it computes just what the problem asks for. */
  boolean computes(Problem problem);

  /** Enqueues what a problem asks for that it computes. */
  void enqueue(Stream stream, Problem problem, Bindings bindings);

  @Override
  void close();

  /**
   * NVIDIA's matrix products.
   *
   * @throws DeviceException.Unavailable when the device is no GPU or the machine has no cuBLAS
   */
  static Baseline cuBlas(Device device) {
    if (!(device instanceof CudaDevice gpu)) {
      throw new DeviceException.Unavailable(
          "cuBLAS runs on a CUDA device, and this is %s".formatted(device.capability().id()));
    }
    var library = CuBlas.open(gpu);
    return new Baseline() {
      @Override
      public String name() {
        return "cuBLAS " + library.version();
      }

      @Override
      public boolean computes(Problem problem) {
        var a = problem.inputs().get("a");
        return problem.op().description().name().equals("matmul")
            && a != null
            && TYPES.containsKey(a.dtype())
            && problem.inputs().size() == 2
            && problem.inputs().values().stream().allMatch(type -> type.shape().rank() == 2)
            && problem.attributes().values().entrySet().stream()
                .allMatch(each ->
                    each.getKey().startsWith("transpose")
                        || each.getValue().equals(PLAIN.get(each.getKey())));
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

  Map<DType, Type> TYPES = Map.of(DType.F32, Type.F32, DType.F16, Type.F16, DType.BF16, Type.BF16);

  /** The attributes of a product that is nothing but that. */
  Map<String, Object> PLAIN = Map.of("alpha", 1.0, "activation", "none", "precision", "ieee");
}
