package dev.athanor.ops.linear.dense;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Type;
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
import dev.athanor.ops.Rows;
import dev.athanor.ops.Shape;
import dev.athanor.ops.Step;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.cost.BlockWork;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.linear.ProductDescription;
import dev.athanor.ops.linear.dense.LayerNormLinearVariant.Vectors;
import dev.athanor.ops.move.Neutral;
import dev.athanor.ops.problem.BoundInputs;
import dev.athanor.ops.problem.Checks;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import dev.athanor.ops.reference.TensorReader;
import dev.athanor.ops.tile.Epilogue;
import dev.athanor.ops.tile.TensorTile;
import dev.athanor.ops.tile.TensorTile.Instruction;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongToDoubleFunction;
import java.util.random.RandomGenerator;
import java.util.stream.DoubleStream;

/** A layer norm followed by a linear layer. */
public final class LayerNormLinear implements SampledOp {

  private static final Set<DType> DTYPES = Set.of(DType.F32, DType.F16, DType.BF16);

  /** Tiles of c and of a warp, the largest first. */
  private static final int[][] SHAPES = {{128, 128, 64, 32}, {64, 64, 32, 32}, {16, 64, 16, 16}};

  private static final int DEPTH = 64;
  private static final int STAGES = 3;

  /** Registers per thread besides the accumulators. */
  private static final int OTHER_REGISTERS = 64;

  /** The maximum ratio of a tile's size to its useful part. */
  private static final int WASTE = 4;

  private static final OpDescription DESCRIPTION =
      new OpDescription(
          "layer-norm-linear",
          "Applies layer normalization to each row, then a linear layer, in one launch.",
          List.of(
              new Input("x", "[…, K]", DTYPES, false, "the input rows"),
              new Input(
                      "gamma",
                      "[K]",
                      DTYPES,
                      true,
                      "scale factor of each column after normalization; default 1")
                  .like("x", DType.F32),
              new Input(
                      "beta", "[K]", DTYPES, true, "offset of each column after scaling; default 0")
                  .like("gamma"),
              new Input(
                      "w",
                      "[N, K]",
                      DTYPES,
                      false,
                      "the weights of the linear layer, one row per column of y")
                  .like("x"),
              new Input(
                      "bias",
                      "[N]",
                      DTYPES,
                      true,
                      "the bias of the linear layer, added to each row of y")
                  .like("x", DType.F32)),
          List.of(Attribute.number("epsilon", 1e-5, "added to the variance").from(0, 1e30)),
          List.of(Output.of("y", "[…, N]", "same as x", "the output of the linear layer")),
          "y = ((x − mean) / sqrt(variance + epsilon) · gamma + beta)·wᵀ + bias, with"
              + " mean and variance of each row, accumulated in f32",
          "2·M·N·K + 8·M·K");

  @Override
  public OpDescription description() {
    return DESCRIPTION;
  }

  private record Problem(
      DType dtype, Shape rows, int m, int n, int k, Vectors vectors, float epsilon) {

    TensorType output() {
      return new TensorType(dtype, rows.with(n));
    }

    Arguments arguments() {
      var arguments =
          Arguments.ofInputs("x", "w")
              .outputs("y")
              .with("m", m)
              .with("n", n)
              .with("k", k)
              .with("epsilon", epsilon);
      arguments = vectors.gamma().isPresent() ? arguments.inputs("gamma") : arguments;
      arguments = vectors.beta().isPresent() ? arguments.inputs("beta") : arguments;
      return vectors.bias().isPresent() ? arguments.inputs("bias") : arguments;
    }
  }

  private static Problem problem(Map<String, TensorType> inputs, Attributes attributes) {
    var call = BoundInputs.of(DESCRIPTION, inputs, attributes);
    var x = call.type("x");
    var w = call.type("w");
    int k = Checks.requireExtent("x", x, call.extent("K"));
    int n = Checks.requireExtent("w", w, call.extent("N"));
    var rows = x.shape().leading(1);
    int m = Checks.requireExtent("x", x, rows.elements());
    var vectors = new Vectors(dtype(call, "gamma"), dtype(call, "beta"), dtype(call, "bias"));
    return new Problem(x.dtype(), rows, m, n, k, vectors, (float) attributes.number("epsilon"));
  }

