package dev.athanor.ops.lift;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.lift.JavaKernel;
import dev.athanor.ops.DType;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.ToLongFunction;

/**
 * One launch of a {@link KernelOp}.
 *
 * @param kernels by the dtype of the tensors without a dtype of their own
 * @param arguments names of tensors, attributes and sizes, in the order of the parameters of the
 *     kernels
 * @param grid names of the sizes along x, y and z; empty for one thread per element of the first
 *     tensor that the kernel writes
 * @param block empty if the kernels declare it
 * @param sharedBytes bytes of dynamic shared memory; empty for none
 */
record KernelLaunch(
    Map<DType, JavaKernel> kernels,
    List<String> arguments,
    List<String> grid,
    Optional<Dim3> block,
    Optional<ToLongFunction<Sizes>> sharedBytes) {

  KernelLaunch {
    kernels = new LinkedHashMap<>(kernels);
    arguments = List.copyOf(arguments);
    grid = List.copyOf(grid);
  }

  JavaKernel kernel(DType dtype) {
    return Objects.requireNonNull(kernels.get(dtype), dtype::text);
  }

  /** Returns the shape of the blocks of a kernel. */
  Dim3 block(JavaKernel kernel) {
    return kernel.blockSize().or(() -> block).orElseThrow();
  }
}
