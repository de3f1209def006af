package dev.athanor.ops.linear.simt;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.Variant;
import dev.athanor.ops.cost.BlockWork;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.linear.MatmulProblem;
import dev.athanor.ops.linear.Product;
import dev.athanor.ops.linear.ProductParameters;
import dev.athanor.ops.linear.ShareSumVariant;
import dev.athanor.ops.linear.simt.SimtTile.Unit;
import dev.athanor.ops.tile.Epilogue;
import dev.athanor.ops.tile.Operand;
import dev.athanor.ops.tile.Shares;
import dev.athanor.ops.tile.TensorTile.Instruction;
import java.util.ArrayList;
import java.util.List;

/** Offers the kernels for products without tensor cores, and those of f64. */
public final class SimtPlanner {

  /**
   * Tiles for f32. A thread with 8x8 accumulators needs 137 to 161 registers. A multiprocessor
   * holds three blocks of 128 such threads, so others multiply while one waits at a barrier. It
   * holds only one block of 256 threads with a tile of 128x128; limited to 128 registers, these
   * threads spill.
   */
  private static final List<SimtTile> SINGLE =
      List.of(
          new SimtTile(Unit.FMA, 128, 64, 8, 8, 8),
          new SimtTile(Unit.FMA, 64, 64, 16, 4, 4),
          new SimtTile(Unit.FMA, 32, 32, 16, 4, 4));

  /**
   * The tile for f32 that copies the fewest elements per product. Only emulators get it: a
   * multiprocessor of a GPU holds one block of it, see {@link #SINGLE}.
   */
  private static final SimtTile EMULATED = new SimtTile(Unit.FMA, 128, 128, 8, 8, 8);

  /** Tiles for f64, which takes two registers and two banks. */
  private static final List<SimtTile> DOUBLE =
      List.of(
          new SimtTile(Unit.MMA, 64, 64, 16, 32, 32),
          new SimtTile(Unit.MMA, 32, 32, 16, 16, 16),
          new SimtTile(Unit.FMA, 64, 64, 16, 4, 4),
          new SimtTile(Unit.FMA, 32, 32, 16, 4, 4));

  /** Maximum elements of c of a product that would waste a tensor-core tile. */
  private static final long TINY_RESULT = 64;

  /** Maximum K of such a product. */
  private static final int TINY_DEPTH = 16;

  /** The minimum bytes of a load from the L2 cache. */
  private static final int SECTOR = 32;

  /** Bytes per load from shared memory and thread. */
  private static final double READ_BYTES = 16;

  /** Maximum elements per load of a factor: with more, threads would have none. */
  private static final int CHUNK = 4;

  /** Registers per thread besides the accumulators. */
  private static final int OTHER_REGISTERS = 64;

  private final MatmulProblem problem;
  private final Capability device;
  private final Machine machine;
  private final Candidates candidates;

  private SimtPlanner(MatmulProblem problem, Capability device, Candidates candidates) {
    this.problem = problem;
    this.machine = Machine.of(device);
    this.device = device;
    this.candidates = candidates;
  }

  /**
   * Offers all kernels for a product that does not use {@linkplain #usesTensorCores tensor cores},
   * and the one without tiles for a {@linkplain #isTiny tiny} one of f16 or bf16.
   */
  public static void offer(MatmulProblem problem, Capability capability, Candidates candidates) {
    var planner = new SimtPlanner(problem, capability, candidates);
    if (isTiny(problem)) {
      planner.naive();
      return;
    }
    if (usesTensorCores(problem, capability)) {
      candidates.refuse("CUDA cores", problem.dtype().text() + " uses tensor cores");
      return;
    }
    if (problem.dtype() == DType.F32 && capability.isEmulated()) {
      planner.offer(EMULATED);
    }
    for (var tile : problem.dtype() == DType.F64 ? DOUBLE : SINGLE) {
      planner.offer(tile);
    }
    if (!problem.scaled()) {
      planner.naive();
    }
  }