  private static Optional<DType> dtype(BoundInputs call, String input) {
    return Optional.of(input).filter(call::has).map(call::dtype);
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    return Map.of("y", problem(inputs, attributes).output());
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
    var candidates = new Candidates("layer-norm-linear", capability);
    if (problem.dtype == DType.F32 || !Instruction.multiplies(problem.dtype, capability)) {
      offerFma(problem, candidates, capability);
    } else {
      for (var shape : SHAPES) {
        offerTensor(problem, shape, candidates, capability);
      }
    }
    var outputs = Map.of("y", problem.output());
    double flops = 2.0 * problem.m * problem.n * problem.k + 8.0 * problem.m * problem.k;
    return candidates.plans(outputs, Plan.Cost.of(flops, inputs, outputs));
  }

  private static void offerFma(Problem problem, Candidates candidates, Capability device) {
    var variant = new LayerNormLinearVariant.Fma(problem.dtype, problem.vectors);
    int tile = LayerNormLinearVariant.Fma.TILE;
    double multiplyAdds = (double) tile * tile * problem.k;
    double multiplying = Machine.of(device).laneCycles(multiplyAdds, Type.F32);
    int threads = LayerNormLinearVariant.Fma.THREADS;
    offer(problem, variant, tile, tile, threads, 0, multiplying, candidates, device);
  }

  private static void offerTensor(
      Problem problem, int[] shape, Candidates candidates, Capability device) {
    var tile =
        new TensorTile(shape[0], shape[1], DEPTH, shape[2], shape[3], STAGES)
            .with(Instruction.ofWarp(problem.dtype, device));
    int bytes = problem.dtype.bytes();
    var variant =
        new LayerNormLinearVariant.Tensor(
            problem.dtype,
            tile,
            problem.k % 8 == 0 ? 8 : 1,
            (int) Math.min(16, Long.lowestOneBit((long) problem.k * bytes)),
            (int) Math.min(16, Long.lowestOneBit((long) problem.n * bytes)),
            problem.vectors);
    boolean smallest = Arrays.equals(shape, SHAPES[SHAPES.length - 1]);
    long useful = Math.ceilDiv(problem.m, 16) * 16L * Math.ceilDiv(problem.n, 16) * 16L;
    if (!smallest && (long) tile.m() * tile.n() > WASTE * useful) {
      candidates.refuse(variant.name(), "smaller tiles waste less of each block");
      return;
    }
    if (!smallest && variant.vector() == 1) {
      candidates.refuse(
          variant.name(), "rows are loaded element by element and need too many registers");
      return;
    }
    offer(
        problem,
        variant,
        tile.m(),
        tile.n(),
        tile.threads(),
        variant.sharedBytes(),
        tile.tensorCycles(
            Machine.of(device),
            (double) tile.m() * tile.n() * problem.k,
            Epilogue.type(problem.dtype)),
        candidates,
        device);
  }

  /**
   * Offers a kernel.
   *
   * @param multiplying cycles of the multiply-adds of a block
   */
  private static void offer(
      Problem problem,
      LayerNormLinearVariant variant,
      int tileM,
      int tileN,
      int threads,
      int shared,
      double multiplying,
      Candidates candidates,
      Capability device) {
    int across = Math.ceilDiv(problem.n, tileN);
    int down = Math.ceilDiv(problem.m, tileM);
    var machine = Machine.of(device);
    int bytes = problem.dtype.bytes();
    // the rows are read a second time for their statistics
    double read = (2.0 * tileM + tileN) * problem.k * bytes;
    var work =
        new BlockWork(
            threads,
            OTHER_REGISTERS + 2 * tileM * tileN / threads,
            shared,
            Math.max(multiplying, machine.sharedCycles(read)),
            Math.ceilDiv(problem.k, DEPTH) * Machine.BARRIER_CYCLES,
            read + (double) tileM * tileN * bytes,
            (STAGES - 1.0) * (tileM + tileN) * DEPTH * bytes);
    double all =
        ((double) problem.m * problem.k + (double) problem.n * problem.k) * bytes
            + problem.output().bytes();
    long blocks = (long) across * down;
    candidates.offer(
        variant.name(),
        // a warp computes the statistics of a row, whatever the tile
        "layer_norm_linear_" + problem.dtype.text(),
        machine.microseconds(blocks, work, all),
        "%d blocks, %d per multiprocessor".formatted(blocks, machine.resident(work)),
        List.of(new Step(variant, new Dim3(across, down, 1), threads, shared, problem.arguments())),
        0);
  }

