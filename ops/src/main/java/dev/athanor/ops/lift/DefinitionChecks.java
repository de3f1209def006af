package dev.athanor.ops.lift;

import static java.util.stream.Collectors.joining;

import dev.athanor.engine.lift.JavaKernel;
import dev.athanor.engine.lift.KernelParameter;
import dev.athanor.engine.lift.refusal.LiftException;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.ops.DType;
import dev.athanor.ops.OpDescription.AttributeType;
import dev.athanor.ops.problem.ShapePattern;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Checks that a definition is complete and matches its kernels, when a plugin is loaded. */
final class DefinitionChecks {
  private static final Pattern OP_NAME = Pattern.compile("[a-z][a-z0-9]*(-[a-z0-9]+)*");
  private static final int MAX_DIMENSIONS = 3;
  private static final Set<AttributeType> SCALARS =
      Set.of(
          AttributeType.BOOLEAN, AttributeType.INTEGER, AttributeType.NUMBER, AttributeType.CHOICE);

  private final KernelDefinition definition;

  DefinitionChecks(KernelDefinition definition) {
    this.definition = definition;
  }

  /**
   * Runs all checks.
   *
   * @throws IllegalArgumentException for the first failed check
   */
  void run() {
    check(
        OP_NAME.matcher(definition.name()).matches(),
        "the name is invalid; use lower-case letters, digits and single hyphens, such as row-sum");
    check(!definition.texts().summary().isBlank(), "the summary is missing; call summary(…)");
    check(!definition.outputs().isEmpty(), "there is no output; call output(…)");
    checkNames();
    checkOptionalInputs();
    checkSizes();
    checkAttributes();
    definition.kernels().forEach(this::checkKernel);
    checkDTypes();
    for (var input : definition.drawings().keySet()) {
      check(
          definition.inputs().stream().anyMatch(each -> each.name().equals(input)),
          "draw(…) names the input \"%s\"; inputs are %s"
              .formatted(input, names(definition.inputs())));
    }
    definition.cases().forEach(each -> ProblemText.parse(definition, each));
    check(
        !definition.cases().isEmpty()
            || definition.attributes().stream().noneMatch(each -> each.required()),
        "an attribute is required, so cases cannot be chosen; call cases(…)");
  }

  private static void check(boolean condition, String sentence) {
    if (!condition) {
      throw new IllegalArgumentException(sentence);
    }
  }

  private static String names(List<KernelArgument.Tensor> tensors) {
    return tensors.isEmpty()
        ? "none"
        : tensors.stream().map(KernelArgument.Tensor::name).collect(joining(", "));
  }

  private void checkNames() {
    var seen = new HashSet<String>();
    var names =
        Stream.of(
                definition.inputs().stream().map(KernelArgument.Tensor::name),
                definition.outputs().stream().map(KernelArgument.Tensor::name),
                definition.attributes().stream().map(each -> each.name()),
                definition.sizes().keySet().stream(),
                definition.inputs().stream()
                    .flatMap(each -> each.shape().names().stream())
                    .distinct())
            .flatMap(each -> each);
    names.forEach(name -> {
      check(
          name.equals(ShapePattern.LEADING) || ShapePattern.NAME.matcher(name).matches(),
          "the name \"%s\" is invalid; use letters, digits and _, with a letter first"
              .formatted(name));
      check(
          seen.add(name),
          "the name \"%s\" is used twice; inputs, outputs, attributes and sizes need different names"
              .formatted(name));
    });
  }

  private void checkOptionalInputs() {
    var required = new TreeSet<String>();
    definition.inputs().stream()
        .filter(input -> !input.isOptional())
        .forEach(input -> required.addAll(input.shape().names()));
    for (var input : definition.inputs()) {
      for (var size : input.shape().names()) {
        check(
            required.contains(size),
            "the shape %s of the optional %s has %s, which is in the shape of no required input"
                .formatted(input.shape().text(), input.text(), size));
      }
    }
    check(
        definition.outputs().stream().flatMap(KernelArgument.Tensor::inputs).count() <= 1,
        "several parameters are updated; an op updates at most one");
  }

  private Set<String> sizes() {
    var known = new TreeSet<String>(definition.sizes().keySet());
    definition.inputs().forEach(input -> known.addAll(input.shape().names()));
    return known;
  }

  private void checkSizes() {
    var known = sizes();
    for (var output : definition.outputs()) {
      for (var size : output.shape().names()) {
        check(
            known.contains(size),
            "the shape %s of %s has %s, which is in the shape of no input; %s"
                .formatted(
                    output.shape().text(),
                    output.text(),
                    size,
                    size.equals(ShapePattern.LEADING)
                        ? "use names"
                        : "define it with define(\"%s\", …)".formatted(size)));
      }
    }
    var used =
        Stream.concat(
            definition.grid().stream(),
            definition.arguments().stream()
                .filter(KernelArgument.Size.class::isInstance)
                .map(each -> ((KernelArgument.Size) each).name()));
    used.forEach(size ->
        check(
            known.contains(size),
            "there is no size \"%s\"; sizes are %s, others need define(\"%s\", …)"
                .formatted(size, known.isEmpty() ? "none" : String.join(", ", known), size)));
    check(
        definition.grid().size() <= MAX_DIMENSIONS,
        "the grid has %d dimensions; give one to three sizes, for x, y and z"
            .formatted(definition.grid().size()));
  }