  /**
   * Returns whether a product uses tensor cores: int8 on all devices, other types if the device has
   * instructions for them.
   */
  public static boolean usesTensorCores(MatmulProblem problem, Capability device) {
    var dtype = problem.dtype();
    return problem.onTensorCores() && (dtype == DType.I8 || Instruction.multiplies(dtype, device));
  }

  /** Returns whether a product of f16 or bf16 would leave most of a tensor-core tile empty. */
  public static boolean isTiny(MatmulProblem problem) {
    return (problem.dtype() == DType.F16 || problem.dtype() == DType.BF16)
        && (long) problem.m() * problem.n() <= TINY_RESULT
        && problem.k() <= TINY_DEPTH;
  }

  private void offer(SimtTile tile) {
    var product = Product.of(problem);
    var whole = variant(product, tile);
    long blocks = ProductParameters.blocks(problem, tile.m(), tile.n());
    if (whole(whole, tile.unit(), blocks, work(whole, problem.k())) && problem.groups().isEmpty()) {
      Shares.cheapest(
              Math.ceilDiv(problem.k(), tile.k()),
              blocks,
              device,
              shares -> microseconds(whole, blocks, shares))
          .ifPresent(shares -> split(variant(product.ofShares(), tile), whole, blocks, shares));
    }
  }

  /** Offers the kernel that reads all factors from global memory. */
  private void naive() {
    double warps = NaiveVariant.THREADS / (double) KernelBuilder.WARP;
    double steps = problem.k();
    // a warp reads a sector of one factor and all lanes of the other, and may miss the L1 cache
    double read = warps * steps * (SECTOR + KernelBuilder.WARP * problem.dtype().bytes());
    whole(
        new NaiveVariant(Product.of(problem)),
        Unit.FMA,
        ProductParameters.blocks(problem, NaiveVariant.TILE_M, NaiveVariant.TILE_N),
        new BlockWork(
            NaiveVariant.THREADS,
            OTHER_REGISTERS,
            0,
            // a step loads two factors, waits for them and increments the index
            Math.max(
                machine.issueCycles(4 * warps * steps),
                machine.laneCycles(NaiveVariant.THREADS * steps, type())),
            steps * Machine.BARRIER_CYCLES,
            read,
            2.0 * NaiveVariant.THREADS * problem.dtype().bytes()));
  }

  private Type type() {
    return Epilogue.type(problem.dtype());
  }

  /**
   * Returns the work of a block.
   *
   * @param depth the block's part of K
   */
  private BlockWork work(SimtVariant variant, int depth) {
    var tile = variant.tile();
    int bytes = problem.dtype().bytes();
    int widened = variant.product().sumType().bytes();
    int stages = Math.ceilDiv(depth, tile.k());
    double steps = (double) stages * tile.k();
    int sums = tile.m() * tile.n() / tile.threads();
    double stageBytes = (double) (tile.m() + tile.n()) * tile.k() * bytes;
    double copies = (double) tile.m() / variant.accessA() + (double) tile.n() / variant.accessB();
    double perStep =
        tile.unit() == Unit.FMA
            ? tile.threads() * (sums + (tile.partM() + tile.partN()) * widened / READ_BYTES)
            : 0;
    double instructions =
        steps * (perStep + copies * bytes * Machine.COPY_INSTRUCTIONS) / KernelBuilder.WARP;
    double multiplyAdds = tile.m() * tile.n() * steps;
    double multiplying =
        tile.unit() == Unit.MMA
            ? machine.tensorCycles(multiplyAdds, Type.F64)
            : machine.laneCycles(multiplyAdds, type());
    double out = (double) tile.m() * tile.n() * bytes;
    return new BlockWork(
        tile.threads(),
        OTHER_REGISTERS + sums * widened / Float.BYTES * 3 / 2,
        (int) (2 * stageBytes / bytes * widened),
        Math.max(multiplying, machine.issueCycles(instructions)),
        stages * Machine.BARRIER_CYCLES,
        stages * stageBytes + out,
        stageBytes);
  }

