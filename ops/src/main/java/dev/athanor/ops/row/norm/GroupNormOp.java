package dev.athanor.ops.row.norm;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Rows;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.problem.BoundInputs;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import dev.athanor.ops.reference.TensorReader;
import dev.athanor.ops.row.RowCases;
import dev.athanor.ops.row.RowKernel;
import dev.athanor.ops.row.RowPlanner;
import dev.athanor.ops.row.RowShape;
import dev.athanor.ops.row.norm.NormFunction.Residual;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;

/**
 * The normalization of groups of channels, whose elements are consecutive: rows of a layer norm
 * with weights of channels.
 */
public final class GroupNormOp implements SampledOp {

  private static final Norm NORM = Norm.LAYER;

  private static final String SHAPES = "[N, C] or [N, C, L] or [N, C, H, W] or [N, C, D, H, W]";

  private final OpDescription description;

  public GroupNormOp() {
    var inputs = new ArrayList<Input>();
    inputs.add(
        new Input("x", SHAPES, RowShape.DTYPES, false, NORM.range() + "; those of f64 in f64"));
    inputs.addAll(NORM.weights(RowShape.DTYPES, "[C]", "channel"));
    description =
        new OpDescription(
            "group-norm",
            "Normalizes each group of channels of each image.",
            inputs,
            List.of(
                Attribute.integer(
                        "groups", "number of groups, a divisor of C: C for instance normalization")
                    .from(1, Double.POSITIVE_INFINITY)
                    .asRequired(),
                NORM.epsilon()),
            List.of(Output.of("y", SHAPES, "same as x", "the result")),
            "y = %s, with the mean over the C / groups channels of a group and their elements"
                .formatted(NORM.formula("x")),
            NORM.flops() + " per element");
  }

  @Override
  public OpDescription description() {
    return description;
  }

  @Override
  public Optional<Rows> rows(Map<String, TensorType> inputs, Attributes attributes) {
    return Optional.of(new Rows(Set.of("x")));
  }

  /**
   * A checked call.
   *
   * @param x the groups as rows
   * @param channels number of channels of a group
   * @param spatial number of elements of a channel
   */
  private record Call(BoundInputs bound, RowShape x, int groups, int channels, int spatial) {

    boolean hasWeights() {
      return bound.has("gamma") || bound.has("beta");
    }
  }

  private Call call(Map<String, TensorType> inputs, Attributes attributes) {
    var bound = BoundInputs.of(description, inputs, attributes);
    var type = RowShape.input(inputs, "x");
    long groups = attributes.integer("groups");
    long channels = bound.extent("C");
    if (channels % groups != 0) {
      throw new OpException.InvalidAttribute(
          "groups",
          "attribute \"groups\" is %d; it must divide the %d channels of x"
              .formatted(groups, channels));
    }
    long spatial = type.shape().extents().stream().skip(2).reduce(1L, Math::multiplyExact);
    long ofGroup = channels / groups;
    var x =
        RowShape.of(
            "x",
            type,
            Math.multiplyExact(bound.extent("N"), groups),
            Math.multiplyExact(ofGroup, spatial));
    return new Call(bound, x, (int) groups, (int) ofGroup, (int) spatial);
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    return call(inputs, attributes).bound.outputs();
  }

  @Override
  public List<LaunchPlan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var call = call(inputs, attributes);
    var x = call.x;
    var bound = call.bound;
    var outputs = bound.outputs();
    boolean ofChannels = call.hasWeights();
    var function =
        new NormFunction(NORM, Residual.NONE, bound.has("gamma"), bound.has("beta"), ofChannels);
    var arguments =
        Arguments.ofInputs(inputs.keySet().toArray(String[]::new))
            .outputs("y")
            .with("epsilon", x.scalar(attributes.number("epsilon")));
    if (ofChannels) {
      arguments =
          arguments
              .with("groups", call.groups)
              .with("channels", call.channels)
              .with("spatial", call.spatial);
    }
    var all = arguments;
    var weights =
        Stream.of("gamma", "beta")
            .filter(bound::has)
            .map(bound::dtype)
            .findFirst()
            .orElse(x.dtype());
    // an access must not reach the next channel, which has other weights
    int access = x.access(ofChannels ? call.spatial : x.n());
    return RowPlanner.ofAccess(x, access)
        .plans(
            "group-norm of " + x.dtype().text(),
            capability,
            tile ->
                RowPlanner.Launches.of(new RowKernel(function, x.dtype(), weights, tile), x, all),
            outputs,
            Plan.Cost.of((double) NORM.flops() * x.tensor().shape().elements(), inputs, outputs));
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var call = call(HostTensor.types(inputs), attributes);
    var x = TensorReader.of(inputs, "x");
    var gamma = TensorReader.of(inputs, "gamma", 1);
    var beta = TensorReader.of(inputs, "beta", 0);
    int n = call.x.n();
    return Map.of(
        "y",
        ReferenceOutput.ofRows(
            call.x.rows(),
            n,
            row -> {
              var values = x.get(row * n, n);
              var statistics = NORM.reference(values, attributes.number("epsilon"));
              for (int j = 0; j < n; j++) {
                long channel = row % call.groups * call.channels + j / call.spatial;
                values[j] =
                    statistics.apply(values[j]) * gamma.applyAsDouble(channel)
                        + beta.applyAsDouble(channel);
              }
              return values;
            }));
  }

  /** Extents of x and groups: of every alignment, one channel, one element, and long rows. */
  private static final long[][] CASES = {
    {1, 1, 1},
    {3, 12, 4},
    {2, 6, 1, 3},
    {2, 6, 7, 2},
    {5, 8, 3, 3, 8},
    {2, 12, 4, 8, 3},
    {3, 4, 2, 5, 2, 1},
    {2, 32, 16, 16, 4},
    {1, 6, 31, 33, 2},
    {1, 8, 52, 160, 2}
  };

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    var dtypes = List.of(DType.F32, DType.F16, DType.BF16, DType.F64);
    var cases = new ArrayList<Case>();
    for (int i = quick ? 4 : 0; i < (quick ? 8 : CASES.length); i++) {
      int rank = CASES[i].length - 1;
      var shape = Arrays.copyOf(CASES[i], rank);
      for (int j = 0; j < (quick ? 1 : 4); j++) {
        var dtype = dtypes.get((i + j) % 4);
        var weights = (i + j / 2) % 2 == 0 && dtype != DType.F64 ? DType.F32 : dtype;
        var made =
            new RowCases.Builder(this, random)
                .normal("x", j == 1 ? 100 : 0, 1, dtype, shape)
                .attribute("groups", CASES[i][rank]);
        if (i % 4 != 3) {
          made.normal("gamma", 1, 0.5, weights, shape[1]);
        }
        if (i % 4 < 2) {
          made.normal("beta", weights, shape[1]);
        }
        cases.add(made.within(Map.of("y", NormCases.tolerance(dtype))));
      }
    }
    return cases;
  }
}