  private void checkAttributes() {
    for (var attribute : definition.attributes()) {
      check(
          SCALARS.contains(attribute.type()),
          "the attribute \"%s\" is a list or a text; a kernel's parameter is a number or a flag"
              .formatted(attribute.name()));
      check(
          attribute.required() || !attribute.defaultValue().isEmpty(),
          "the attribute \"%s\" has no default, and a kernel needs a value; give a default or use asRequired()"
              .formatted(attribute.name()));
    }
  }

  private void checkDTypes() {
    boolean isGeneric =
        definition.arguments().stream()
            .anyMatch(each -> each instanceof KernelArgument.Tensor t && t.own().isEmpty());
    boolean isInputGeneric =
        definition.inputs().stream().anyMatch(each -> each.own().isEmpty() && !each.isOptional());
    check(
        definition.kernels().size() == 1 || isInputGeneric,
        "there are kernels for %s, but %s; describe an input without a dtype"
            .formatted(
                definition.kernels().keySet().stream().map(DType::text).collect(joining(", ")),
                isGeneric ? "no input selects one" : "all tensors have dtypes of their own"));
  }

  private void checkKernel(DType dtype, JavaKernel kernel) {
    List<KernelParameter> parameters;
    try {
      parameters = kernel.parameters();
    } catch (LiftException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    }
    var arguments = definition.arguments();
    check(
        parameters.size() == arguments.size(),
        "%s has %d parameters (%s), and the description has %d (%s); describe each parameter, in order"
            .formatted(
                kernel.method().getName(),
                parameters.size(),
                parameters.stream()
                    .map(each -> each.type().getSimpleName() + " " + each.name())
                    .collect(joining(", ")),
                arguments.size(),
                arguments.stream().map(KernelArgument::text).collect(joining(", "))));
    for (int i = 0; i < arguments.size(); i++) {
      checkParameter(dtype, kernel, parameters.get(i), arguments.get(i));
    }
    checkLaunch(kernel);
  }

  private static void checkParameter(
      DType dtype, JavaKernel kernel, KernelParameter parameter, KernelArgument argument) {
    var types = argument.types(dtype);
    var what =
        argument instanceof KernelArgument.Tensor tensor
            ? "%s of %s".formatted(argument.text(), tensor.dtype(dtype).text())
            : argument.text();
    check(
        !types.isEmpty(),
        "%s is stored in blocks, which kernels in Java cannot read".formatted(what));
    check(
        types.contains(parameter.type()),
        "the parameter %s of %s is %s, and %s needs %s"
            .formatted(
                parameter.name(),
                kernel.method().getName(),
                parameter.type().getSimpleName(),
                what,
                types.stream().map(Class::getSimpleName).collect(joining(" or "))));
    if (argument instanceof KernelArgument.Tensor tensor) {
      check(
          tensor.isOutput() || !parameter.isWritten(),
          "%s writes its parameter %s, which is %s; describe it as an output, or write to another array"
              .formatted(kernel.method().getName(), parameter.name(), what));
      check(
          !tensor.isOutput() || parameter.isWritten(),
          "%s never writes its parameter %s, which is %s; describe it as an input, or check the order"
              .formatted(kernel.method().getName(), parameter.name(), what));
    }
  }

  private void checkLaunch(JavaKernel kernel) {
    var method = kernel.method().getName();
    var declared = kernel.blockSize();
    check(
        declared.isPresent() || definition.block().isPresent(),
        "%s declares no blockSize; write @GpuKernel(blockSize = 128), or call block(…)"
            .formatted(method));
    check(
        declared.isEmpty() || definition.block().isEmpty() || declared.equals(definition.block()),
        "%s declares blocks of %s threads, and block(…) says %s; remove one"
            .formatted(
                method,
                declared.map(Object::toString).orElse(""),
                definition.block().map(Object::toString).orElse("")));
    boolean isDynamic =
        new KernelVariant(kernel)
            .build().shared().stream()
                .anyMatch(array -> array.bytes() == Kernel.SharedArray.DYNAMIC);
    check(
        isDynamic == definition.sharedBytes().isPresent(),
        (isDynamic
                ? "%s has a dynamic shared array; give its size with sharedBytes(…)"
                : "%s has no dynamic shared array; remove sharedBytes(…)")
            .formatted(method));
  }
}
