package dev.athanor.ops.lift;

import static java.util.stream.Collectors.joining;

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
import java.util.Optional;
import java.util.Set;
import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;

/**
 * The description of a {@link KernelOp} by its author.
 *
 * @param tensors inputs, outputs and temporary tensors, as described
 * @param launches in order, at least one; each sees what earlier ones write
 * @param sizes defined sizes, in order
 * @param cases sizes and attributes of test cases; empty for automatic selection
 */
record KernelDefinition(
    Texts texts,
    List<KernelArgument.Tensor> tensors,
    List<Attribute> attributes,
    List<KernelLaunch> launches,
    Map<String, ToLongFunction<Sizes>> sizes,
    ToDoubleFunction<Sizes> flops,
    KernelReference reference,
    Map<String, InputDrawing> drawings,
    List<String> cases,
    Optional<Tolerance> tolerance) {

  /**
   * The documentation texts.
   *
   * @param formula empty to name the methods
   */
  record Texts(String name, String summary, String formula, String flops) {}

  KernelDefinition {
    tensors = List.copyOf(tensors);
    attributes = List.copyOf(attributes);
    launches = List.copyOf(launches);
    sizes = new LinkedHashMap<>(sizes);
    drawings = Map.copyOf(drawings);
    cases = List.copyOf(cases);
  }

  String name() {
    return texts.name;
  }

  List<KernelArgument.Tensor> inputs() {
    return tensors.stream().flatMap(KernelArgument.Tensor::inputs).toList();
  }

  List<KernelArgument.Tensor> outputs() {
    return tensors.stream().filter(KernelArgument.Tensor::isOutput).toList();
  }

  List<KernelArgument.Tensor> temporaries() {
    return tensors.stream().filter(KernelArgument.Tensor::isTemporary).toList();
  }

  /** Returns the output that updates an input, if there is one. */
  Optional<Plan.Update> update() {
    return outputs().stream()
        .flatMap(
            output -> output.inputs().map(input -> new Plan.Update(input.name(), output.name())))
        .findFirst();
  }

  /** Returns the tensor or attribute with a name, or else the size. */
  KernelArgument argument(String name) {
    return Stream.concat(tensors.stream(), inputs().stream())
        .filter(tensor -> tensor.name().equals(name))
        .map(KernelArgument.class::cast)
        .findFirst()
        .orElseGet(() ->
            attributes.stream()
                .filter(attribute -> attribute.name().equals(name))
                .findFirst()
                .<KernelArgument>map(KernelArgument.AttributeValue::new)
                .orElseGet(() -> new KernelArgument.Size(name)));
  }

  List<KernelArgument> arguments(KernelLaunch launch) {
    return launch.arguments().stream().map(this::argument).toList();
  }

  /** Returns the dtypes of the kernels, which are the same in all launches. */
  Set<DType> dtypes() {
    return launches.getFirst().kernels().keySet();
  }

  DType firstDType() {
    return dtypes().iterator().next();
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
                    input.own().map(Set::of).orElse(dtypes()),
                    input.isOptional(),
                    input.meaning()))
            .toList(),
        attributes,
        outputs().stream()
            .map(output ->
                Output.of(output.name(), output.shape().text(), dtype(output), output.meaning()))
            .toList(),
        texts.formula.isEmpty() ? "as in " + methods() : texts.formula,
        texts.flops);
  }

  /** Returns the methods of the first dtype, such as {@code Sum.parts and Sum.total}. */
  private String methods() {
    return launches.stream()
        .map(launch -> launch.kernel(firstDType()).method())
        .map(method -> method.getDeclaringClass().getSimpleName() + "." + method.getName())
        .collect(joining(" and "));
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
