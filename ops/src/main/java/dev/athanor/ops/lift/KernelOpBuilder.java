package dev.athanor.ops.lift;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.lift.JavaKernel;
import dev.athanor.ops.DType;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.problem.ShapePattern;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Builds an op whose kernels are Java methods. {@link #input}, {@link #output}, {@link #temporary},
 * {@link #attribute} and {@link #argument} each describe the next parameter of the method.
 *
 * <p>An op is one launch, or several that {@link #nextLaunch} separates: they run in order, and
 * each sees what earlier ones wrote. Kernels, parameters, grid, block and shared bytes belong to a
 * launch; everything else belongs to the op.
 *
 * <p>Shapes are written with names for extents, such as {@code [R, C]} or {@code […, C]}: equal
 * names are equal extents, an ellipsis stands for any leading extents, and numbers are fixed
 * extents. The names are the <em>sizes</em> of a call.
 */
public final class KernelOpBuilder {
  private final String name;
  private final List<KernelArgument.Tensor> tensors = new ArrayList<>();
  private final List<Attribute> attributes = new ArrayList<>();
  private final List<KernelLaunch> launches = new ArrayList<>();
  private final Map<DType, JavaKernel> kernels = new LinkedHashMap<>();
  private final List<String> arguments = new ArrayList<>();
  private final Map<String, ToLongFunction<Sizes>> sizes = new LinkedHashMap<>();
  private final Map<String, InputDrawing> drawings = new HashMap<>();
  private String summary = "";
  private String formula = "";
  private String flopsText = "not stated";
  private ToDoubleFunction<Sizes> flops = _ -> 0;
  private List<String> grid = List.of();
  private Optional<Dim3> block = Optional.empty();
  private Optional<ToLongFunction<Sizes>> sharedBytes = Optional.empty();
  private @Nullable KernelReference reference;
  private List<String> cases = List.of();
  private Optional<Tolerance> tolerance = Optional.empty();

  KernelOpBuilder(String name) {
    this.name = name;
  }

  /** Sets the sentence that describes the op. */
  public KernelOpBuilder summary(String value) {
    summary = value;
    return this;
  }

  /** Sets the formula of the outputs; by default, the documentation names the methods. */
  public KernelOpBuilder formula(String value) {
    formula = value;
    return this;
  }

  /**
   * Adds a kernel. Each launch has one kernel per supported dtype; all have the same parameters
   * except for the types of these tensors.
   *
   * @param dtype of the tensors that are described without one
   * @param kernel such as {@code Kernels.of(Saxpy::saxpy)}
   */
  public KernelOpBuilder kernel(DType dtype, JavaKernel kernel) {
    if (kernels.putIfAbsent(dtype, kernel) != null) {
      throw new IllegalArgumentException(
          "op \"%s\": there are two kernels for %s; kernels of a further launch follow nextLaunch()"
              .formatted(name, dtype.text()));
    }
    return this;
  }

  /**
   * Describes the next parameter: an input of the kernel's dtype, which the kernel only reads.
   *
   * @param shape such as {@code [R, C]}
   * @param meaning for the documentation
   */
  public KernelOpBuilder input(String input, String shape, String meaning) {
    return tensor(input, KernelArgument.Use.INPUT, shape, Optional.empty(), meaning);
  }

  /** Describes an input like {@link #input(String, String, String)}, with a fixed dtype. */
  public KernelOpBuilder input(String input, String shape, DType dtype, String meaning) {
    return tensor(input, KernelArgument.Use.INPUT, shape, Optional.of(dtype), meaning);
  }

  /**
   * Describes the next parameter: an input of the kernel's dtype that a call may omit; the kernel
   * then gets an array of length 0.
   *
   * @param shape with names of the shapes of required inputs
   */
  public KernelOpBuilder optional(String input, String shape, String meaning) {
    return tensor(input, KernelArgument.Use.OPTIONAL, shape, Optional.empty(), meaning);
  }

  /** Describes an input like {@link #optional(String, String, String)}, with a fixed dtype. */
  public KernelOpBuilder optional(String input, String shape, DType dtype, String meaning) {
    return tensor(input, KernelArgument.Use.OPTIONAL, shape, Optional.of(dtype), meaning);
  }

  /**
   * Describes the next parameter: an output of the kernel's dtype. The kernel must write each
   * element; the memory is uninitialized.
   *
   * @param shape with names of the inputs' shapes and of defined sizes
   * @param meaning for the documentation
   */
  public KernelOpBuilder output(String output, String shape, String meaning) {
    return tensor(output, KernelArgument.Use.OUTPUT, shape, Optional.empty(), meaning);
  }

  /** Describes an output like {@link #output(String, String, String)}, with a fixed dtype. */
  public KernelOpBuilder output(String output, String shape, DType dtype, String meaning) {
    return tensor(output, KernelArgument.Use.OUTPUT, shape, Optional.of(dtype), meaning);
  }

  /**
   * Describes the next parameter: an input and an output in the same memory. The kernel finds the
   * old contents there and writes what it changes. A run in place changes the tensor itself;
   * otherwise, the kernel gets a copy of the input. An op has at most one such parameter. Launches
   * before this one can read the input as {@code argument(input)}; later ones cannot, because a run
   * in place has overwritten it.
   *
   * @param input the name of the input
   * @param output the name of the output
   */
  public KernelOpBuilder update(String input, String output, String shape, String meaning) {
    var use = new KernelArgument.Use.Update(input);
    return tensor(output, use, shape, Optional.empty(), meaning);
  }

  /**
   * Describes the next parameter: a tensor of the kernel's dtype that exists only during the call.
   * It passes results from one launch to the next. The memory is uninitialized: a kernel must write
   * an element before this or a later launch reads it.
   *
   * @param shape with names of the inputs' shapes and of defined sizes
   */
  public KernelOpBuilder temporary(String temporary, String shape) {
    return tensor(temporary, KernelArgument.Use.TEMPORARY, shape, Optional.empty(), "");
  }

  /** Describes a tensor like {@link #temporary(String, String)}, with a fixed dtype. */
  public KernelOpBuilder temporary(String temporary, String shape, DType dtype) {
    return tensor(temporary, KernelArgument.Use.TEMPORARY, shape, Optional.of(dtype), "");
  }

  private KernelOpBuilder tensor(
      String tensor, KernelArgument.Use use, String shape, Optional<DType> dtype, String meaning) {
    var text = "%s \"%s\" of op \"%s\"".formatted(KernelArgument.Use.kind(use), tensor, name);
    tensors.add(
        new KernelArgument.Tensor(tensor, use, ShapePattern.parse(text, shape), dtype, meaning));
    return argument(tensor);
  }

  /**
   * Describes the next parameter: the value of an attribute. Flags are {@code boolean}, integers
   * {@code int} or {@code long}, numbers {@code float} or {@code double}; a choice is the {@code
   * int} index of its value.
   */
  public KernelOpBuilder attribute(Attribute attribute) {
    attributes.add(attribute);
    return argument(attribute.name());
  }

  /**
   * Describes the next parameter: a size, as {@code int} or {@code long}; or a tensor or attribute
   * that another parameter describes, such as an input that two launches read.
   */
  public KernelOpBuilder argument(String known) {
    arguments.add(known);
    return this;
  }

  /**
   * Begins the next launch: {@link #kernel}, the parameters, {@link #grid}, {@link #block} and
   * {@link #sharedBytes} now describe that one. It runs when all blocks of the previous launch have
   * finished.
   */
  public KernelOpBuilder nextLaunch() {
    launches.add(launch());
    kernels.clear();
    arguments.clear();
    grid = List.of();
    block = Optional.empty();
    sharedBytes = Optional.empty();
    return this;
  }

  private KernelLaunch launch() {
    return new KernelLaunch(kernels, arguments, grid, block, sharedBytes);
  }

  /**
   * Defines a size, for shapes of outputs and temporary tensors, arguments and grids.
   *
   * @param value may throw an {@link dev.athanor.ops.OpException} to reject the call
   */
  public KernelOpBuilder define(String size, ToLongFunction<Sizes> value) {
    if (sizes.putIfAbsent(size, value) != null) {
      throw new IllegalArgumentException(
          "op \"%s\": the size %s is defined twice".formatted(name, size));
    }
    return this;
  }

  /**
   * Sets the numbers of blocks along x, y and z. The default is one thread per element of the first
   * tensor that the kernel writes.
   *
   * @param names of one to three sizes
   */
  public KernelOpBuilder grid(String... names) {
    grid = List.of(names);
    return this;
  }

  /** Sets the threads of a block, for methods that declare no {@code blockSize}. */
  public KernelOpBuilder block(Dim3 value) {
    block = Optional.of(value);
    return this;
  }

  /** Sets the bytes of the dynamic shared array. */
  public KernelOpBuilder sharedBytes(ToLongFunction<Sizes> bytes) {
    sharedBytes = Optional.of(bytes);
    return this;
  }

  /**
   * Sets the number of floating-point operations, for metrics and benchmarks.
   *
   * @param text in the names of the sizes, such as {@code 2·R·C}
   */
  public KernelOpBuilder flops(String text, ToDoubleFunction<Sizes> value) {
    flopsText = text;
    flops = value;
    return this;
  }

  /** Sets the float64 reference for the verification of kernels. */
  public KernelOpBuilder reference(KernelReference value) {
    reference = value;
    return this;
  }

  /** Sets the generator of an input that cannot be arbitrary numbers. */
  public KernelOpBuilder draw(String input, InputDrawing drawing) {
    drawings.put(input, drawing);
    return this;
  }

  /**
   * Sets the problems of {@code athanor verify}. By default, error-prone sizes are selected.
   *
   * @param problems such as {@code R=3 C=1000 alpha=2}; attributes are optional; an ellipsis is one
   *     leading extent
   */
  public KernelOpBuilder cases(String... problems) {
    cases = List.of(problems);
    return this;
  }

  /** Sets the tolerance of the outputs; by default, the usual one of their dtype. */
  public KernelOpBuilder tolerance(Tolerance value) {
    tolerance = Optional.of(value);
    return this;
  }

  /**
   * Returns the op.
   *
   * @throws IllegalArgumentException if the description and the kernels do not match; the message
   *     names the op, the error and its correction
   */
  public KernelOp op() {
    try {
      if (reference == null) {
        throw new IllegalArgumentException(
            "the reference is missing; call reference(…) with the outputs in float64");
      }
      var definition =
          new KernelDefinition(
              new KernelDefinition.Texts(name, summary, formula, flopsText),
              tensors,
              attributes,
              Stream.concat(launches.stream(), Stream.of(launch())).toList(),
              sizes,
              flops,
              reference,
              drawings,
              cases,
              tolerance);
      new DefinitionChecks(definition).run();
      return new KernelOp(definition);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("op \"%s\": %s".formatted(name, e.getMessage()), e);
    }
  }
}
