package dev.athanor.ops.linear;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.tile.Epilogue;
import dev.athanor.ops.tile.KRange;
import dev.athanor.ops.tile.TileScheduler;
import java.util.ArrayList;
import java.util.List;

/**
 * The parameters of a tiled product kernel: {@code a, b, c, m, n, k, lda, ldb}, those of {@link
 * BatchParameters}, {@code share, strideShare} and those of the epilogue. The first dimension of
 * the grid has a block for each tile of each product. Blocks along the second dimension share K:
 * each computes {@code share} of it, and writes its products {@code strideShare} elements after
 * those of the previous block.
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

  public ProductParameters(KernelBuilder k, Product product, int tileM, int tileN) {
    var firstA = k.input("a", product.type());
    var firstB = k.input("b", product.type());
    var firstC = k.pointer("c", product.outType());
    m = k.integer("m");
    n = k.integer("n");
    var depth = k.integer("k");
    lda = k.integer("lda");
    ldb = k.integer("ldb");
    var batch = new BatchParameters(k);
    var share = k.integer("share");
    var strideShare = k.wide("strideShare");
    epilogue = product.epilogue().declare(k);

    range = KRange.ofBlock(k, share, depth);
    tile = scheduler(tileM, tileN).tile(k, m, n);
    var matrices = batch.of(new BatchParameters.Matrices(firstA, firstB, firstC), tile.matrix());
    a = matrices.a();
    b = matrices.b();
    c = matrices.c().matrix(k.blockY(), strideShare);
  }

  /**
   * Returns the arguments up to those of {@link BatchParameters} for the products from {@code
   * start} on.
   *
   * @param c destination of the products
   */
  public static List<Slot> operands(MatmulProblem problem, Batch.Start start, Slot c) {
    return operands(problem, Source.ofA(problem), Source.ofB(problem), start, c);
  }

  /**
   * Returns the same arguments for factors that may be copies in the workspace.
   *
   * @param c destination of the products
   */
  public static List<Slot> operands(
      MatmulProblem problem, Source a, Source b, Batch.Start start, Slot c) {
    var slots =
        new ArrayList<>(
            List.of(
                a.slot(start.a()),
                b.slot(start.b()),
                c,
                Slot.of(problem.m()),
                Slot.of(problem.n()),
                Slot.of(problem.k()),
                Slot.of(a.leadingDimension()),
                Slot.of(b.leadingDimension())));
    slots.addAll(
        BatchParameters.slots(
            problem.batch(), a.matrix(), b.matrix(), (long) problem.m() * problem.n()));
    return slots;
  }

  /** Returns all arguments of a launch that does not split K, in the order of the parameters. */
  public static List<Slot> slots(MatmulProblem problem, Batch.Start start) {
    var slots = operands(problem, start, c(problem, start));
    slots.add(Slot.of(problem.k()));
    slots.add(Slot.of(0L));
    slots.addAll(problem.epilogue().slots(problem.alpha()));
    return slots;
  }

  /**
   * Returns all arguments of a launch that splits K and writes partial sums to {@code sums}.
   *
   * @param share depth of a block's share of K
   */
  public static List<Slot> slots(MatmulProblem problem, Batch.Start start, Slot sums, int share) {
    var slots = operands(problem, start, sums);
    slots.add(Slot.of(share));
    slots.add(Slot.of(elements(problem)));
    slots.addAll(problem.epilogue().ofShares().slots(1));
    return slots;
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
    return scheduler(tileM, tileN).tiles(problem.m(), problem.n())
        * problem.batch().productsPerLaunch();
  }

  private static TileScheduler scheduler(int tileM, int tileN) {
    return new TileScheduler(tileM, tileN, TileScheduler.Order.ROWS);
  }
}
