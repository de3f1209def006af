package dev.athanor.ops.reduce;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Shape;
import dev.athanor.ops.Step;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.cost.BlockWork;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.problem.Checks;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.random.RandomGenerator;

/**
 * An op that combines each element with all elements before it along a dimension.
 *
 * @param reduction the sum or the product
 */
record ScanOp(Reduction reduction) implements SampledOp {

  private static final String AXIS = "axis";
  private static final String EXCLUSIVE = "exclusive";
  private static final String REVERSE = "reverse";

  private static final int ACCESS_BYTES = 16;

  /** Instructions per element: convert, combine twice, and merge states of lanes and warps. */
  private static final double INSTRUCTIONS = 30;

  /** Registers per thread. */
  private static final int REGISTERS = 64;

  /** A scan of x[outer, n, inner]. */
  private record Extents(int outer, int n, int inner) {

    static Extents of(Shape shape, int axis) {
      var extents = shape.extents();
      return new Extents(
          Checks.count("x", shape, new Shape(extents.subList(0, axis)).elements()),
          Checks.count("x", shape, extents.get(axis)),
          Checks.count(
              "x", shape, new Shape(extents.subList(axis + 1, extents.size())).elements()));
    }
  }

  @Override
  public OpDescription description() {
    boolean sums = reduction == Reduction.SUM;
    var noun = sums ? "sum" : "product";
    return new OpDescription(
        "cum" + reduction.text(),
        "Computes the cumulative %s along a dimension.".formatted(noun),
        List.of(new Input("x", "[…, N, …]", reduction.dtypes(), false, "the input tensor")),
        List.of(
            Attribute.integer(AXIS, -1, "the dimension; negative values count from the end"),
            Attribute.flag(EXCLUSIVE, "whether an element is not part of its own result"),
            Attribute.flag(REVERSE, "whether elements are combined with those after them")),
        List.of(Output.of("y", "[…, N, …]", "same as x", "the cumulative %ss".formatted(noun))),
        "y = the %s of x and all elements before it along the axis, as in ONNX CumSum, in"
                .formatted(noun)
            + " compensated f32 (f64 for f64), rounded to the dtype of x at the end; integers wrap",
        "1 per element of x");
  }

  private static Extents extents(TensorType x, Attributes attributes) {
    return Extents.of(x.shape(), Checks.axis(attributes, AXIS, "x", x.shape()));
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    extents(Objects.requireNonNull(inputs.get("x")), attributes);
    return Map.of("y", Objects.requireNonNull(inputs.get("x")));
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var x = Objects.requireNonNull(inputs.get("x"));
    var extents = extents(x, attributes);
    boolean rows = extents.inner == 1;
    int widest = ACCESS_BYTES / x.dtype().bytes();
    var variant =
        new ScanVariant(
            reduction,
            x.dtype(),
            rows,
            attributes.flag(EXCLUSIVE),
            attributes.flag(REVERSE),
            rows ? (int) Math.min(widest, Long.lowestOneBit(extents.n)) : 1);
    var candidates =
        new Candidates("%s of %s".formatted(description().name(), x.dtype().text()), capability);
    long blocks = variant.blocks(extents.outer, extents.inner);
    if (blocks > Integer.MAX_VALUE) {
      candidates.refuse(
          variant.name(), "requires %d blocks; the limit is 2^31 - 1".formatted(blocks));
    } else {
      candidates.offer(
          microseconds(variant, extents, blocks, Machine.of(capability)),
          "%d blocks".formatted(blocks),
          new Step(
              variant,
              Dim3.of((int) blocks),
              ScanVariant.THREADS,
              0,
              Arguments.ofInputs("x")
                  .outputs("y")
                  .with("n", extents.n)
                  .with("inner", extents.inner)));
    }
    var outputs = Map.of("y", x);
    return candidates.plans(outputs, Plan.Cost.of((double) x.shape().elements(), inputs, outputs));
  }

