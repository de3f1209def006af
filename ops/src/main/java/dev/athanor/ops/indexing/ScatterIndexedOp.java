package dev.athanor.ops.indexing;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.BiFunction;
import java.util.random.RandomGenerator;

/**
 * An op that scatters elements or slices.
 *
 * @param find returns the checked indices of a call
 * @param problems its cases, as {@link IndexingCases#of} takes them
 */
record ScatterIndexedOp(
    OpDescription description,
    BiFunction<Map<String, TensorType>, Attributes, Indices> find,
    List<String> problems)
    implements SampledOp {

  static final String UPDATES = "updates";
  static final String REDUCTION = "reduction";

  private static final List<DType> DTYPES =
      List.of(
          DType.F32,
          DType.U8,
          DType.F16,
          DType.I64,
          DType.BF16,
          DType.I32,
          DType.F64,
          DType.I8,
          DType.U32,
          DType.I16,
          DType.E4M3);

  private Indices check(Map<String, TensorType> inputs, Attributes attributes) {
    var indices = find.apply(inputs, attributes);
    var x = type(inputs, Indices.X);
    var updates = type(inputs, UPDATES);
    if (updates.dtype() != x.dtype()) {
      throw new OpException.UnsupportedDType(
          UPDATES,
          "updates is %s but x is %s; they must be the same"
              .formatted(updates.dtype().text(), x.dtype().text()));
    }
    if (!updates.shape().equals(indices.named())) {
      throw new OpException.ShapeMismatch(
          UPDATES,
          "updates has shape %s; with x %s and index %s it must be %s"
              .formatted(updates.shape(), x.shape(), indices.index(), indices.named()));
    }
    var reduction = reduction(attributes);
    if (reduction != ScatterReduction.NONE && x.dtype() == DType.BOOL) {
      throw new OpException.UnsupportedDType(
          Indices.X,
          "x is bool, which has no reduction \"%s\"; use reduction \"none\", or cast x to u8"
              .formatted(reduction.text()));
    }
    return indices;
  }

  private static ScatterReduction reduction(Attributes attributes) {
    return ScatterReduction.of(attributes.choice(REDUCTION));
  }

  private static TensorType type(Map<String, TensorType> inputs, String name) {
    return Objects.requireNonNull(inputs.get(name), name);
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    check(inputs, attributes);
    return Map.of("y", type(inputs, Indices.X));
  }

  /** Without updates, y is x. */
  @Override
  public List<? extends Plan> plansWithoutElements(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    return List.of(LaunchPlan.empty(outputs(inputs, attributes)).updating(Indices.X, "y"));
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var indices = check(inputs, attributes);
    var x = type(inputs, Indices.X);
    return new ScatterPlanner(
            description.name(),
            x,
            type(inputs, Indices.INDEX),
            indices,
            reduction(attributes),
            Plan.Cost.of(0, inputs, Map.of("y", x)))
        .plans(capability);
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var indices = check(HostTensor.types(inputs), attributes);
    var reduction = reduction(attributes);
    var x = tensor(inputs, Indices.X);
    var updates = tensor(inputs, UPDATES);
    var index = tensor(inputs, Indices.INDEX);
    var positions = new HashMap<Long, List<Long>>();
    long width = indices.width();
    for (long p = 0; p < (width == 0 ? 0 : indices.named().elements() / width); p++) {
      positions.computeIfAbsent(indices.slice(index, p), _ -> new ArrayList<>()).add(p);
    }
    return Map.of(
        "y",
        ReferenceOutput.ofElements(
            x.type().shape().elements(),
            i -> {
              var writers = positions.getOrDefault(i / width, List.of());
              return x.type().dtype().isFloat()
                  ? real(reduction, x, i, updates, writers, width)
                  : whole(reduction, x, i, updates, writers, width);
            }));
  }

  private static HostTensor tensor(Map<String, HostTensor> inputs, String name) {
    return Objects.requireNonNull(inputs.get(name), name);
  }

  private static double real(
      ScatterReduction reduction,
      HostTensor x,
      long at,
      HostTensor updates,
      List<Long> writers,
      long width) {
    double result = x.get(at);
    for (long p : writers) {
      result = reduction.of(result, updates.get(p * width + at % width));
    }
    return result;
  }

  private static double whole(
      ScatterReduction reduction,
      HostTensor x,
      long at,
      HostTensor updates,
      List<Long> writers,
      long width) {
    var dtype = x.type().dtype();
    long result = dtype.readLong(x.data(), at);
    for (long p : writers) {
      result = reduction.of(result, dtype.readLong(updates.data(), p * width + at % width));
    }
    return switch (dtype) {
      case I8 -> (byte) result;
      case U8 -> result & 0xFF;
      case I16 -> (short) result;
      case I32 -> (int) result;
      case U32 -> result & 0xFFFF_FFFFL;
      default -> result;
    };
  }

  @Override
  public Map<String, HostTensor> draw(
      Map<String, TensorType> inputs, Attributes attributes, Draw draw) {
    return Map.of(
        Indices.X,
        IndexingCases.elements(draw, type(inputs, Indices.X)),
        UPDATES,
        IndexingCases.elements(draw, type(inputs, UPDATES)),
        Indices.INDEX,
        check(inputs, attributes).draw(type(inputs, Indices.INDEX), draw));
  }

  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    return IndexingCases.scatter(reduction(attributes), dtype);
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    return IndexingCases.of(this, random, problems, DTYPES, quick ? 1 : 5);
  }
}
