package com.example;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.Variant;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.row.RowFunction;
import dev.athanor.ops.row.RowKernel;
import dev.athanor.ops.row.RowPlanner;
import dev.athanor.ops.row.RowSchedule;
import dev.athanor.ops.row.RowShape;
import dev.athanor.ops.tile.EpilogueFunction;
import dev.athanor.ops.tile.Operand;
import dev.athanor.ops.tile.TensorMatmul.Destination;
import dev.athanor.ops.tile.TensorMatmul.Source;
import dev.athanor.ops.tile.TilePlanner;
import dev.athanor.ops.tile.TileProduct;
import dev.athanor.ops.tile.TileScheduler;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.random.RandomGenerator;

/**
 * An op on tiles: the squared distances between the rows of two matrices, {@code |a|² + |b|² -
 * 2·a·b}. Launches on the spine of rows compute the norms; a product on tensor cores adds them in
 * its epilogue.
 */
public final class SquaredDistances implements Op {

  private static final Set<DType> DTYPES = Set.of(DType.F16, DType.BF16);

  /** M, N and K of the cases: every alignment of K and N, one more and one less than tiles. */
  private static final int[][] SIZES = {
    {3, 5, 7},
    {65, 33, 66},
    {1, 1, 1},
    {17, 127, 68},
    {16, 128, 8},
    {100, 130, 40},
    {129, 96, 264},
    {40, 257, 33},
    {90, 132, 30},
    {31, 1, 520}
  };

  @Override
  public OpDescription description() {
    return new OpDescription(
        "squared-distances",
        "Computes the squared Euclidean distance of each row of a to each row of b.",
        List.of(
            new Input("a", "[M, K]", DTYPES, false, "the first points, one per row"),
            new Input("b", "[N, K]", DTYPES, false, "the second points; same dtype as a")),
        List.of(),
        List.of(Output.of("c", "[M, N]", "f32", "the squared distances")),
        "c = max(0, |a|² + |b|² - 2·a·bᵀ), accumulated in f32",
        "2·M·N·K");
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability device) {
    check(inputs);
    var a = RowShape.of(inputs, "a");
    var b = RowShape.of(inputs, "b");
    var outputs = Map.of("c", TensorType.of(DType.F32, a.rows(), b.rows()));
    var normsA = new Slot.Workspace(0);
    var normsB = new Slot.Workspace((long) a.rows() * Float.BYTES);
    var arguments =
        Arguments.ofInputs("a", "b")
            .with("normsA", normsA)
            .with("normsB", normsB)
            .outputs("c")
            .with("m", a.rows())
            .with("n", b.rows())
            .with("k", a.n());
    var planner =
        new TilePlanner(
            a.rows(),
            b.rows(),
            a.n(),
            1,
            Operand.of(a.dtype(), false, a.n()),
            Operand.of(b.dtype(), true, b.n()),
            device);
    var candidates = new Candidates("squared-distances", device);
    for (var product : planner.tiles(candidates, each -> new Distances(planner, each).name())) {
      var kernel = new Distances(planner, product);
      var step = planner.step(kernel, product, DType.F32, arguments);
      candidates.offer(
          kernel.name(),
          planner.microseconds(product, DType.F32),
          "%d blocks".formatted(planner.blocks(product.tile())),
          List.of(norms(a, normsA, device), norms(b, normsB, device), step),
          (long) (a.rows() + b.rows()) * Float.BYTES);
    }
    double operations = 2.0 * a.rows() * b.rows() * a.n();
    return candidates.plans(outputs, Plan.Cost.of(operations, inputs, outputs));
  }

  private static void check(Map<String, TensorType> inputs) {
    var a = inputs.get("a");
    var b = inputs.get("b");
    boolean matrices = a.shape().rank() == 2 && b.shape().rank() == 2;
    if (!matrices || a.shape().extent(1) != b.shape().extent(1)) {
      throw new OpException.ShapeMismatch(
          "b",
          "a has shape %s and b %s; they must be [M, K] and [N, K]"
              .formatted(a.shape(), b.shape()));
    }
    if (a.dtype() != b.dtype()) {
      throw new OpException.UnsupportedDType(
          "b",
          "a is %s but b is %s; they must be the same"
              .formatted(a.dtype().text(), b.dtype().text()));
    }
  }

  /** The launch that computes |x|² of each row of an input. */
  private static Step norms(RowShape x, Slot norms, Capability device) {
    var tile = RowPlanner.of(x).cheapestTile(device, (double) x.n() * x.dtype().bytes());
    var kernel = new RowKernel(new SquaredNorms(), x.dtype(), tile);
    return RowPlanner.step(
        kernel, x, Arguments.NONE.with("x", Slot.input(x.name())).with("norms", norms));
  }

