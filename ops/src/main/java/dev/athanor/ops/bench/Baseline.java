package dev.athanor.ops.bench;

import dev.athanor.engine.cuda.CuBlas;
import dev.athanor.engine.cuda.CudaDevice;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.ptx.Type;

/** Somebody else's matrix product, to be measured beside ours. */
public interface Baseline extends AutoCloseable {

  /** Its name and version. */
  String name();

  /** Enqueues {@code c = a·b}. */
  void enqueue(Stream stream, Workload workload, Buffer a, Buffer b, Buffer c);

  @Override
  void close();

  /**
   * NVIDIA's.
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
      public void enqueue(Stream stream, Workload workload, Buffer a, Buffer b, Buffer c) {
        var type = type(workload);
        library.gemm(
            stream,
            type,
            type,
            workload.transposeA(),
            workload.transposeB(),
            workload.m(),
            workload.n(),
            workload.k(),
            1,
            a,
            b,
            c);
      }

      @Override
      public void close() {
        library.close();
      }
    };
  }

  private static Type type(Workload workload) {
    return switch (workload.dtype()) {
      case F32 -> Type.F32;
      case F16 -> Type.F16;
      case BF16 -> Type.BF16;
      default -> throw new IllegalArgumentException("no products of " + workload.dtype().text());
    };
  }
}
