package dev.athanor.ops;

import dev.athanor.engine.device.Stream;
import dev.athanor.engine.ptx.Kernel;
import java.util.List;
import java.util.Map;

/** How an op will be computed: everything that is decided before a device is touched. */
public interface Plan {

  /** The name of the kernel variant that will run. */
  String kernel();

  /** The types of the outputs, by name. */
  Map<String, TensorType> outputs();

  /** The kernels that will run, for tests and for people who want to read their PTX. */
  List<Kernel> kernels();

  /** What it costs at least. */
  Cost cost();

  /** The candidates that were considered, and why each fell or won. */
  String explain();

  /**
   * Enqueues the work. It allocates nothing and waits for nothing.
   *
   * @param inputs the inputs under the names of the description
   * @param outputs tensors of the types of {@link #outputs()}, overlapping no input
   */
  void enqueue(
      KernelCache kernels,
      Stream stream,
      Map<String, DeviceTensor> inputs,
      Map<String, DeviceTensor> outputs);

  /**
   * The arithmetic and the traffic that the op needs whoever computes it.
   *
   * @param flops floating-point operations, a multiply-add counting two
   * @param bytes each input read once and each output written once
   */
  record Cost(double flops, double bytes) {}
}
