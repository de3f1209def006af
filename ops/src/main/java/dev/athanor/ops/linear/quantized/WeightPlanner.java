package dev.athanor.ops.linear.quantized;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.TensorMap.Element;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.DType;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.cost.BlockWork;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.linear.quantized.warpgroup.WeightProduct;
import dev.athanor.ops.linear.quantized.warpgroup.WeightTile;
import java.util.List;
import java.util.Optional;

/**
 * Offers products that multiply 4-bit or int8 weights from registers with {@code wgmma} (sm_90a).
 * Each product of a problem is a launch of the same kernel.
 *
 * @param projection the product of this launch
 * @param bytes that the launch transfers from and to memory
 */
record WeightPlanner(
    ProjectionProblem problem,
    ProjectionProblem.Projection projection,
    double bytes,
    Capability device,
    Machine machine) {

  private static final List<WeightTile> TILES =
      List.of(
          new WeightTile(128, 7, 2),
          new WeightTile(128, 7, 1),
          new WeightTile(64, 10, 2),
          new WeightTile(64, 10, 1));

  /** Bytes to which rows are aligned. */
  private static final int ALIGNMENT = 16;

  /** Registers of a thread before roles divide them. */
  private static final int REGISTERS = 168;

  /**
   * Offers a kernel for each tile.
   *
   * @param bytes that all products transfer from and to memory
   */
  static void offer(
      ProjectionProblem problem, double bytes, Capability device, Candidates candidates) {
    var machine = Machine.of(device);
    var launches =
        problem.projections().stream()
            .map(projection -> {
              double share = (double) projection.n() / problem.columns();
              return new WeightPlanner(problem, projection, share * bytes, device, machine);
            })
            .toList();
    for (var tile : TILES) {
      var variant = WeightVariant.of(tile, problem);
      if (candidates.runs(Target.SM_90A, variant.name())) {
        launches.stream()
            .flatMap(launch -> launch.refusal(variant).stream())
            .findFirst()
            .ifPresentOrElse(
                reason -> candidates.refuse(variant.name(), reason),
                () -> offer(variant, launches, candidates));
      }
    }
  }

  private static void offer(
      WeightVariant variant, List<WeightPlanner> launches, Candidates candidates) {
    int blocks = variant.tile().cluster();
    candidates.offer(
        variant.name(),
        variant.order(),
        launches.stream().mapToDouble(launch -> launch.microseconds(variant)).sum(),
        "%d persistent blocks for %d tiles, integer weights, scales applied to %s"
            .formatted(
                launches.stream().mapToLong(launch -> launch.clusters(variant)).max().orElse(0)
                    * blocks,
                launches.stream().mapToLong(launch -> launch.tiles(variant)).sum() * blocks,
                variant.packing().scaled() ? "the sums of groups" : "sums"),
        launches.stream().map(launch -> launch.step(variant)).toList(),
        0);
  }

  private Optional<String> refusal(WeightVariant variant) {
    var tile = variant.tile();
    long rows =
        (long) problem.k() * problem.in().bytes()
            | (long) projection.n() * problem.out().bytes()
            | variant.product().weights().rowBytes(problem.k(), projection.n());
    if (rows % ALIGNMENT != 0) {
      return Optional.of(
          "rows are aligned to %d bytes; the tensor memory accelerator requires %d"
              .formatted(Long.lowestOneBit(rows), ALIGNMENT));
    }
    int least = Integer.numberOfTrailingZeros(WeightTile.DEPTH);
    if (problem.groupShift() < least) {
      return Optional.of("groups are smaller than a stage of %d".formatted(WeightTile.DEPTH));
    }
    boolean isSmallest = tile.equals(TILES.getLast());
    boolean isHalfEmpty =
        problem.m() <= tile.rows() / 2 || projection.n() <= WeightTile.COLUMNS / 2 * tile.cluster();
    if (isHalfEmpty && !isSmallest) {
      return Optional.of("smaller tiles waste less of each block");
    }
    return Optional.empty();
  }

  private double microseconds(WeightVariant variant) {
    long grid = clusters(variant) * variant.tile().cluster();
    return machine.microseconds(grid, work(variant), bytes);
  }

  /** Returns the launch. */
  Step step(WeightVariant variant) {
    var tile = variant.tile();
    var product = variant.product();
    var grid = Dim3.of(Math.toIntExact(clusters(variant) * tile.cluster()));
    return new Step(variant, grid, tile.threads(), product.sharedBytes(), arguments(variant));
  }

  private long tiles(WeightVariant variant) {
    return variant.product().scheduler().tiles(projection.n(), problem.m());
  }

  /** Returns the tiles that a cluster computes one after another. */
  private long rounds(WeightVariant variant) {
    int resident = Math.max(1, device.multiprocessors() / variant.tile().cluster());
    return Math.ceilDiv(tiles(variant), resident);
  }

  /** Returns the fewest clusters that need no more rounds. */
  private long clusters(WeightVariant variant) {
    return Math.ceilDiv(tiles(variant), rounds(variant));
  }

  private BlockWork work(WeightVariant variant) {
    var tile = variant.tile();
    var product = variant.product();
    var type = product.mma().a();
    int weightBytes = product.weights().stageBytes();
    long rounds = rounds(variant);
    long stages = rounds * Math.ceilDiv(problem.k(), WeightTile.DEPTH);
    double weights = (double) WeightTile.COLUMNS * WeightTile.DEPTH;
    double area = (double) WeightTile.COLUMNS * tile.rows();
    double multiplied = machine.peakTensorCycles(area * WeightTile.DEPTH, type);
    double groups = (double) WeightTile.DEPTH / (1L << Math.min(problem.groupShift(), 30));
    double decoding = weights / 2 * product.weights().instructions(type);
    // a sum of a group is added and set to zero
    double decoded = machine.issueCycles((decoding + 2 * area * groups) / KernelBuilder.WARP);
    // rows of a are written once and read by both warpgroups
    double moved =
        machine.sharedCycles(
            3.0 * tile.rows() * SharedTile.ASYNC_ROW
                + (1.0 + product.weights().readers()) * weightBytes);
    double stored = area * problem.out().bytes();
    double copied = (double) tile.rows() * SharedTile.ASYNC_ROW / tile.cluster() + weightBytes;
    return new BlockWork(
        tile.threads(),
        REGISTERS,
        product.sharedBytes(),
        stages * Math.max(Math.max(multiplied, decoded), moved)
            + rounds * machine.sharedCycles(2 * stored),
        machine.latency(),
        stages * copied + rounds * stored,
        (tile.stages() - 1) * copied);
  }

  private Arguments arguments(WeightVariant variant) {
    var product = variant.product();
    int m = problem.m();
    int n = projection.n();
    int k = problem.k();
    var arguments =
        Arguments.NONE
            .with("a", new Slot.Tensor(Slot.input(problem.left()), product.tensorA(m, k)))
            .with(
                "weights",
                new Slot.Tensor(Slot.input(projection.weights()), product.weights().tensor(k, n)))
            .with(
                "c",
                new Slot.Tensor(
                    Slot.output(projection.output()),
                    WeightProduct.tensorC(element(problem.out()), m, n)))
            .with("m", m)
            .with("n", n)
            .with("k", k);
    var scales = Slot.input(projection.scales());
    arguments =
        problem.packing().scaled()
            ? arguments.with("groupShift", problem.groupShift()).with("scales", scales)
            : arguments.with("scale", scales);
    if (problem.packing().hasZeros()) {
      arguments = arguments.with("zeros", Slot.input(projection.zeros()));
    }
    return problem.epilogue().bias().isPresent()
        ? arguments.with("bias", Slot.input(projection.bias()))
        : arguments;
  }

  private static Element element(DType dtype) {
    return switch (dtype) {
      case F32 -> Element.F32;
      case F16 -> Element.F16;
      case BF16 -> Element.BF16;
      default -> throw new IllegalArgumentException(dtype.text());
    };
  }
}
