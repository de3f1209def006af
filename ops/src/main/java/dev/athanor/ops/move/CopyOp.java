package dev.athanor.ops.move;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.Rows;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.map.ElementwiseOps;
import dev.athanor.ops.problem.Checks;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.random.RandomGenerator;

/**
 * An op that copies elements bit for bit. A subclass defines the shapes of the outputs, the source
 * of each element for the reference, and the {@linkplain Region regions} to copy.
 */
abstract class CopyOp implements SampledOp {

  private static final List<DType> DTYPES =
      List.of(
          DType.F32, DType.U8, DType.F16, DType.I64, DType.E4M3, DType.BF16, DType.BOOL, DType.F64);

  /** Number of dtypes that run each problem. */
  private static final int DTYPES_PER_PROBLEM = 3;

  private final OpDescription description;
  private final List<String> problems;

  /**
   * Creates an op.
   *
   * @param problems its cases, without dtypes: {@code x=[3,4] axes=1,0}
   */
  CopyOp(OpDescription description, String... problems) {
    this.description = description;
    this.problems = List.of(problems);
  }

  /** Returns the description of an op with one input and one output. */
  static OpDescription describe(
      String name,
      String summary,
      String shape,
      String result,
      String formula,
      List<Attribute> attributes) {
    return new OpDescription(
        name,
        summary,
        List.of(new Input("x", shape, ElementwiseOps.ELEMENTS, false, "the input tensor")),
        attributes,
        List.of(Output.of("y", result, "same as x", "the result, copied bit for bit")),
        formula,
        "0");
  }

  /**
   * Returns the shapes of the outputs by name.
   *
   * @throws OpException if the inputs or the attributes are invalid
   * @throws ArithmeticException if an extent exceeds 2^63 - 1
   */
  abstract Map<String, Shape> shapes(Map<String, TensorType> inputs, Attributes attributes);

  /** Returns the regions to copy, for valid inputs. */
  abstract List<Region> regions(
      Map<String, TensorType> inputs, Attributes attributes, Map<String, TensorType> outputs);

  /**
   * Returns an element of an output.
   *
   * @param at its indices
   */
  abstract double element(Tensors x, Attributes attributes, String output, long[] at);

  /** Returns whether the rows of each output are those of the inputs, copied independently. */
  abstract boolean keepsRows(Map<String, TensorType> inputs, Attributes attributes);

  /** The inputs of the reference. */
  record Tensors(Map<String, HostTensor> inputs) {

    private HostTensor tensor(String name) {
      return Objects.requireNonNull(inputs.get(name), name);
    }

    Shape shape(String name) {
      return tensor(name).type().shape();
    }

    /** Returns the element at some indices. */
    double get(String name, long... at) {
      long index = 0;
      for (int i = 0; i < at.length; i++) {
        index = index * shape(name).extent(i) + at[i];
      }
      return tensor(name).get(index);
    }
  }

  @Override
  public OpDescription description() {
    return description;
  }

  static TensorType x(Map<String, TensorType> inputs) {
    return Objects.requireNonNull(inputs.get("x"));
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    var dtype = inputs.values().iterator().next().dtype();
    var outputs = new LinkedHashMap<String, TensorType>();
    try {
      shapes(inputs, attributes)
          .forEach((name, shape) -> outputs.put(name, Checks.output(name, dtype, shape)));
    } catch (ArithmeticException e) {
      throw new OpException.TooLarge(
          "y",
          "an extent of output \"y\" would exceed 2^63 - 1, got %s; give smaller extents"
              .formatted(new Problem(this, inputs, attributes).text()));
    }
    return outputs;
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    return plans(inputs, attributes, outputs(inputs, attributes), capability);
  }

  /** Copies the inputs that have elements. */
  @Override
  public List<? extends Plan> plansWithoutElements(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    return plans(inputs, attributes, capability);
  }

  List<? extends Plan> plans(
      Map<String, TensorType> inputs,
      Attributes attributes,
      Map<String, TensorType> outputs,
      Capability capability) {
    var regions =
        regions(inputs, attributes, outputs).stream()
            .filter(region -> region.elements() > 0)
            .toList();
    if (regions.isEmpty()) {
      return List.of(LaunchPlan.empty(outputs));
    }
    return new CopyPlanner(description.name(), inputs, outputs, regions).plans(capability);
  }

  @Override
  public Optional<Rows> rows(Map<String, TensorType> inputs, Attributes attributes) {
    boolean scalar = inputs.values().iterator().next().shape().rank() == 0;
    return !scalar && keepsRows(inputs, attributes)
        ? Optional.of(new Rows(inputs.keySet()))
        : Optional.empty();
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var tensors = new Tensors(inputs);
    var references = new LinkedHashMap<String, ReferenceOutput>();
    outputs(HostTensor.types(inputs), attributes)
        .forEach((name, type) ->
            references.put(
                name,
                ReferenceOutput.ofElements(
                    type.shape().elements(),
                    index -> element(tensors, attributes, name, indices(type.shape(), index)))));
    return references;
  }

  /** Returns the indices of an element. */
  static long[] indices(Shape shape, long index) {
    var at = new long[shape.rank()];
    long rest = index;
    for (int i = at.length - 1; i >= 0; i--) {
      at[i] = rest % shape.extent(i);
      rest /= shape.extent(i);
    }
    return at;
  }

  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    return Tolerance.exact();
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    var cases = new ArrayList<Case>();
    for (var text : problems) {
      for (int i = 0; i < (quick ? 1 : DTYPES_PER_PROBLEM); i++) {
        var dtype = DTYPES.get(cases.size() % DTYPES.size());
        var problem = Problem.parse(this, text.replace("=[", "=%s[".formatted(dtype.text())));
        var drawn = new LinkedHashMap<String, HostTensor>();
        problem.inputs().forEach((name, type) -> drawn.put(name, distinct(new Draw(random), type)));
        var tolerances = new LinkedHashMap<String, Tolerance>();
        outputs(problem.inputs(), problem.attributes())
            .keySet()
            .forEach(name -> tolerances.put(name, Tolerance.exact()));
        cases.add(new Case(drawn, problem.attributes(), tolerances));
      }
    }
    return cases;
  }

  /** Draws as many different numbers as the dtype allows. */
  private static HostTensor distinct(Draw draw, TensorType type) {
    return type.dtype() == DType.BOOL
        ? draw.integers(0, 1, type)
        : type.dtype().isFloat() ? draw.normal(0, 1, type) : draw.integers(0, 255, type);
  }

  /**
   * Returns the refusal of an attribute.
   *
   * @param right what the attribute must be
   */
  static OpException invalid(Attributes attributes, String name, String right) {
    return new OpException.InvalidAttribute(
        name,
        attributes.has(name)
            ? "attribute \"%s\" is %s; %s"
                .formatted(
                    name,
                    Attributes.text(Objects.requireNonNull(attributes.values().get(name))),
                    right)
            : "attribute \"%s\" is missing; %s".formatted(name, right));
  }
}
