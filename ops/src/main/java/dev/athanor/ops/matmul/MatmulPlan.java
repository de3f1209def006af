package dev.athanor.ops.matmul;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.ops.DeviceTensor;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.Plan;
import dev.athanor.ops.TensorType;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;

/**
 * How a product is computed.
 *
 * @param blocks of each launch; there is one launch for every start of the batch
 */
record MatmulPlan(
    MatmulProblem problem,
    MatmulVariant variant,
    int blocks,
    List<MatmulPlanner.Candidate> candidates)
    implements Plan {

  MatmulPlan {
    candidates = List.copyOf(candidates);
  }

  @Override
  public String kernel() {
    return variant.name();
  }

  @Override
  public Map<String, TensorType> outputs() {
    return Map.of("c", problem.output());
  }

  @Override
  public List<Kernel> kernels() {
    return List.of(MatmulKernels.build(variant));
  }

  @Override
  public Cost cost() {
    double products = problem.products();
    double m = problem.m();
    double n = problem.n();
    double k = problem.k();
    double read = products * (m * k + k * n) + (problem.bias() ? n : 0);
    return new Cost(
        2 * products * m * n * k,
        read * problem.dtype().bytes() + products * m * n * problem.outDType().bytes());
  }

  @Override
  public String explain() {
    return candidates.stream()
        .map(candidate ->
            "%s %s %s: %s"
                .formatted(
                    candidate.tile().equals(variant.tile()) ? "*" : " ",
                    candidate.tile().unit(),
                    candidate.tile(),
                    candidate.reason()))
        .collect(Collectors.joining("\n", kernel() + "\n", ""));
  }

  @Override
  public void enqueue(
      KernelCache kernels,
      Stream stream,
      Map<String, DeviceTensor> inputs,
      Map<String, DeviceTensor> outputs) {
    var loaded = kernels.get(variant, () -> MatmulKernels.build(variant));
    var a = Objects.requireNonNull(inputs.get("a"), "a");
    var b = Objects.requireNonNull(inputs.get("b"), "b");
    var c = Objects.requireNonNull(outputs.get("c"), "c");
    // a kernel without bias never reads the pointer
    var bias = problem.bias() ? Objects.requireNonNull(inputs.get("bias"), "bias") : c;
    long matrixA = (long) problem.m() * problem.k();
    long matrixB = (long) problem.k() * problem.n();
    long matrixC = (long) problem.m() * problem.n();
    var inner = problem.batch().inner();
    int shared =
        variant.tile().unit() == Tile.Unit.TENSOR ? TensorMatmul.sharedBytes(variant.tile()) : 0;
    for (var start : problem.batch().starts()) {
      stream.launch(
          new Launch(
              loaded,
              Dim3.of(blocks),
              Dim3.of(variant.tile().threads()),
              shared,
              List.of(
                  pointer(a, start.a() * matrixA),
                  pointer(b, start.b() * matrixB),
                  bias.pointer(),
                  pointer(c, start.c() * matrixC),
                  Argument.of(problem.m()),
                  Argument.of(problem.n()),
                  Argument.of(problem.k()),
                  Argument.of(problem.leadingDimensionA()),
                  Argument.of(problem.leadingDimensionB()),
                  Argument.of(inner.strideA() * matrixA),
                  Argument.of(inner.strideB() * matrixB),
                  Argument.of(matrixC),
                  Argument.of(problem.alpha()))));
    }
  }

  private static Argument pointer(DeviceTensor tensor, long element) {
    return new Argument.Pointer(tensor.buffer(), element * tensor.type().dtype().bytes());
  }
}
