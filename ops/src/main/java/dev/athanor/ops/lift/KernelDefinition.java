package dev.athanor.ops.lift;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.lift.JavaKernel;
import dev.athanor.ops.DType;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Tolerance;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;

/**
 * The description of a {@link KernelOp} by its author.
 *
 * @param kernels by the dtype of the tensors without a dtype of their own
 * @param arguments in the order of the parameters of the kernels
 * @param sizes defined sizes, in order
 * @param grid names of the sizes along x, y and z; empty for one thread per element of the first
 *     output
 * @param block empty if the kernels declare it
 * @param sharedBytes bytes of dynamic shared memory; empty for none
 * @param cases sizes and attributes of test cases; empty for automatic selection
 */
record KernelDefinition(
    Texts texts,
    Map<DType, JavaKernel> kernels,
    List<KernelArgument> arguments,
    Map<String, ToLongFunction<Sizes>> sizes,
    List<String> grid,
    Optional<Dim3> block,
    Optional<ToLongFunction<Sizes>> sharedBytes,
    ToDoubleFunction<Sizes> flops,
    KernelReference reference,
    Map<String, InputDrawing> drawings,
    List<String> cases,
    Optional<Tolerance> tolerance) {

  /** The documentation texts. */
  record Texts(String name, String summary, String formula, String flops) {}

  KernelDefinition {
    kernels = new LinkedHashMap<>(kernels);
    arguments = List.copyOf(arguments);
    sizes = new LinkedHashMap<>(sizes);
    grid = List.copyOf(grid);
    drawings = Map.copyOf(drawings);
    cases = List.copyOf(cases);
  }

  String name() {
    return texts.name;
  }

  List<KernelArgument.Tensor> inputs() {
    return tensors().flatMap(KernelArgument.Tensor::inputs).toList();
  }

  List<KernelArgument.Tensor> outputs() {
    return tensors().filter(KernelArgument.Tensor::isOutput).toList();
  }

  /** Returns the output that updates an input, if there is one. */
  Optional<Plan.Update> update() {
    return outputs().stream()
        .flatMap(
            output -> output.inputs().map(input -> new Plan.Update(input.name(), output.name())))
        .findFirst();
  }

  private Stream<KernelArgument.Tensor> tensors() {
    return arguments.stream()
        .filter(KernelArgument.Tensor.class::isInstance)
        .map(KernelArgument.Tensor.class::cast);
  }

  List<Attribute> attributes() {
    return arguments.stream()
        .filter(KernelArgument.AttributeValue.class::isInstance)
        .map(each -> ((KernelArgument.AttributeValue) each).attribute())
        .toList();
  }

  JavaKernel kernel(DType dtype) {
    return Objects.requireNonNull(kernels.get(dtype), dtype::text);
  }

  DType firstDType() {
    return kernels.keySet().iterator().next();
  }

  /** Returns the shape of the blocks of a kernel. */
  Dim3 block(JavaKernel kernel) {
    return kernel.blockSize().or(() -> block).orElseThrow();
  }

  /** Returns the op description, for the documentation and for checks of requests. */
  OpDescription description() {
    return new OpDescription(
        texts.name,
        texts.summary,
        inputs().stream()
            .map(input ->
                new Input(
                    input.name(),
                    input.shape().text(),
                    input.own().map(Set::of).orElse(kernels.keySet()),
                    input.isOptional(),
                    input.meaning()))
            .toList(),
        attributes(),
        outputs().stream()
            .map(output ->
                Output.of(output.name(), output.shape().text(), dtype(output), output.meaning()))
            .toList(),
        texts.formula,
        texts.flops);
  }

  private String dtype(KernelArgument.Tensor output) {
    return output
        .own()
        .map(DType::text)
        .orElseGet(() ->
            inputs().stream()
                .filter(input -> input.own().isEmpty() && !input.isOptional())
                .findFirst()
                .map(input -> "same as " + input.name())
                .orElseGet(() -> firstDType().text()));
  }
}
