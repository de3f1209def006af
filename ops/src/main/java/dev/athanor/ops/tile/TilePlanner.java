package dev.athanor.ops.tile;

import dev.athanor.engine.author.OpaqueMatrix;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.DType;
import dev.athanor.ops.Step;
import dev.athanor.ops.Variant;
import dev.athanor.ops.cost.BlockWork;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.tile.TensorTile.Instruction;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * Chooses tiles for products {@code c[m, n] = a·b} with {@code mma.sync}, {@code wgmma} (sm_90a) or
 * {@code wmma} (f16 on devices with opaque fragments) and estimates their time. A block computes a
 * tile of c.
 *
 * @param k extent of the summation
 * @param products number of products per launch
 * @param device the device
 */
public record TilePlanner(
    int m, int n, int k, long products, Operand a, Operand b, Capability device) {

  /**
   * The shape of a tile. Its depth is in bytes, so that rows have the same number of chunks for all
   * dtypes.
   */
  private record TileShape(int m, int n, int depthBytes, int warpM, int warpN, int stages) {

    TensorTile tile(DType dtype) {
      return new TensorTile(m, n, depthBytes / dtype.bytes(), warpM, warpN, stages);
    }
  }

  private static final List<TileShape> SHAPES =
      List.of(
          new TileShape(128, 256, 64, 64, 64, 4),
          new TileShape(128, 128, 128, 64, 32, 3),
          new TileShape(128, 128, 64, 64, 32, 3),
          new TileShape(128, 64, 64, 64, 32, 4),
          new TileShape(64, 128, 64, 32, 64, 4),
          new TileShape(64, 64, 64, 32, 32, 3),
          new TileShape(32, 64, 64, 16, 32, 4),
          new TileShape(16, 128, 128, 16, 32, 4));

  /** The shape of a tile of warpgroups. */
  private record GroupShape(int m, int n, int stages) {

    /** Returns a tile whose stages have rows of 128 bytes, which {@code wgmma} reads. */
    TensorTile tile(DType dtype) {
      return TensorTile.ofGroups(m, n, SharedTile.ASYNC_ROW / dtype.bytes(), stages);
    }
  }

  private static final List<GroupShape> GROUP_SHAPES =
      List.of(new GroupShape(128, 256, 4), new GroupShape(128, 128, 5), new GroupShape(64, 128, 4));

  /** Elements of the smallest tiles, which are never rejected as too large. */
  private static final int SMALL = 2048;

  /** Maximum ratio of the area of other tiles to the area that they compute. */
  private static final int WASTE = 4;

  /** Registers of a thread that all kernels need: addresses, sizes, positions in the ring. */
  private static final int OTHER_REGISTERS = 48;

  /**
   * Maximum number of registers of a thread for promoted products. ptxas computes all products of a
   * stage before it adds the first, so they need registers besides those of the sums; more than
   * these spill.
   */
  private static final int PROMOTED_REGISTERS = 128;

  /** Instructions per {@code mma} if bytes are converted to f16 first. */
  private static final double WIDENED_INSTRUCTIONS = 3.5;

  /** The same where a sequence of integer instructions converts them. */
  private static final double DECODED_INSTRUCTIONS = 32;

  /** How many times the registers of a conversion such a sequence needs. */
  private static final int DECODING_REGISTERS = 4;

  /**
   * Instructions per product of 16x8x16 with {@code wmma}. Volta executes 16 for a product of
   * 16x16x16 (Raihan et al., Modeling Deep Learning Accelerator Enabled GPUs, arXiv 1811.08309);
   * the rest is its share of the fragment loads.
   */
  private static final double OPAQUE_INSTRUCTIONS = 9;

  /** Lanes that hold each element of a factor of {@code wmma}. */
  private static final int OPAQUE_COPIES = 2;

  /** Instructions per piece that moves through registers. */
  private static final double ELEMENT_INSTRUCTIONS = 6;

  /**
   * Returns the products of all tiles that suit the matrices and the device. Rejects the others
   * with a reason.
   *
   * @param name returns the name of the kernel that computes a tile
   */
  public List<TileProduct> tiles(Candidates candidates, Function<TileProduct, String> name) {
    var suitable = new ArrayList<TileProduct>();
    var tiles = new ArrayList<TensorTile>();
    if (suitsGroups()) {
      GROUP_SHAPES.forEach(shape -> tiles.add(shape.tile(a.dtype())));
    }
    var ofWarp = Instruction.ofWarp(a.dtype(), device);
    SHAPES.forEach(shape -> tiles.add(shape.tile(a.dtype()).with(ofWarp)));
    for (var tile : tiles) {
      var product = TileProduct.of(tile, a, b, isOfGroups(tile) ? Factors.PLAIN : factors());
      var kernel = name.apply(product);
      if (!isOfGroups(tile) || candidates.runs(Target.SM_90A, kernel)) {
        refusal(product)
            .ifPresentOrElse(
                reason -> candidates.refuse(kernel, reason), () -> suitable.add(product));
      }
    }
    return suitable;
  }

  private static boolean isOfGroups(TensorTile tile) {
    return tile.instruction() == Instruction.WGMMA;
  }

  /**
   * fp8 is left to {@code mma.sync}: {@code wgmma} adds it with 13 fraction bits, and sums of one
   * sign that are promoted every 128 along K would have a relative error of 1.5e-3.
   */
  private boolean suitsGroups() {
    return a.dtype() == DType.F16 || a.dtype() == DType.BF16;
  }

  private Factors factors() {
    var target = device.target();
    boolean multipliesFp8 = target.sm() == 89 || target.sm() >= 120;
    return isFp8() && !multipliesFp8 ? Factors.WIDENED : Factors.PLAIN;
  }

  /** Returns whether the device has an instruction that converts fp8 to f16. */
  public boolean convertsFp8() {
    return device.target().sm() >= 89;
  }

  private boolean isFp8() {
    return a.dtype() == DType.E4M3 || a.dtype() == DType.E5M2;
  }

  private Optional<String> refusal(TileProduct product) {
    var tile = product.tile();
    long area = (long) tile.m() * tile.n();
    if (area > SMALL && area > WASTE * upTo16(m) * upTo16(n)) {
      return Optional.of("smaller tiles waste less of each block");
    }
    if (isOfGroups(tile) && access() < Operand.MOST_BYTES) {
      return Optional.of(
          "rows are aligned to %d bytes; warpgroups require %d"
              .formatted(access(), Operand.MOST_BYTES));
    }
    var mma = product.mma();
    if (mma.hasReducedAccumulatorPrecision()
        && tile.warpM() * tile.warpN() / 32 * (tile.k() / mma.k()) > PROMOTED_REGISTERS) {
      return Optional.of(
          "too few registers to promote fp8 sums every %d elements along K".formatted(mma.k()));
    }
    int registers = registers(product);
    if (registers > Machine.MOST_REGISTERS) {
      return Optional.of(
          "with rows aligned to %d bytes, requires about %d registers per thread on %s; the maximum is %d"
              .formatted(access(), registers, device.target(), Machine.MOST_REGISTERS));
    }
    if (blocks(tile) > Integer.MAX_VALUE) {
      return Optional.of("requires %d blocks; the limit is 2^31 - 1".formatted(blocks(tile)));
    }
    return Optional.empty();
  }

  private static long upTo16(int extent) {
    return Math.ceilDiv(extent, 16) * 16L;
  }

  private int access() {
    return Math.min(a.access(), b.access());
  }

  /**
   * Estimates the registers that a thread needs without spilling: its sums, the fragments of this
   * step and the next, one more set of fragments for single bytes, and for each piece that it moves
   * an address and, through registers, the piece. A long epilogue may need more.
   */
  public int registers(TileProduct product) {
    var tile = product.tile();
    int moved = moved(product.a(), a, tile) + moved(product.b(), b, tile);
    int sums = tile.warpM() * tile.warpN() / 32;
    int fragments =
        switch (tile.instruction()) {
          case MMA -> tile.warpM() / 16 * 4 + tile.warpN() / 8 * 2;
          case WGMMA -> 0;
          case WMMA -> (tile.warpM() + tile.warpN()) / OpaqueMatrix.SIZE * OpaqueMatrix.REGISTERS;
        };
    int held = tile.instruction() == Instruction.WMMA ? 1 : 2;
    int widened = product.factors() == Factors.WIDENED ? tile.warpN() / 8 * 4 + 8 : 0;
    widened *= convertsFp8() ? 1 : DECODING_REGISTERS;
    if (isFp8() && access() < MatrixStaging.LEAST_COPY) {
      held++; // single bytes, which asynchronous copies cannot move
    }
    return sums + held * fragments + widened + moved + OTHER_REGISTERS;
  }

  /** Returns the registers of the pieces of a stage that a thread moves. */
  private static int moved(Stage stage, Operand operand, TensorTile tile) {
    boolean held =
        operand.access() >= MatrixStaging.LEAST_COPY
            && !MatrixStaging.isAsynchronous(stage, operand.access());
    return MatrixStaging.pieces(stage, operand.access(), tile.threads())
        * (2 + (held ? operand.access() / Type.B32.bytes() : 0));
  }

  /** Returns the number of blocks that compute all products. */
  public long blocks(TensorTile tile) {
    return TileScheduler.of(tile).tiles(m, n) * products;
  }

  /**
   * Returns the launch of a kernel whose blocks compute all of K and store c.
   *
   * @param out the dtype of c
   */
  public Step step(Variant kernel, TileProduct product, DType out, Arguments arguments) {
    var tile = product.tile();
    var grid = Dim3.of(Math.toIntExact(blocks(tile)));
    return new Step(kernel, grid, tile.threads(), product.sharedBytes(out), arguments);
  }

  /** Returns the number of stages of K. */
  public int stages(TensorTile tile) {
    return Math.ceilDiv(k, tile.k());
  }

  /**
   * Returns the work of a block.
   *
   * @param stages number of stages that it multiplies
   * @param out the dtype that it stores
   */
  public BlockWork work(TileProduct product, int stages, DType out) {
    var machine = Machine.of(device);
    var tile = product.tile();
    var mma = product.mma();
    double multiplyAdds = (double) tile.m() * tile.n() * tile.k();
    double products = multiplyAdds / (mma.m() * mma.n() * mma.k());
    boolean widened = product.factors() == Factors.WIDENED;
    double copies = tile.warps() * (copies(product.a(), a, tile) + copies(product.b(), b, tile));
    double fragments =
        (double) tile.warps() * (tile.warpM() + tile.warpN()) * tile.k() * a.dtype().bytes();
    double stored = stored(product.a(), a, tile) + stored(product.b(), b, tile);
    double ofMma =
        products
            * (!widened
                ? Machine.MMA_INSTRUCTIONS
                : convertsFp8() ? WIDENED_INSTRUCTIONS : DECODED_INSTRUCTIONS);
    double area = (double) tile.m() * tile.n();
    double written = area * out.bytes();
    double others =
        switch (tile.instruction()) {
          case MMA ->
              Math.max(
                  machine.issueCycles(ofMma + copies), machine.sharedCycles(stored + fragments));
          case WGMMA -> machine.issueCycles(copies);
          case WMMA ->
              Math.max(
                  machine.issueCycles(products * OPAQUE_INSTRUCTIONS + copies),
                  machine.sharedCycles(stored + OPAQUE_COPIES * fragments));
        };
    double busy = Math.max(tile.tensorCycles(machine, multiplyAdds, mma.a()), others);
    // shared memory reorders sums before the epilogue
    double reordered = tile.instruction() == Instruction.WMMA ? 2 * area * Float.BYTES : 0;
    // rows and columns outside the matrices are not read
    double stageRead =
        (double) tile.k()
            * (Math.min(tile.m(), m) * a.dtype().bytes()
                + Math.min(tile.n(), n) * b.dtype().bytes());
    boolean copied = access() >= MatrixStaging.LEAST_COPY;
    return new BlockWork(
        tile.threads(),
        Math.min(Machine.MOST_REGISTERS, registers(product)),
        product.sharedBytes(out),
        stages * busy + machine.sharedCycles(reordered + written),
        stages * Machine.BARRIER_CYCLES,
        stages * stageRead + written,
        // copies fill the ring ahead; registers hold one stage
        copied ? (tile.stages() - 1) * stageRead : stageRead);
  }

  /** Returns the instructions of a warp that copy a stage of an operand. */
  private static double copies(Stage stage, Operand operand, TensorTile tile) {
    return MatrixStaging.pieces(stage, operand.access(), tile.threads())
        * (MatrixStaging.isAsynchronous(stage, operand.access())
            ? Machine.COPY_INSTRUCTIONS
            : ELEMENT_INSTRUCTIONS);
  }

  /**
   * Returns the shared-memory traffic of copying a stage of an operand, in bytes: those of the
   * stage, or a whole wavefront for each load and store of a warp if elements move through
   * registers.
   */
  private static double stored(Stage stage, Operand operand, TensorTile tile) {
    if (operand.access() >= MatrixStaging.LEAST_COPY) {
      return stage.elementBytes();
    }
    int pieces = MatrixStaging.pieces(stage, operand.access(), tile.threads());
    return 2 * Machine.WAVEFRONT * pieces * tile.warps();
  }

  /**
   * Estimates the time of a launch whose blocks compute all of K.
   *
   * @param out the dtype of c
   */
  public double microseconds(TileProduct product, DType out) {
    double bytes =
        (double) products
            * (((double) m * a.dtype().bytes() + (double) n * b.dtype().bytes()) * k
                + (double) m * n * out.bytes());
    var work = work(product, stages(product.tile()), out);
    return Machine.of(device).microseconds(blocks(product.tile()), work, bytes);
  }
}
