package dev.athanor.ops.lift;

import static java.util.stream.Collectors.joining;

import dev.athanor.engine.lift.JavaKernel;
import dev.athanor.engine.lift.KernelParameter;
import dev.athanor.engine.lift.refusal.LiftException;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.ops.DType;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.AttributeType;
import dev.athanor.ops.Plan;
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
    checkLaunches();
    check(
        OP_NAME.matcher(definition.name()).matches(),
        "the name is invalid; use lower-case letters, digits and single hyphens, such as row-sum");
    check(!definition.texts().summary().isBlank(), "the summary is missing; call summary(…)");
    check(!definition.outputs().isEmpty(), "there is no output; call output(…)");
    checkNames();
    checkOptionalInputs();
    checkSizes();
    checkAttributes();
    definition.dtypes().forEach(this::checkKernels);
    checkDTypes();
    for (var input : definition.drawings().keySet()) {
      check(
          definition.inputs().stream().anyMatch(each -> each.name().equals(input)),
          "draw(…) names the input \"%s\"; inputs are %s"
              .formatted(
                  input, join(definition.inputs().stream().map(KernelArgument.Tensor::name))));
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

  private static String join(Stream<String> names) {
    var joined = names.collect(joining(", "));
    return joined.isEmpty() ? "none" : joined;
  }

  private static String texts(Set<DType> dtypes) {
    return join(dtypes.stream().map(DType::text));
  }

  private void checkLaunches() {
    var dtypes = definition.dtypes();
    for (int i = 0; i < definition.launches().size(); i++) {
      var own = definition.launches().get(i).kernels().keySet();
      check(
          !own.isEmpty(),
          "the kernel%s is missing; call kernel(DType.F32, Kernels.of(Class::method))"
              .formatted(definition.launches().size() == 1 ? "" : " of launch " + (i + 1)));
      check(
          own.equals(dtypes),
          "launch %d has kernels for %s, and launch 1 for %s; give each launch a kernel for each dtype"
              .formatted(i + 1, texts(own), texts(dtypes)));
    }
  }

  private void checkNames() {
    var seen = new HashSet<String>();
    var names =
        Stream.of(
                definition.inputs().stream().map(KernelArgument.Tensor::name),
                definition.outputs().stream().map(KernelArgument.Tensor::name),
                definition.temporaries().stream().map(KernelArgument.Tensor::name),
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
          "the name \"%s\" is used twice; tensors, attributes and sizes need different names, and argument(\"%s\") passes one again"
              .formatted(name, name));
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
    definition.update().ifPresent(this::checkUpdate);
  }

  /** A later launch would read the old contents only if the op does not run in place. */
  private void checkUpdate(Plan.Update update) {
    boolean isOverwritten = false;
    for (var launch : definition.launches()) {
      isOverwritten |= launch.arguments().contains(update.output());
      check(
          !isOverwritten || !launch.arguments().contains(update.input()),
          "argument(\"%s\") is passed to a launch with or after \"%s\", which overwrites it in place; pass it to earlier launches, or a copy"
              .formatted(update.input(), update.output()));
    }
  }

  private Set<String> sizes() {
    var known = new TreeSet<String>(definition.sizes().keySet());
    definition.inputs().forEach(input -> known.addAll(input.shape().names()));
    return known;
  }

  private void checkSizes() {
    var known = sizes();
    for (var tensor : definition.tensors()) {
      for (var size : tensor.shape().names()) {
        check(
            known.contains(size),
            "the shape %s of %s has %s, which is in the shape of no input; %s"
                .formatted(
                    tensor.shape().text(),
                    tensor.text(),
                    size,
                    size.equals(ShapePattern.LEADING)
                        ? "use names"
                        : "define it with define(\"%s\", …)".formatted(size)));
      }
    }
    definition.launches().forEach(launch -> checkSizes(launch, known));
  }

  private void checkSizes(KernelLaunch launch, Set<String> known) {
    var sizes = join(known.stream());
    for (var size : launch.grid()) {
      check(
          known.contains(size),
          "there is no size \"%s\"; sizes are %s, others need define(\"%s\", …)"
              .formatted(size, sizes, size));
    }
    for (var name : launch.arguments()) {
      check(
          !(definition.argument(name) instanceof KernelArgument.Size) || known.contains(name),
          "argument(\"%s\") is unknown; tensors are %s, attributes are %s, sizes are %s, other sizes need define(…)"
              .formatted(
                  name,
                  join(definition.tensors().stream().map(KernelArgument.Tensor::name)),
                  join(definition.attributes().stream().map(Attribute::name)),
                  sizes));
    }
    check(
        launch.grid().size() <= MAX_DIMENSIONS,
        "the grid has %d dimensions; give one to three sizes, for x, y and z"
            .formatted(launch.grid().size()));
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
    boolean isGeneric = definition.tensors().stream().anyMatch(each -> each.own().isEmpty());
    boolean isInputGeneric =
        definition.inputs().stream().anyMatch(each -> each.own().isEmpty() && !each.isOptional());
    check(
        definition.dtypes().size() == 1 || isInputGeneric,
        "there are kernels for %s, but %s; describe an input without a dtype"
            .formatted(
                texts(definition.dtypes()),
                isGeneric ? "no input selects one" : "all tensors have dtypes of their own"));
  }

  private void checkKernels(DType dtype) {
    var written = new HashSet<String>();
    for (var launch : definition.launches()) {
      var kernel = launch.kernel(dtype);
      List<KernelParameter> parameters;
      try {
        parameters = kernel.parameters();
      } catch (LiftException e) {
        throw new IllegalArgumentException(e.getMessage(), e);
      }
      var arguments = definition.arguments(launch);
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
        if (parameters.get(i).isWritten()) {
          written.add(launch.arguments().get(i));
        }
      }
      for (int i = 0; i < arguments.size(); i++) {
        checkParameter(dtype, kernel, parameters.get(i), arguments.get(i), written);
      }
      checkLaunch(launch, kernel, parameters);
    }
  }

  /** Checks a parameter, given the names of the tensors that this and earlier launches write. */
  private static void checkParameter(
      DType dtype,
      JavaKernel kernel,
      KernelParameter parameter,
      KernelArgument argument,
      Set<String> written) {
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
          !tensor.isInput() || !parameter.isWritten(),
          "%s writes its parameter %s, which is %s; describe it as an output, or write to another array"
              .formatted(kernel.method().getName(), parameter.name(), what));
      check(
          tensor.isInput() || written.contains(tensor.name()),
          (tensor.isTemporary()
                  ? "%s never writes its parameter %s, which is %s, and no earlier launch does; write it first, or check the order"
                  : "%s never writes its parameter %s, which is %s; describe it as an input, or check the order")
              .formatted(kernel.method().getName(), parameter.name(), what));
    }
  }

  private static void checkLaunch(
      KernelLaunch launch, JavaKernel kernel, List<KernelParameter> parameters) {
    var method = kernel.method().getName();
    check(
        parameters.stream().anyMatch(KernelParameter::isWritten),
        "%s writes none of its parameters; write an output or a temporary tensor, or remove the launch"
            .formatted(method));
    var declared = kernel.blockSize();
    check(
        declared.isPresent() || launch.block().isPresent(),
        "%s declares no blockSize; write @GpuKernel(blockSize = 128), or call block(…)"
            .formatted(method));
    check(
        declared.isEmpty() || launch.block().isEmpty() || declared.equals(launch.block()),
        "%s declares blocks of %s threads, and block(…) says %s; remove one"
            .formatted(
                method,
                declared.map(Object::toString).orElse(""),
                launch.block().map(Object::toString).orElse("")));
    check(
        !kernel.isCooperative(),
        "%s calls Gpu.gridBarrier, which ops cannot; split it there into two launches"
            .formatted(method));
    check(
        !kernel.prints(),
        "%s calls Gpu.print, which ops cannot; print in a launch of the kernel alone"
            .formatted(method));
    boolean isDynamic =
        new KernelVariant(kernel)
            .build().shared().stream()
                .anyMatch(array -> array.bytes() == Kernel.SharedArray.DYNAMIC);
    check(
        isDynamic == launch.sharedBytes().isPresent(),
        (isDynamic
                ? "%s has a dynamic shared array; give its size with sharedBytes(…)"
                : "%s has no dynamic shared array; remove sharedBytes(…)")
            .formatted(method));
  }
}