  private SimtVariant variant(Product product, SimtTile tile) {
    return new SimtVariant(
        product,
        tile,
        access(problem.leadingDimensionA()),
        access(problem.leadingDimensionB()),
        Operand.access(problem.n(), product.epilogue().out()));
  }

  /** Returns the bytes per load of a factor. */
  private int access(int leadingDimension) {
    int most = CHUNK * problem.dtype().bytes();
    return Math.min(most, Operand.access(leadingDimension, problem.dtype()));
  }

  /**
   * Offers a launch without split K.
   *
   * @param unit the unit that adds the products of a sum, in ascending K
   * @return whether the device can run it
   */
  private boolean whole(Variant variant, Unit unit, long blocks, BlockWork work) {
    if (unit == Unit.MMA && !candidates.runs(Target.SM_80, variant.name())) {
      return false;
    }
    if (blocks > Integer.MAX_VALUE) {
      candidates.refuse(
          variant.name(), "requires %d blocks; the limit is 2^31 - 1".formatted(blocks));
      return false;
    }
    var order =
        Product.of(problem)
            .name(
                "matmul", (unit == Unit.FMA ? "fma_" : "mma_") + Product.of(problem).transposes());
    var starts = problem.batch().starts();
    var steps =
        starts.stream()
            .map(start ->
                new Step(
                    variant,
                    Dim3.of((int) blocks),
                    work.threads(),
                    0,
                    ProductParameters.arguments(problem, start)))
            .toList();
    candidates.offer(
        variant.name(),
        order,
        starts.size() * microseconds(blocks, work),
        "%d blocks, %d per multiprocessor".formatted(blocks, machine.resident(work)),
        steps,
        0);
    return true;
  }

  /** Returns the bytes that a launch transfers from and to memory. */
  private double bytes() {
    return problem.cost().bytes() / Math.max(1, problem.batch().starts().size());
  }

  private double microseconds(long blocks, BlockWork work) {
    return device.isEmulated()
        ? machine.emulated(blocks, work)
        : machine.microseconds(blocks, work, bytes());
  }

  /** Returns the time of a split-K launch and of the launch that adds the partial sums. */
  private double microseconds(SimtVariant variant, long tiles, Shares shares) {
    var work = work(variant, shares.stages() * variant.tile().k());
    double results = (double) ProductParameters.elements(problem) * problem.outDType().bytes();
    return microseconds(tiles * shares.count(), work)
        + machine.sum(shares.count() * results, results, ShareSumVariant.rounds(shares.count()));
  }

  /** Offers a split-K launch and a launch that adds the partial sums. */
  private void split(SimtVariant first, SimtVariant whole, long tiles, Shares shares) {
    int depth = shares.stages() * first.tile().k();
    int count = Math.toIntExact(ProductParameters.elements(problem));
    var second = ShareSumVariant.of(problem.epilogue(), problem.n());
    long bytes = ShareSumVariant.workspaceBytes(problem.epilogue(), count, shares.count());
    var sums = new Slot.Workspace(0);
    var starts = problem.batch().starts();
    var steps = new ArrayList<Step>();
    for (var start : starts) {
      steps.add(
          new Step(
              first,
              Dim3.of((int) tiles, shares.count()),
              first.tile().threads(),
              0,
              ProductParameters.arguments(problem, start, sums, depth)));
      steps.add(
          second.step(
              sums,
              ProductParameters.c(problem, start),
              count,
              problem.n(),
              shares.count(),
              problem.alpha()));
    }
    candidates.offer(
        "%s_split%d".formatted(whole.name(), shares.count()),
        starts.size() * microseconds(whole, tiles, shares),
        "split-K with %d parts, %d blocks, and a second launch"
            .formatted(shares.count(), tiles * shares.count()),
        steps,
        bytes);
  }
}
