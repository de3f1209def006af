package dev.athanor.ops;

import dev.athanor.engine.device.Stream;
import dev.athanor.engine.ptx.Kernel;
import java.util.List;
import java.util.Map;

/** How an op will be computed: everything that is decided before a device is touched. */
public interface Plan {

  /** The name of the kernel variant that will run, all that decides the order of sums included. */
  String kernel();

  /** The types of the outputs, by name. */
  Map<String, TensorType> outputs();

  /** The bytes of device memory that {@link #enqueue} needs for what it computes on the way. */
  default long workspaceBytes() {
    return 0;
  }

  /** The kernels that will run, for tests and for people who want to read their PTX. */
  List<Kernel> kernels();

  /** The most shared memory, in bytes, that a block of one of the kernels has. */
  int requiredSharedMemory();

  /** What it costs at least. */
  Cost cost();

  /** The candidates that were considered, and why each fell or won. */
  String explain();

  /** Makes the kernels ready, which the first {@link #enqueue} does otherwise. */
  default void load(KernelCache kernels) {}

  /** Whether {@link #load} would find the kernels ready. */
  default boolean isLoaded(KernelCache kernels) {
    return true;
  }

  /** Enqueues the work. It allocates nothing and waits for nothing. */
  void enqueue(KernelCache kernels, Stream stream, Bindings bindings);

  /**
   * The arithmetic and the traffic that the op needs whoever computes it.
   *
   * @param flops floating-point operations, a multiply-add counting two
   * @param bytes each input read once and each output written once
   */
  record Cost(double flops, double bytes) {

    /** So many operations, on these inputs, for these outputs. */
    public static Cost of(
        double flops, Map<String, TensorType> inputs, Map<String, TensorType> outputs) {
      double bytes = 0;
      for (var type : inputs.values()) {
        bytes += type.bytes();
      }
      for (var type : outputs.values()) {
        bytes += type.bytes();
      }
      return new Cost(flops, bytes);
    }
  }
}
