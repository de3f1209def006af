package dev.athanor.ops.tile;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.MatrixFragment;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * The loop over K of a product on tensor cores. Stages of a and b lie in a ring in shared memory
 * and are brought there while earlier ones are multiplied; within a stage the fragments of the next
 * step are read while those of this one are multiplied.
 *
 * <p>Sums of fp8 are promoted to f32 after every instruction, that is every 32 of K, because Ada's
 * tensor cores keep 13 bits of them. Promotion every 128 of K, as DeepGEMM does it for wgmma, needs
 * a second set of sums and leaves an error of 1.1e-3 where all products have one sign and their
 * magnitudes differ widely; every 32, the same error is 3e-4. Sums of {@linkplain Factors#SPLIT
 * split} factors are promoted after every stage, because tensor cores truncate: on Ampere, sums of
 * one sign would err by 2.7e-4 of themselves over a K of 16384. (After every instruction, ptxas
 * would need twice the registers.) Where groups of b have {@linkplain GroupScales scales}, their
 * sums are multiplied with them as they are promoted.
 *
 * @param shared the dynamic shared memory of the block: {@link TileProduct#sharedBytes}
 */
public record TensorMatmul(KernelBuilder k, SharedTile shared, TileProduct product) {

  /**
   * A matrix that is multiplied, in global memory.
   *
   * @param first its first element
   * @param leadingDimension elements from one row, as it is stored, to the next
   * @param extent rows of a, or columns of b
   * @param depth K
   * @param access bytes that a copy may move at once, see {@link Operand#access}
   */
  public record Source(
      GlobalPointer first, Int leadingDimension, Int extent, Int depth, int access) {}

  /**
   * The matrix that is written.
   *
   * @param c its first element; rows are {@code n} elements apart
   * @param m number of rows
   * @param n number of columns
   * @param access bytes that may be written at once, see {@link Operand#access}
   */
  public record Destination(GlobalPointer c, Int m, Int n, int access) {}

  /** Returns the first row that this warp computes, within the tile. */
  public Int warpRow() {
    var tile = product.tile();
    return k.warp().div(tile.n() / tile.warpN()).times(tile.warpM());
  }

  /** Returns the first column that this warp computes, within the tile. */
  public Int warpColumn() {
    var tile = product.tile();
    return k.warp().rem(tile.n() / tile.warpN()).times(tile.warpN());
  }

  /**
   * Copies stages of a, zeros beyond its ends.
   *
   * @param row the first row of the tile in c
   */
  public Staging stagingA(Source matrix, Int row) {
    return new MatrixStaging(k, shared, product.a(), matrix, row, product.tile().threads());
  }

  /**
   * Copies stages of b, zeros beyond its ends.
   *
   * @param column the first column of the tile in c
   */
  public Staging stagingB(Source matrix, Int column) {
    return new MatrixStaging(k, shared, product.b(), matrix, column, product.tile().threads());
  }

  /** Multiplies the rows and columns of a tile over all of K. */
  public WarpSums multiply(Source a, Source b, Place place) {
    return multiply(stagingA(a, place.row()), stagingB(b, place.column()), k.integer(0), a.depth());
  }

  /**
   * Multiplies a part of K. When this ends no copy is under way, and once all threads have come to
   * a barrier shared memory is free.
   *
   * @param from the first of K
   * @param to behind the last of K
   * @return the sums of the warp
   */
  public WarpSums multiply(Staging stagingA, Staging stagingB, Int from, Int to) {
    return multiply(stagingA, stagingB, Optional.empty(), from, to);
  }

  /**
   * Multiplies, and applies the scales of groups of b to sums.
   *
   * @see #multiply(Staging, Staging, Int, Int)
   */
  public WarpSums multiply(
      Staging stagingA, Staging stagingB, Optional<GroupScales> scales, Int from, Int to) {
    var tile = product.tile();
    var mma = product.mma();
    int promoted =
        scales.map(GroupScales::depth).orElse(product.factors() == Factors.SPLIT ? tile.k() : 0);
    var ofWarp = WarpProduct.of(k, product);
    var sums = new WarpSums(k, tile, mma);
    int stageBytes = product.stageBytes();
    int ahead = Ring.ahead(tile.stages());
    for (int stage = 0; stage < ahead; stage++) {
      fill(stagingA, stagingB, k.integer(stage * stageBytes), from.plus(stage * tile.k())).run();
    }
    var ring = new Ring(k, tile.stages(), stageBytes);
    ring.await();
    var first = fragments(ring.full(), 0).variables(k);
    k.loop(
        from,
        to,
        tile.k(),
        depth -> {
          var rest = fill(stagingA, stagingB, ring.free(), depth.plus(ahead * tile.k()));
          var now = first;
          var part = sums;
          List<Value> scalesOfPart = List.of();
          for (int step = 0; step < tile.k(); step += ofWarp.depth()) {
            int end = step + ofWarp.depth();
            if (promoted > 0 && step % promoted == 0) {
              part = new WarpSums(k, tile, mma);
              scalesOfPart = load(scales, depth.plus(step));
            }
            if (end == tile.k()) {
              ring.advance(rest);
            }
            var next = fragments(ring.full(), end % tile.k());
            ofWarp.multiply(now, part);
            now = next;
            if (promoted > 0 && end % promoted == 0) {
              sums.add(part, scalesOfPart);
            }
          }
          first.set(now);
        });
    k.awaitCopies(0);
    return sums;
  }

  /**
   * Finishes the sums and stores them. All threads of the block must call it.
   *
   * @param row the first of the tile in c
   * @param column the first of the tile in c
   * @param epilogue makes the epilogue when the sums are complete, so that what it loads takes no
   *     registers before
   */
  public <L> void store(
      WarpSums sums,
      Int row,
      Int column,
      Destination to,
      Supplier<? extends EpilogueFunction<L>> epilogue) {
    // the ring's memory is used again
    k.barrier();
    var tile = product.tile();
    var store = SumStore.ofWarp(k, shared, tile.warpN(), to.c().element(), product.interleaving());
    var function = epilogue.get();
    for (int first = 0; first < tile.warpM(); first += Stage.GROUP) {
      store.store(
          sums.slab(first),
          row.plus(warpRow()).plus(first),
          column.plus(warpColumn()),
          to,
          function);
    }
  }

  /** Finishes the sums of a tile and stores them. All threads of the block must call it. */
  public <L> void store(WarpSums sums, Place place, Destination to, EpilogueFunction<L> epilogue) {
    store(sums, place.row(), place.column(), to, () -> epilogue);
  }

  private List<Value> load(Optional<GroupScales> scales, Int depth) {
    return scales.map(each -> each.load(warpColumn(), depth)).orElse(List.of());
  }

  private Runnable fill(Staging stagingA, Staging stagingB, Int offset, Int depth) {
    var restOfA = stagingA.fill(offset, depth);
    var restOfB = stagingB.fill(offset.plus(product.a().bytes()), depth);
    k.commitCopies();
    return () -> {
      restOfA.run();
      restOfB.run();
    };
  }

  /** Reads the fragments of one step of the stage at {@code offset}. */
  private WarpFragments fragments(Int offset, int depth) {
    var a = product.a();
    var b = product.b();
    var tile = product.tile();
    var stageA = a.at(shared, offset);
    var stageB = b.at(shared, offset.plus(a.bytes()));
    var rows = new ArrayList<MatrixFragment>();
    for (int row = 0; row < tile.warpM(); row += Stage.GROUP) {
      rows.add(factors(a.fragments(k, stageA, warpRow().plus(row), depth, Stage.Order.ROWS)));
    }
    var columns = new ArrayList<MatrixFragment>();
    for (int column = 0; column < tile.warpN(); column += Stage.GROUP) {
      var both =
          factors(b.fragments(k, stageB, warpColumn().plus(column), depth, Stage.Order.COLUMNS));
      columns.add(both.part(0, 2));
      columns.add(both.part(2, 4));
    }
    return new WarpFragments(rows, columns);
  }

  /** What is multiplied, or is split before. */
  private MatrixFragment factors(MatrixFragment elements) {
    return product.mma().a() == Type.TF32 && product.factors() == Factors.PLAIN
        ? elements.map(element -> ((Real) element).to(Type.TF32))
        : elements;
  }
}
