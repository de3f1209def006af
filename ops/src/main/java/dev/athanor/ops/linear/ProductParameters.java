package dev.athanor.ops.linear;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.tile.BlockScales;
import dev.athanor.ops.tile.Epilogue;
import dev.athanor.ops.tile.KRange;
import dev.athanor.ops.tile.TileScheduler;
import java.util.Optional;

/**
 * The parameters of a tiled product kernel: {@code a, b, c, m, n, k, lda, ldb}, those of {@link
 * BatchParameters}, {@code share, strideShare}, those of {@link BlockScales} and of the epilogue.
 * The first dimension of the grid has a block for each tile of each product. Blocks along the
 * second dimension share K: each computes {@code share} of it, and writes its products {@code
 * strideShare} elements after those of the previous block.
 */
public final class ProductParameters {
  public final GlobalPointer a;
  public final GlobalPointer b;
  public final GlobalPointer c;
  public final Int m;
  public final Int n;
  public final Int lda;
  public final Int ldb;

  /** The block's part of K. */
  public final KRange range;

  /** The block's tile of c. */
  public final TileScheduler.Tile tile;

  /** The epilogue of the accumulators. */
  public final Epilogue.Applied epilogue;

  /** The scales of the factors, if they have some. */
  public final Optional<BlockScales> scales;

  private final KernelBuilder k;
  private final TileScheduler shape;
  private final ProductTile located;

  public ProductParameters(KernelBuilder k, Product product, int tileM, int tileN) {
    this.k = k;
    var firstA = k.input("a", product.type());
    var firstB = k.input("b", product.typeB());
    var firstC = k.pointer("c", product.outType());
    var rows = k.integer("m");
    n = k.integer("n");
    var depth = k.integer("k");
    lda = k.integer("lda");
    ldb = k.integer("ldb");
    var locator = TileLocator.declare(k, product.grouped());
    var share = k.integer("share");
    var strideShare = k.wide("strideShare");
    scales = product.scaled() ? Optional.of(BlockScales.declare(k, depth)) : Optional.empty();
    var ofAll = product.epilogue().declare(k);

    range = KRange.ofBlock(k, share, depth);
    shape = scheduler(tileM, tileN);
    located = locator.locate(new BatchParameters.Matrices(firstA, firstB, firstC), shape, rows, n);
    m = located.m();
    tile = located.tile();
    epilogue = located.epilogue(ofAll, n);
    var matrices = located.matrices();
    a = matrices.a();
    b = matrices.b();
    c = matrices.c().matrix(k.blockY(), strideShare);
  }

  /**
   * Computes the tile, or fills it with zeros if its rows belong to no group.
   *
   * @param threads of the block
   */
  public void compute(int threads, Runnable product) {
    located.compute(k, shape, threads, n, product);
  }

  /**
   * Returns the arguments up to those of {@link TileLocator} for the products from {@code start}
   * on.
   *
   * @param a the left factor, which may be a copy in the workspace
   * @param b the right factor, which may be a copy in the workspace
   * @param c destination of the products
   */
  public static Arguments operands(
      MatmulProblem problem, Source a, Source b, Batch.Start start, Slot c) {
    return problem
        .groups()
        .map(groups -> groups.arguments(b.matrix()))
        .orElseGet(() ->
            BatchParameters.arguments(
                problem.batch(), a.matrix(), b.matrix(), (long) problem.m() * problem.n()))
        .with("a", a.slot(start.a()))
        .with("b", b.slot(start.b()))
        .with("c", c)
        .with("m", problem.groups().map(Groups::rows).orElse(problem.m()))
        .with("n", problem.n())
        .with("k", problem.k())
        .with("lda", a.leadingDimension())
        .with("ldb", b.leadingDimension());
  }

  private static Arguments operands(
      MatmulProblem problem, Batch.Start start, Slot c, int share, long strideShare) {
    return operands(problem, Source.ofA(problem), Source.ofB(problem), start, c)
        .with("share", share)
        .with("strideShare", strideShare)
        .with(problem.scales());
  }

  /** Returns all arguments of a launch that does not split K. */
  public static Arguments arguments(MatmulProblem problem, Batch.Start start) {
    return operands(problem, start, c(problem, start), problem.k(), 0)
        .with(problem.epilogue().arguments(problem.alpha()));
  }

  /**
   * Returns all arguments of a launch that splits K and writes partial sums to {@code sums}.
   *
   * @param share depth of a block's share of K
   */
  public static Arguments arguments(
      MatmulProblem problem, Batch.Start start, Slot sums, int share) {
    return operands(problem, start, sums, share, elements(problem))
        .with(problem.epilogue().ofShares().arguments(1));
  }

  /** Returns the destination of the products from {@code start} on. */
  public static Slot c(MatmulProblem problem, Batch.Start start) {
    long matrix = (long) problem.m() * problem.n();
    return new Slot.Output("c", start.c() * matrix * problem.outDType().bytes());
  }

  /** Returns the elements of c that a launch computes. */
  public static long elements(MatmulProblem problem) {
    return problem.batch().productsPerLaunch() * problem.m() * problem.n();
  }

  /** Returns the number of blocks for a tile size. */
  public static long blocks(MatmulProblem problem, int tileM, int tileN) {
    long across = Math.ceilDiv(problem.n(), tileN);
    return problem
        .groups()
        .map(groups -> groups.tiles(tileM) * across)
        .orElseGet(
            () -> Math.ceilDiv(problem.m(), tileM) * across * problem.batch().productsPerLaunch());
  }

  private static TileScheduler scheduler(int tileM, int tileN) {
    return new TileScheduler(tileM, tileN, TileScheduler.Order.ROWS);
  }
}