  /** The kernel's parameters are {@code rows, n, x, norms}. */
  private record SquaredNorms() implements RowFunction {
    @Override
    public String name() {
      return "squared_norms";
    }

    @Override
    public void write(KernelBuilder k, RowKernel kernel, RowSchedule rows) {
      var row = rows.row();
      var x = row.of(kernel.input(k, "x"));
      var norms = k.pointer("norms", Type.F32);
      var sum = row.variable(0);
      row.read(row.inOrder(), chunk -> chunk.load(x))
          .forEach((_, v) -> v.forEach(each -> sum.addProduct(each, each)));
      row.storeResult(norms, row.sum(sum));
    }
  }

  /**
   * The product. The kernel's parameters are {@code a, b, normsA, normsB, c, m, n, k}.
   *
   * @param accessA bytes of a that may be copied at once
   * @param accessC bytes of c that may be written at once
   */
  private record Distances(DType dtype, TileProduct product, int accessA, int accessC)
      implements Variant {

    Distances(TilePlanner planner, TileProduct product) {
      this(
          planner.a().dtype(),
          product,
          planner.a().access(),
          Operand.access(planner.n(), DType.F32));
    }

    @Override
    public String name() {
      return "squared_distances_%s_%s_a%d_c%d"
          .formatted(dtype.text(), product.tile(), accessA, accessC);
    }

    @Override
    public Kernel build() {
      return KernelBuilder.build(name(), product.tile().threads(), this::write);
    }

    private void write(KernelBuilder k) {
      var type = product.a().element();
      var a = k.input("a", type);
      var b = k.input("b", type);
      var norms = new Norms(k.input("normsA", Type.F32), k.input("normsB", Type.F32));
      var c = k.pointer("c", Type.F32);
      var m = k.integer("m");
      var n = k.integer("n");
      var depth = k.integer("k");
      var place = TileScheduler.of(product.tile()).tile(k, m, n);
      var matmul = product.in(k);
      var sums =
          matmul.multiply(
              new Source(a, depth, m, depth, accessA),
              new Source(b, depth, n, depth, accessA),
              place);
      matmul.store(sums, place, new Destination(c, m, n, accessC), norms);
    }
  }

  /** The epilogue: rows and columns have a norm each. */
  private record Norms(GlobalPointer ofA, GlobalPointer ofB) implements EpilogueFunction<Real> {
    @Override
    public Real row(Int row, Int m) {
      return ofA.loadWhere(row.lt(m), row).widen();
    }

    @Override
    public Real column(Int column, Int n) {
      return ofB.loadWhere(column.lt(n), column).widen();
    }

    @Override
    public Value finish(Value sum, Real row, Real column) {
      var distance = sum.widen().fma(row.constant(-2), row.plus(column));
      // a maximum would turn NaN into 0
      return distance.constant(0).where(distance.lt(0), distance);
    }
  }

  @Override
  public Map<String, double[]> reference(Map<String, HostTensor> inputs, Attributes attributes) {
    var a = RowShape.of(HostTensor.types(inputs), "a");
    var b = RowShape.of(HostTensor.types(inputs), "b");
    var left = inputs.get("a").toDoubles();
    var right = inputs.get("b").toDoubles();
    var c = new double[a.rows() * b.rows()];
    for (int i = 0; i < a.rows(); i++) {
      for (int j = 0; j < b.rows(); j++) {
        double norms = 0;
        double product = 0;
        for (int at = 0; at < a.n(); at++) {
          double x = left[i * a.n() + at];
          double y = right[j * a.n() + at];
          norms += x * x + y * y;
          product += x * y;
        }
        c[i * b.rows() + j] = Math.max(0, norms - 2 * product);
      }
    }
    return Map.of("c", c);
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    var draw = new Draw(random);
    var cases = new ArrayList<Case>();
    for (var size : List.of(SIZES).subList(0, quick ? 2 : SIZES.length)) {
      for (var dtype : List.of(DType.F16, DType.BF16)) {
        cases.add(
            problem(draw.normal(dtype, size[0], size[2]), draw.normal(dtype, size[1], size[2])));
      }
    }
    // f32 has the squares of all f16 numbers
    cases.add(problem(draw.special(DType.F16, 9, 14), draw.special(DType.F16, 18, 14)));
    return cases;
  }

  private Case problem(HostTensor a, HostTensor b) {
    return new Case(
        Map.of("a", a, "b", b),
        Attributes.of(description(), Map.of()),
        Map.of("c", Tolerance.relative(1e-5)));
  }
}
