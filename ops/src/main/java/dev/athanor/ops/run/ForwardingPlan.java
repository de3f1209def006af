package dev.athanor.ops.run;

import dev.athanor.engine.device.Stream;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.ops.Bindings;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.Plan;
import dev.athanor.ops.TensorType;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A plan that forwards every method to another plan, as the base of decorators. */
public interface ForwardingPlan extends Plan {

  /** Returns the plan that methods are forwarded to. */
  Plan plan();

  @Override
  default String kernel() {
    return plan().kernel();
  }

  @Override
  default String order() {
    return plan().order();
  }

  @Override
  default Map<String, TensorType> outputs() {
    return plan().outputs();
  }

  @Override
  default long workspaceBytes() {
    return plan().workspaceBytes();
  }

  @Override
  default Optional<Update> update() {
    return plan().update();
  }

  @Override
  default long packedBytes() {
    return plan().packedBytes();
  }

  @Override
  default List<Kernel> kernels() {
    return plan().kernels();
  }

  @Override
  default int requiredSharedMemory() {
    return plan().requiredSharedMemory();
  }

  @Override
  default Cost cost() {
    return plan().cost();
  }

  @Override
  default String explain() {
    return plan().explain();
  }

  @Override
  default void load(KernelCache kernels) {
    plan().load(kernels);
  }

  @Override
  default boolean isLoaded(KernelCache kernels) {
    return plan().isLoaded(kernels);
  }

  @Override
  default void enqueue(KernelCache kernels, Stream stream, Bindings bindings) {
    plan().enqueue(kernels, stream, bindings);
  }
}
