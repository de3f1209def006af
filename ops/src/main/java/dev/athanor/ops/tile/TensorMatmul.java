package dev.athanor.ops.tile;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.MatrixFragment;
import dev.athanor.engine.author.OpaqueMatrix;
import dev.athanor.engine.author.OpaqueMatrix.Side;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.tile.TensorTile.Instruction;
import dev.athanor.ops.tile.TileScheduler.Tile;
import java.util.ArrayList;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * The mainloop over K of a product on tensor cores. Stages of a and b are copied to a ring buffer
 * in shared memory while earlier ones are multiplied; within a stage, the fragments of the next
 * step are loaded while those of this step are multiplied.
 *
 * <p>Sums of fp8 are promoted to f32 after every instruction (every 32 along K), because Ada's
 * tensor cores keep only 13 bits of them. Promotion every 128 along K, as DeepGEMM does for wgmma,
 * needs a second set of sums and leaves an error of 1.1e-3 if all products have one sign and their
 * magnitudes differ widely; every 32, the error is 3e-4. Sums of {@linkplain Factors#SPLIT split}
 * factors are promoted after every stage, because tensor cores truncate: on Ampere, sums of one
 * sign would have a relative error of 2.7e-4 for K = 16384. (Promotion after every instruction
 * would take twice the registers.) If groups have {@linkplain GroupScales scales}, the promotion
 * multiplies their sums by the scales.
 *
 * @param shared the dynamic shared memory of the block: {@link TileProduct#sharedBytes}
 */
public record TensorMatmul(KernelBuilder k, SharedTile shared, TileProduct product) {

  /** Warps of a warpgroup. */
  private static final int GROUP_WARPS = 4;

  /**
   * A factor matrix in global memory.
   *
   * @param first its first element
   * @param leadingDimension distance between stored rows in elements
   * @param extent rows of a, or columns of b
   * @param depth K
   * @param access bytes per copy, see {@link Operand#access}
   */
  public record Source(
      GlobalPointer first, Int leadingDimension, Int extent, Int depth, int access) {}

  /**
   * The result matrix in global memory.
   *
   * @param c first element
   * @param m number of rows
   * @param n number of columns
   * @param leadingDimension distance between rows in elements
   * @param access bytes per store, see {@link Operand#access}
   */
  public record Destination(GlobalPointer c, Int m, Int n, Int leadingDimension, int access) {

    /** Returns a dense matrix. */
    public Destination(GlobalPointer c, Int m, Int n, int access) {
      this(c, m, n, n, access);
    }
  }

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
   * Returns a producer that copies stages of a; zeros beyond its ends.
   *
   * @param row the first row of the tile in c
   */
  public Producer producerA(Source matrix, Int row) {
    var operand = new StagedMatrix(k, product.a(), matrix, row);
    return producerA(operand, matrix.access());
  }

  /**
   * Returns a producer that copies stages of a; zeros outside the operand.
   *
   * @param access bytes per access
   */
  public Producer producerA(StagedOperand a, int access) {
    return new MatrixStaging(k, shared, product.a(), access, product.tile().threads(), a);
  }

  /**
   * Returns a producer that copies stages of b; zeros beyond its ends.
   *
   * @param column the first column of the tile in c
   */
  public Producer producerB(Source matrix, Int column) {
    var operand = new StagedMatrix(k, product.b(), matrix, column);
    return new MatrixStaging(
        k, shared, product.b(), matrix.access(), product.tile().threads(), operand);
  }

  /** Multiplies the rows and columns of a tile over a range of K. */
  public WarpSums multiply(
      Source a, Source b, Tile place, Optional<BlockScales> scales, KRange range) {
    return multiply(
        producerA(a, place.row()),
        producerB(b, place.column()),
        scales.map(each -> each.of(product, place, a.extent(), b.extent())),
        range);
  }

  /** Multiplies the rows and columns of a tile over all of K. */
  public WarpSums multiply(Source a, Source b, Tile place) {
    return multiply(a, b, place, Optional.empty(), KRange.all(k, a.depth()));
  }

  /**
   * Multiplies over a range of K. On return, no copy is in flight; after a barrier of the block,
   * the shared memory is free.
   *
   * @return the sums of the warp
   */
  public WarpSums multiply(Producer producerA, Producer producerB, KRange range) {
    return multiply(producerA, producerB, Optional.empty(), range);
  }

  /**
   * Multiplies over a range of K and applies the scales of groups to sums.
   *
   * @see #multiply(Producer, Producer, KRange)
   */
  public WarpSums multiply(
      Producer producerA, Producer producerB, Optional<GroupScales> scales, KRange range) {
    var tile = product.tile();
    if (tile.instruction() == Instruction.WGMMA) {
      return multiplyByGroups(both(producerA, producerB), range);
    }
    if (tile.instruction() == Instruction.WMMA) {
      return multiplyOpaque(both(producerA, producerB), range);
    }
    int promoted = promoted(scales);
    var ofWarp = WarpProduct.of(k, product, promoted);
    var sums = new WarpSums(k, tile, product.mma());
    int extent = scales.map(GroupScales::extent).orElse(promoted);
    var parts = new WarpSums.Parts(k, product, sums, promoted, extent, at -> load(scales, at));
    var ring = ring(both(producerA, producerB), range);
    var first = fragments(ring.full(), 0).variables(k);
    k.loop(
        range.from(),
        range.to(),
        tile.k(),
        depth -> {
          var rest = ring.fill(depth);
          var now = first;
          for (int step = 0; step < tile.k(); step += ofWarp.depth()) {
            int end = step + ofWarp.depth();
            var part = parts.begin(depth, step);
            if (end == tile.k()) {
              ring.advance();
              rest.run();
              ring.await();
            }
            var next = fragments(ring.full(), end % tile.k());
            ofWarp.multiply(now, part);
            parts.end(end);
            now = next;
          }
          first.set(now);
        });
    k.awaitCopies(0);
    return sums;
  }

  /**
   * Multiplies with {@code wgmma}, which reads both factors from shared memory. The products of a
   * stage are issued while those of the previous one are computed.
   */
  private WarpSums multiplyByGroups(Producer producer, KRange range) {
    var tile = product.tile();
    var sums = new WarpSums(k, tile, product.mma());
    var ring = ring(producer, range);
    var firstRow = k.warp().div(GROUP_WARPS).times(GROUP_WARPS * Stage.GROUP);
    k.loop(
        range.from(),
        range.to(),
        tile.k(),
        depth -> {
          k.fenceProducts();
          for (int step = 0; step < tile.k(); step += product.mma().k()) {
            var a = product.a();
            var b = product.b();
            k.multiplyAsync(
                product.mma(),
                a.descriptor(shared, ring.full(), firstRow, step),
                b.descriptor(shared, ring.full().plus(a.bytes()), k.integer(0), step),
                !a.kIsRow(),
                !b.kIsRow(),
                sums.parts());
          }
          k.commitProducts();
          k.awaitProducts(1);
          ring.advanceAhead(depth);
        });
    k.awaitProducts(0);
    k.awaitCopies(0);
    return sums;
  }

  /** Multiplies with {@code wmma}. */
  private WarpSums multiplyOpaque(Producer producer, KRange range) {
    var tile = product.tile();
    int size = OpaqueMatrix.SIZE;
    int across = tile.warpN() / size;
    var sums = Stream.generate(k::opaqueSum).limit((long) tile.warpM() / size * across).toList();
    var ring = ring(producer, range);
    k.loop(
        range.from(),
        range.to(),
        tile.k(),
        depth -> {
          var rest = ring.fill(depth);
          var stageA = product.a().at(shared, ring.full());
          var stageB = product.b().at(shared, ring.full().plus(product.a().bytes()));
          for (int step = 0; step < tile.k(); step += size) {
            var from = k.integer(step);
            var columns = new ArrayList<OpaqueMatrix.Factor>();
            for (int column = 0; column < tile.warpN(); column += size) {
              var first = warpColumn().plus(column);
              columns.add(product.b().factor(stageB, Side.B, first, from));
            }
            for (int i = 0; i < sums.size(); i += across) {
              var first = warpRow().plus(i / across * size);
              var row = product.a().factor(stageA, Side.A, first, from);
              for (int j = 0; j < across; j++) {
                k.multiply(row, columns.get(j), sums.get(i + j));
              }
            }
          }
          ring.advance();
          rest.run();
          ring.await();
        });
    k.awaitCopies(0);
    k.barrier(); // sums reuse the memory of the ring
    return WarpSums.of(k, tile, shared, sums);
  }

  /**
   * Finishes the sums and stores them. All threads of the block must call it.
   *
   * @param epilogue creates the epilogue when the sums are complete, so that its loads take no
   *     registers before
   */
  public <L> void store(
      WarpSums sums, Tile place, Destination to, Supplier<? extends EpilogueFunction<L>> epilogue) {
    // the memory of the ring is reused
    k.barrier();
    var tile = product.tile();
    var store = SumStore.ofWarp(k, shared, tile.warpN(), to.c().element(), product.interleaving());
    var function = epilogue.get();
    for (int first = 0; first < tile.warpM(); first += Stage.GROUP) {
      store.store(
          sums.slab(first),
          place.row().plus(warpRow()).plus(first),
          place.column().plus(warpColumn()),
          to,
          function);
    }
  }

  /** Finishes the sums of a tile and stores them. All threads of the block must call it. */
  public <L> void store(WarpSums sums, Tile place, Destination to, EpilogueFunction<L> epilogue) {
    store(sums, place, to, () -> epilogue);
  }

  private GroupScales.Loaded load(Optional<GroupScales> scales, Int depth) {
    return scales
        .map(each -> each.load(warpRow(), warpColumn(), depth))
        .orElse(GroupScales.Loaded.NONE);
  }

  /** Returns the depth of partial sums; 0 without them. */
  private int promoted(Optional<GroupScales> scales) {
    int ofSplit = product.factors() == Factors.SPLIT ? product.tile().k() : 0;
    return scales.map(GroupScales::depth).orElse(ofSplit);
  }

  /** Starts to fill the stages of a range of K and waits for the first. */
  private Ring ring(Producer producer, KRange range) {
    var tile = product.tile();
    var slots = new Ring.Slots(k.integer(0), product.stageBytes(), tile.stages(), tile.k());
    slots.fillAhead(producer, range.from());
    var ring = new Ring(k, slots, producer, this::awaitAll);
    ring.await();
    return ring;
  }

  /** Makes the copies of all threads visible to all threads and to {@code wgmma}. */
  private void awaitAll() {
    if (product.tile().instruction() == Instruction.WGMMA) {
      k.fenceAsyncProxy();
    }
    k.barrier();
  }

  /** Returns a producer that fills a stage of a and b and commits the copies. */
  private Producer both(Producer producerA, Producer producerB) {
    return (offset, depth) -> {
      var restOfA = producerA.fill(offset, depth);
      var restOfB = producerB.fill(offset.plus(product.a().bytes()), depth);
      k.commitCopies();
      return () -> {
        restOfA.run();
        restOfB.run();
      };
    };
  }

  /** Loads the fragments of one step of the stage at {@code offset}. */
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

  /** Rounds factors to tf32 unless they are split later. */
  private MatrixFragment factors(MatrixFragment elements) {
    return product.mma().a() == Type.TF32 && product.factors() == Factors.PLAIN
        ? elements.map(element -> ((Real) element).to(Type.TF32))
        : elements;
  }
}
