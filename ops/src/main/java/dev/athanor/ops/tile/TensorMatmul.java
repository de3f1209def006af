package dev.athanor.ops.tile;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.MatrixFragment;
import dev.athanor.engine.author.Mma;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

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
 * @param shared of which the ring takes the first {@link #ringBytes}
 * @param a the rows of the tile
 * @param b the columns of the tile
 * @param factors what elements become before they are multiplied
 */
public record TensorMatmul(
    KernelBuilder k,
    SharedTile shared,
    TensorTile tile,
    Mma mma,
    Stage a,
    Stage b,
    Factors factors) {

  /** A product of factors without splitting. */
  public TensorMatmul(
      KernelBuilder k, SharedTile shared, TensorTile tile, Mma mma, Stage a, Stage b) {
    this(k, shared, tile, mma, a, b, Factors.PLAIN);
  }

  public static int ringBytes(TensorTile tile, Stage a, Stage b) {
    return tile.stages() * (a.bytes() + b.bytes());
  }

  /** The first row of the tile that this warp computes. */
  public Int warpRow() {
    return k.warp().div(tile.n() / tile.warpN()).times(tile.warpM());
  }

  /** The first column of the tile that this warp computes. */
  public Int warpColumn() {
    return k.warp().rem(tile.n() / tile.warpN()).times(tile.warpN());
  }

  /** Returns a producer that copies the rows of a tile of a. */
  public Producer copyA(
      GlobalPointer matrix, Int leadingDimension, Int row, Int m, Int depth, int access) {
    return copy(a, matrix, leadingDimension, row, m, depth, access);
  }

  /** Returns a producer that copies the columns of a tile of b. */
  public Producer copyB(
      GlobalPointer matrix, Int leadingDimension, Int column, Int n, Int depth, int access) {
    return copy(b, matrix, leadingDimension, column, n, depth, access);
  }

  private Producer copy(
      Stage stage, GlobalPointer matrix, Int ld, Int first, Int limit, Int depth, int access) {
    return new MatrixStaging(
        k, shared, stage, matrix, ld, first, limit, depth, access, tile.threads());
  }

  /**
   * Multiplies. When this ends no copy is under way, and once all threads have come to a barrier
   * shared memory is free.
   *
   * @return the sums of the warp
   */
  public WarpSums multiply(Producer producerA, Producer producerB, KRange range) {
    return multiply(producerA, producerB, Optional.empty(), range);
  }

  /**
   * Multiplies, and applies the scales of groups of b to sums.
   *
   * @see #multiply(Producer, Producer, KRange)
   */
  public WarpSums multiply(
      Producer producerA, Producer producerB, Optional<GroupScales> scales, KRange range) {
    var product = WarpProduct.of(k, mma, factors, a, b);
    var sums = new WarpSums(k, tile, mma);
    var parts = new PartialSums(k, tile, mma, sums, promoted(scales), at -> load(scales, at));
    var ring = new Ring(k, tile, a.bytes() + b.bytes(), range.from(), both(producerA, producerB));
    var first = fragments(ring.full(), 0).variables(k);
    k.loop(
        range.from(),
        range.to(),
        tile.k(),
        depth -> {
          var rest = ring.fill(depth);
          var now = first;
          for (int step = 0; step < tile.k(); step += product.depth()) {
            int end = step + product.depth();
            var part = parts.begin(depth, step);
            if (end == tile.k()) {
              ring.advance(rest);
            }
            var next = fragments(ring.full(), end % tile.k());
            product.multiply(now, part);
            parts.end(end);
            now = next;
          }
          first.set(now);
        });
    k.awaitCopies(0);
    return sums;
  }

  /**
   * Returns what writes sums to c, by way of the shared memory of the stages.
   *
   * @param out the type of c
   * @param access bytes of c that may be written at once
   */
  public SumStore output(Type out, int access) {
    return new SumStore(
        k,
        shared,
        k.warp().times(SumStore.bytes(tile.warpN(), out)),
        tile.warpN(),
        out,
        SumStore.Order.of(a, b),
        access);
  }

  /** Writes what {@link #multiply} gave, when shared memory is free. */
  public void store(
      SumStore output,
      WarpSums sums,
      TileScheduler.Tile place,
      SumStore.Target target,
      Epilogue.Applied epilogue) {
    for (int first = 0; first < tile.warpM(); first += Stage.GROUP) {
      output.store(
          sums.slab(first),
          place.row().plus(warpRow()).plus(first),
          place.column().plus(warpColumn()),
          target,
          epilogue);
    }
  }

  private List<Value> load(Optional<GroupScales> scales, Int depth) {
    return scales.map(each -> each.load(warpColumn(), depth)).orElse(List.of());
  }

  /** How much of K is summed apart from the rest; 0 if nothing is. */
  private int promoted(Optional<GroupScales> scales) {
    return scales.map(GroupScales::depth).orElse(factors == Factors.SPLIT ? tile.k() : 0);
  }

  /** Fills a stage of a and b, and commits the copies. */
  private Producer both(Producer producerA, Producer producerB) {
    return (offset, depth) -> {
      var restOfA = producerA.fill(offset, depth);
      var restOfB = producerB.fill(offset.plus(a.bytes()), depth);
      k.commitCopies();
      return () -> {
        restOfA.run();
        restOfB.run();
      };
    };
  }

  /** Reads the fragments of one step of the stage at {@code offset}. */
  private WarpFragments fragments(Int offset, int depth) {
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
    return mma.a() == Type.TF32 && factors == Factors.PLAIN
        ? elements.map(element -> ((Real) element).to(Type.TF32))
        : elements;
  }
}
