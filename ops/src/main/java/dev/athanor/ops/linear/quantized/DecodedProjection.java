package dev.athanor.ops.linear.quantized;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Op;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.cost.BlockWork;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.linear.dense.Matmul;
import dev.athanor.ops.linear.quantized.ProjectionProblem.Projection;
import dev.athanor.ops.move.Layout;
import dev.athanor.ops.quant.Dequantize;
import dev.athanor.ops.quant.Int4Weights;
import dev.athanor.ops.tile.Epilogue;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Products with 4-bit weights by two ops: one decodes the weights to the workspace, the other
 * multiplies by them. For devices without tensor cores for the left matrix, whose kernels for both
 * at once would be slow and large, and for rows whose groups are named by indices.
 */
final class DecodedProjection {
  private static final Dequantize DECODE = new Dequantize();
  private static final Matmul MULTIPLY = new Matmul();

  /** Rows and columns of the tiles that the time of a product is estimated for. */
  private static final int TILE = 64;

  private static final int THREADS = 256;
  private static final int REGISTERS = 96;

  /** Depth that the threads of a tile load ahead. */
  private static final int AHEAD = 16;

  private final ProjectionProblem problem;
  private final Map<String, TensorType> inputs;
  private final Attributes attributes;
  private final Capability device;
  private final List<Step> decoding = new ArrayList<>();
  private final Map<Projection, Slot.Workspace> decoded = new HashMap<>();
  private final Map<Projection, TensorType> types = new HashMap<>();
  private double bytes;
  private long end;

  /**
   * Decodes the weights of a problem.
   *
   * @param attributes of the op, among them those of {@code dequantize}
   */
  DecodedProjection(
      ProjectionProblem problem,
      Map<String, TensorType> inputs,
      Attributes attributes,
      Capability device) {
    this.problem = problem;
    this.inputs = inputs;
    this.attributes = attributes;
    this.device = device;
    problem.projections().forEach(this::decode);
  }

  private void decode(Projection projection) {
    var names = new HashMap<>(Map.of("x", projection.weights(), "scale", projection.scales()));
    if (!projection.zeros().isEmpty()) {
      names.put("zeros", projection.zeros());
    }
    if (!projection.groupIndices().isEmpty()) {
      names.put(Int4Weights.GROUP_INDICES, projection.groupIndices());
    }
    if (problem.epilogue().scale() == Epilogue.Scale.TENSOR) {
      names.put("tensorScale", "scale");
    }
    var given = new HashMap<String, Object>(Map.of("outDtype", problem.in().text()));
    for (var name : List.of("groupSize", "layout", "zeroFormat")) {
      if (attributes.has(name)) {
        given.put(name, Objects.requireNonNull(attributes.values().get(name)));
      }
    }
    var types = new HashMap<String, TensorType>();
    names.forEach((name, input) -> types.put(name, type(input)));
    // packed words may be declared as signed
    for (var name : List.of("x", "zeros")) {
      types.computeIfPresent(
          name,
          (_, type) -> type.dtype() == DType.I32 ? new TensorType(DType.U32, type.shape()) : type);
    }
    var plan = plans(DECODE, types, given).getFirst();
    var weights = new Slot.Workspace(end);
    var type = Objects.requireNonNull(plan.outputs().get("y"));
    end = Layout.aligned(end + type.bytes());
    bytes += plan.cost().bytes();
    decoded.put(projection, weights);
    this.types.put(projection, type);
    for (var step : plan.steps()) {
      decoding.add(
          step.map(slot ->
              switch (slot) {
                case Slot.Input(var name, var offset) ->
                    new Slot.Input(Objects.requireNonNull(names.get(name)), offset);
                case Slot.Output(_, var offset) ->
                    new Slot.Workspace(weights.byteOffset() + offset);
                default -> slot;
              }));
    }
  }

  private TensorType type(String input) {
    return Objects.requireNonNull(inputs.get(input), input);
  }

  private List<LaunchPlan> plans(Op op, Map<String, TensorType> types, Map<String, Object> given) {
    return op.plans(types, Attributes.of(op.description(), given), device).stream()
        .map(LaunchPlan.class::cast)
        .toList();
  }

  /** Offers the launches, for each way to multiply by the weights of the first projection. */
  void offer(Candidates candidates) {
    var products = problem.projections().stream().map(this::products).toList();
    double microseconds = microseconds();
    for (var first : products.getFirst()) {
      var steps = new ArrayList<>(decoding);
      long workspace = end;
      for (int i = 0; i < products.size(); i++) {
        var projection = problem.projections().get(i);
        var product =
            products.get(i).stream()
                .filter(each -> each.order().equals(first.order()))
                .findFirst()
                .orElse(products.get(i).getFirst());
        product.steps().forEach(step -> steps.add(placed(step, projection)));
        workspace = Math.max(workspace, end + product.workspaceBytes());
      }
      candidates.offer(
          "decoded_" + problem.packing().text() + "_" + first.kernel(),
          "decoded_" + first.order(),
          microseconds,
          "weights are decoded to " + problem.in().text() + " first",
          steps,
          workspace);
    }
  }

  private List<LaunchPlan> products(Projection projection) {
    var weights = Objects.requireNonNull(types.get(projection));
    var types =
        new HashMap<>(
            Map.of("a", TensorType.of(problem.in(), problem.m(), problem.k()), "b", weights));
    if (problem.epilogue().bias().isPresent()) {
      types.put("bias", type(projection.bias()));
    }
    return plans(
        MULTIPLY,
        types,
        Map.of(
            "transposeB",
            !(problem.packing() instanceof Packing.AlongN),
            "outDtype",
            problem.out().text()));
  }

  private Step placed(Step step, Projection projection) {
    var weights = Objects.requireNonNull(decoded.get(projection));
    return step.map(slot ->
        switch (slot) {
          case Slot.Input(var name, var offset) ->
              switch (name) {
                case "b" -> new Slot.Workspace(weights.byteOffset() + offset);
                case "bias" -> new Slot.Input(projection.bias(), offset);
                default -> new Slot.Input(problem.left(), offset);
              };
          case Slot.Output(_, var offset) -> new Slot.Output(projection.output(), offset);
          case Slot.Workspace(var offset) -> new Slot.Workspace(end + offset);
          default -> slot;
        });
  }

  /** Returns the time of a decoding at the rate of memory, and of a product in tiles. */
  private double microseconds() {
    var machine = Machine.of(device);
    int dtype = problem.in().bytes();
    double stage = 2.0 * TILE * dtype;
    var work =
        new BlockWork(
            THREADS,
            REGISTERS,
            0,
            machine.laneCycles((double) TILE * TILE * problem.k(), Type.F32),
            0,
            stage * problem.k(),
            stage * AHEAD);
    double read = ((double) problem.m() + problem.columns()) * problem.k() * dtype;
    long blocks = Math.ceilDiv(problem.m(), TILE) * problem.blocks(TILE);
    return machine.streaming(decoding.size(), bytes) + machine.microseconds(blocks, work, read);
  }
}