  private double microseconds(ScanVariant variant, Extents extents, long blocks, Machine machine) {
    double chunks = Math.ceilDiv(extents.n, variant.chunk());
    double elements = (double) variant.chunk() * (variant.rows() ? 1 : KernelBuilder.WARP);
    double moved = 2 * elements * variant.dtype().bytes();
    var work =
        new BlockWork(
            ScanVariant.THREADS,
            REGISTERS,
            0,
            machine.issueCycles(INSTRUCTIONS * chunks * elements / KernelBuilder.WARP),
            chunks * (2 * Machine.BARRIER_CYCLES + machine.latency()),
            chunks * moved,
            moved);
    double all = (double) extents.outer * extents.n * extents.inner;
    return machine.microseconds(blocks, work, 2 * all * variant.dtype().bytes());
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var x = Objects.requireNonNull(inputs.get("x"));
    var extents = extents(x.type(), attributes);
    long inner = extents.inner;
    return Map.of(
        "y",
        new ReferenceOutput(
            x.type().shape().elements(),
            indices -> {
              var lines = new HashMap<Long, double[]>();
              var results = new double[indices.length];
              for (int i = 0; i < results.length; i++) {
                long at = indices[i];
                long first = at - at / inner % extents.n * inner;
                results[i] =
                    lines
                        .computeIfAbsent(first, from -> line(x, from, extents, attributes))[
                        (int) (at / inner % extents.n)];
              }
              return results;
            }));
  }

  /** Returns the results of a line whose first element is {@code first}. */
  private double[] line(HostTensor x, long first, Extents extents, Attributes attributes) {
    var dtype = x.type().dtype();
    boolean exclusive = attributes.flag(EXCLUSIVE);
    boolean sums = reduction == Reduction.SUM;
    var results = new double[extents.n];
    double sum = sums ? 0 : 1;
    double lost = 0;
    long whole = sums ? 0 : 1;
    for (int i = 0; i < results.length; i++) {
      int place = attributes.flag(REVERSE) ? results.length - 1 - i : i;
      long index = first + (long) place * extents.inner;
      double before = dtype.isFloat() ? rounded(dtype, sum, lost) : whole;
      if (dtype.isFloat()) {
        double next = x.get(index);
        double total = sums ? sum + next : sum * next;
        double ofNext = total - sum;
        lost =
            sums
                ? lost + (sum - (total - ofNext)) + (next - ofNext)
                : lost * next + Math.fma(sum, next, -total);
        sum = total;
      } else {
        long next = dtype.readLong(x.data(), index);
        whole = ReferenceReduction.wrap(dtype, sums ? whole + next : whole * next);
      }
      double after = dtype.isFloat() ? rounded(dtype, sum, lost) : whole;
      results[place] = exclusive ? before : after;
    }
    return results;
  }

  private static double rounded(DType dtype, double sum, double lost) {
    double exact = Double.isNaN(lost) ? sum : sum + lost;
    return Math.abs(exact) >= dtype.overflow()
        ? Math.copySign(Double.POSITIVE_INFINITY, exact)
        : exact;
  }

  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    return Tolerances.ofSums(dtype);
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    var draw = new Draw(random);
    var cases = new ArrayList<Case>();
    for (var dtype : reduction.dtypes().stream().sorted().toList()) {
      var plain = Map.<String, Object>of();
      var shapes =
          quick || dtype != DType.F32
              ? List.of(Shape.of(3, 100), Shape.of(2, 9, 13))
              : List.of(
                  Shape.of(3, 1),
                  Shape.of(5, 7),
                  Shape.of(2, 1002),
                  Shape.of(3, 4100),
                  Shape.of(8200),
                  Shape.of(1, 1, 2049));
      for (var shape : shapes) {
        cases.add(make(plain, numbers(draw, new TensorType(dtype, shape))));
      }
      for (var shape : List.of(Shape.of(2, 70, 5), Shape.of(200, 33), Shape.of(1, 3, 2, 40))) {
        cases.add(make(Map.of(AXIS, -2), numbers(draw, new TensorType(dtype, shape))));
      }
      for (var choice : List.of(EXCLUSIVE, REVERSE)) {
        cases.add(make(Map.of(choice, true), numbers(draw, TensorType.of(dtype, 2, 2064))));
        cases.add(make(Map.of(choice, true, AXIS, 0), numbers(draw, TensorType.of(dtype, 77, 6))));
      }
      var both = Map.<String, Object>of(EXCLUSIVE, true, REVERSE, true);
      cases.add(make(both, numbers(draw, TensorType.of(dtype, 2, 131))));
      if (dtype.isFloat() && reduction == Reduction.SUM) {
        cases.add(make(plain, draw.special(dtype, 8, 13)));
      }
    }
    return cases;
  }

  private HostTensor numbers(Draw draw, TensorType type) {
    return ReduceCases.numbers(draw, reduction, type);
  }

  private Case make(Map<String, Object> given, HostTensor x) {
    var attributes = Attributes.of(description(), given);
    var tolerance = tolerance("y", x.type().dtype(), Map.of(), attributes);
    return new Case(Map.of("x", x), attributes, Map.of("y", tolerance));
  }
}
