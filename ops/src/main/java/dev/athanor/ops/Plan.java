package dev.athanor.ops;

import dev.athanor.engine.device.Stream;
import dev.athanor.engine.ptx.Kernel;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** An execution plan of an op: all decisions made without access to a device. */
public interface Plan {

  /**
   * Returns the name of the kernel variant, including everything that determines the order of
   * summation.
   */
  String kernel();

  /**
   * Returns a text that names everything that determines the bits of a row: how K is divided, in
   * which order partial sums are added, the type of accumulators and the epilogue. Plans of an op
   * with equal orders, attributes and types of a row compute a row to the same bits, even if their
   * tiles differ.
   */
  default String order() {
    return kernel();
  }

  /** Returns the types of the outputs, by name. */
  Map<String, TensorType> outputs();

  /** Returns the bytes of device memory that {@link #enqueue} needs for intermediate results. */
  default long workspaceBytes() {
    return 0;
  }

  /** Returns the output of which the plan writes only a part; empty if it writes all outputs. */
  default Optional<Update> update() {
    return Optional.empty();
  }

  /** Returns the bytes of inputs that the plan copies because they are not dense. */
  default long packedBytes() {
    return 0;
  }

  /**
   * An output that starts with the contents of an input. They are copied first, unless the output
   * is in the place of the input.
   */
  record Update(String input, String output) {}

  /** Returns the kernels of the plan, for tests and for inspecting their PTX. */
  List<Kernel> kernels();

  /** Returns the largest shared memory of a block over all kernels, in bytes. */
  int requiredSharedMemory();

  /** Returns the minimum cost. */
  Cost cost();

  /** Returns a text that lists the candidates and why each was rejected or chosen. */
  String explain();

  /** Loads the kernels; otherwise, the first {@link #enqueue} loads them. */
  default void load(KernelCache kernels) {}

  /** Returns whether the kernels are loaded. */
  default boolean isLoaded(KernelCache kernels) {
    return true;
  }

  /** Enqueues the work without allocating memory or blocking. */
  void enqueue(KernelCache kernels, Stream stream, Bindings bindings);

  /**
   * The arithmetic and memory traffic that any implementation needs.
   *
   * @param flops floating-point operations; a multiply-add counts as two
   * @param bytes each input read once and each output written once
   */
  record Cost(double flops, double bytes) {

    /** Returns the cost of a number of operations on the given inputs and outputs. */
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
