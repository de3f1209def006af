package dev.athanor.ops.linear.dense;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Activation;
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
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.linear.MatmulProblem;
import dev.athanor.ops.linear.ProductDescription;
import dev.athanor.ops.linear.simt.SimtPlanner;
import dev.athanor.ops.move.Neutral;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import dev.athanor.ops.reference.TensorReader;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;

/** Products of groups of rows with a matrix for each group, as of experts or adapters. */
public final class GroupedMatmul implements SampledOp {

  private static final Set<DType> DTYPES = Set.of(DType.F64, DType.F32, DType.F16, DType.BF16);

  private static final OpDescription DESCRIPTION =
      new OpDescription(
          "grouped-matmul",
          "Multiplies groups of rows, each by the matrix of its group: of the expert or the"
              + " adapter that the rows are for. Groups without rows cost nothing.",
          List.of(
              new Input("a", "[T, K]", DTYPES, false, "the rows, ordered by group"),
              new Input(
                  "b",
                  "[E, K, N] or [E, N, K] with transposeB",
                  DTYPES,
                  false,
                  "the matrices of the groups"),
              new Input(
                  "sizes",
                  "[E]",
                  Set.of(DType.I32),
                  false,
                  "the number of rows of each group; negative ones count as 0"),
              new Input(
                  "bias",
                  "[E, N]",
                  ProductDescription.NUMBERS,
                  true,
                  "a bias for each group, added to each of its rows; same dtype as a, or f32 unless a"
                      + " is f64")),
          List.of(
              ProductDescription.transposeB("b is"),
              Attribute.choice(
                  "activation",
                  "none",
                  Activation.names(Activation.EPILOGUES),
                  "activation function, applied after the bias"),
              ProductDescription.outDType("c", ""),
              ProductDescription.precision()),
          List.of(
              Output.of(
                  "c", "[T, N]", "outDtype", "the products; rows after the last group are zeros")),
          "c = activation(a·b + bias) with b and bias of the row's group, "
              + ProductDescription.SUMS,
          "2·T·N·K");

  @Override
  public OpDescription description() {
    return DESCRIPTION;
  }

  private static MatmulProblem problem(Map<String, TensorType> inputs, Attributes attributes) {
    return MatmulProblem.ofGroups(DESCRIPTION, inputs, attributes);
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    return Map.of("c", problem(inputs, attributes).output());
  }

  @Override
  public List<? extends Plan> plansWithoutElements(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    return Neutral.plans(this, inputs, attributes, 0, capability);
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var problem = problem(inputs, attributes);
    var candidates = new Candidates("grouped product of " + problem.dtype().text(), capability);
    SimtPlanner.offer(problem, capability, candidates);
    TensorPlanner.offer(problem, capability, candidates);
    return candidates.plans(Map.of("c", problem.output()), problem.cost());
  }

  /** Draws a group for each row. */
  @Override
  public Map<String, HostTensor> draw(
      Map<String, TensorType> inputs, Attributes attributes, Draw draw) {
    var drawn = new LinkedHashMap<String, HostTensor>();
    inputs.forEach((name, type) -> drawn.put(name, draw.usual(type)));
    int groups = Math.toIntExact(type(inputs, "sizes").shape().elements());
    int rows = Math.toIntExact(type(inputs, "a").shape().extent(0));
    var ofRows = draw.integers(0, groups - 1, TensorType.of(DType.I32, rows));
    var sizes = new double[groups];
    for (int row = 0; row < rows; row++) {
      sizes[(int) ofRows.get(row)]++;
    }
    drawn.put("sizes", HostTensor.of(TensorType.of(DType.I32, groups), sizes));
    return drawn;
  }

  private static TensorType type(Map<String, TensorType> inputs, String name) {
    return Objects.requireNonNull(inputs.get(name), name);
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var p = problem(HostTensor.types(inputs), attributes);
    var a = TensorReader.of(inputs, "a");
    var b = TensorReader.of(inputs, "b");
    var bias = TensorReader.of(inputs, "bias", 0);
    var groups = groups(Objects.requireNonNull(inputs.get("sizes")), p.output().shape());
    return Map.of(
        "c",
        ReferenceOutput.ofElements(
            p.output().shape().elements(),
            element -> {
              long i = element / p.n();
              long j = element % p.n();
              int group = groups[(int) i];
              if (group < 0) {
                return 0;
              }
              long first = (long) group * p.k() * p.n();
              double sum = 0;
              for (long k = 0; k < p.k(); k++) {
                long at = p.transposeB() ? j * p.k() + k : k * p.n() + j;
                sum += a.get(i * p.k() + k) * b.get(first + at);
              }
              return p.activation().apply(sum + bias.applyAsDouble((long) group * p.n() + j));
            }));
  }

  /** Returns the group of each row; -1 for none. */
  private static int[] groups(HostTensor sizes, Shape c) {
    var groups = new int[Math.toIntExact(c.extent(0))];
    int row = 0;
    for (int group = 0; group < sizes.type().shape().elements(); group++) {
      for (int i = 0; i < sizes.get(group) && row < groups.length; i++) {
        groups[row++] = group;
      }
    }
    while (row < groups.length) {
      groups[row++] = -1;
    }
    return groups;
  }

  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    return Matmul.tolerance(problem(inputs, attributes), dtype);
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    var draw = new Draw(random);
    var cases = new ArrayList<Case>();
    // sizes, with groups that are empty, fill tiles, exceed the rows or leave some
    var groups =
        List.of(
            new double[] {5, 0, 12},
            new double[] {0, 0, 16, 1, -3, 0, 2},
            new double[] {40, 33},
            new double[] {0},
            IntStream.range(0, 70).mapToDouble(i -> i % 9 == 4 ? 17 : i % 5 % 2).toArray());
    int turn = 0;
    for (var dtype : List.of(DType.F32, DType.F16, DType.BF16, DType.F64)) {
      for (var sizes : quick ? groups.subList(1, 2) : groups) {
        for (boolean transposeB : new boolean[] {false, true}) {
          int depth = List.of(40, 17, 64).get(turn % 3);
          int columns = List.of(24, 33, 72, 1).get(turn % 4);
          int rows = List.of(17, 60, 21, 190).get(turn / 2 % 4);
          var attributes = new HashMap<String, Object>();
          attributes.put("transposeB", transposeB);
          var inputs = new HashMap<String, HostTensor>();
          inputs.put("a", draw.normal(dtype, rows, depth));
          inputs.put(
              "b",
              transposeB
                  ? draw.normal(dtype, sizes.length, columns, depth)
                  : draw.normal(dtype, sizes.length, depth, columns));
          inputs.put("sizes", HostTensor.of(TensorType.of(DType.I32, sizes.length), sizes));
          if (turn % 4 < 2) {
            var biases = turn % 8 == 0 && dtype != DType.F64 ? DType.F32 : dtype;
            inputs.put("bias", draw.normal(biases, sizes.length, columns));
            attributes.put("activation", dtype == DType.F64 ? "relu" : "gelu");
          }
          var of = Attributes.of(DESCRIPTION, attributes);
          var limit = tolerance("c", dtype, HostTensor.types(inputs), of);
          cases.add(new Case(inputs, of, Map.of("c", limit)));
          turn++;
        }
      }
    }
    return cases;
  }
}