  @Override
  public Optional<Rows> rows(Map<String, TensorType> inputs, Attributes attributes) {
    return Objects.requireNonNull(inputs.get("x")).shape().rank() < 2
        ? Optional.empty()
        : Optional.of(new Rows(Set.of("x"), true));
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var p = problem(HostTensor.types(inputs), attributes);
    var x = TensorReader.of(inputs, "x");
    var gamma = TensorReader.of(inputs, "gamma", 1);
    var beta = TensorReader.of(inputs, "beta", 0);
    var w = TensorReader.of(inputs, "w");
    var bias = TensorReader.of(inputs, "bias", 0);
    ReferenceOutput.Sample y =
        indices -> {
          var values = new double[indices.length];
          long normalized = -1;
          var row = new double[0];
          for (int each = 0; each < values.length; each++) {
            long i = indices[each] / p.n;
            long j = indices[each] % p.n;
            if (i != normalized) {
              normalized = i;
              row = normalize(x.get(i * p.k, p.k), gamma, beta, attributes.number("epsilon"));
            }
            double sum = bias.applyAsDouble(j);
            for (int k = 0; k < p.k; k++) {
              sum += row[k] * w.get(j * p.k + k);
            }
            values[each] = sum;
          }
          return values;
        };
    return Map.of("y", new ReferenceOutput((long) p.m * p.n, y));
  }

  private static double[] normalize(
      double[] x, LongToDoubleFunction gamma, LongToDoubleFunction beta, double epsilon) {
    double mean = DoubleStream.of(x).map(v -> v / x.length).sum();
    double variance = DoubleStream.of(x).map(v -> (v - mean) * (v - mean) / x.length).sum();
    double deviation = Math.sqrt(variance + epsilon);
    var normal = new double[x.length];
    for (int k = 0; k < x.length; k++) {
      normal[k] = (x[k] - mean) / deviation * gamma.applyAsDouble(k) + beta.applyAsDouble(k);
    }
    return normal;
  }

  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    return ProductDescription.tolerance(dtype, problem(inputs, attributes).k);
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    var draw = new Draw(random);
    var cases = new ArrayList<Case>();
    // M, N, K
    var sizes =
        quick
            ? new int[][] {{17, 19, 40}}
            : new int[][] {{1, 1, 1}, {17, 19, 31}, {65, 33, 100}, {33, 72, 128}, {100, 130, 72}};
    for (var dtype : List.of(DType.F32, DType.F16, DType.BF16)) {
      int turn = 0;
      for (var size : sizes) {
        int k = size[2];
        var inputs = new HashMap<String, HostTensor>();
        inputs.put("x", draw.normal(1, 2, TensorType.of(dtype, size[0], k)));
        inputs.put("gamma", draw.normal(dtype, k));
        inputs.put("beta", draw.normal(dtype, k));
        inputs.put("w", draw.normal(dtype, size[1], k));
        if (turn++ % 2 == 1) {
          inputs.put("bias", draw.normal(dtype, size[1]));
        }
        cases.add(made(inputs, turn % 2 == 0 ? 1e-5 : 1e-3, dtype, k));
      }
      // f32 vectors, some of them omitted; K = 72 is loaded in vectors, K = 31 is not
      for (var given :
          List.of(
              Set.of("gamma", "beta", "bias"), Set.of("gamma"), Set.of("beta"), Set.of("bias"))) {
        int k = turn++ % 2 == 0 ? 72 : 31;
        var inputs = new HashMap<String, HostTensor>();
        inputs.put("x", draw.normal(1, 2, TensorType.of(dtype, 17, k)));
        inputs.put("w", draw.normal(dtype, 19, k));
        for (var vector : given) {
          inputs.put(vector, draw.normal(DType.F32, vector.equals("bias") ? 19 : k));
        }
        cases.add(made(inputs, 1e-5, dtype, k));
      }
    }
    return cases;
  }

  private static Case made(Map<String, HostTensor> inputs, double epsilon, DType dtype, int k) {
    return new Case(
        inputs,
        Attributes.of(DESCRIPTION, Map.of("epsilon", epsilon)),
        Map.of("y", ProductDescription.tolerance(dtype, k)));
  }
}
