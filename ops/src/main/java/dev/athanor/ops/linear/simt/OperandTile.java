package dev.athanor.ops.linear.simt;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.linear.ProductParameters;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * The tile of a or b that a block multiplies at a stage, with K as the row. A thread brings it to
 * shared memory through registers, in chunks of neighboring elements of the stored matrix.
 */
final class OperandTile {

  private static final int SECTOR_BYTES = 32;

  /**
   * Elements by which a row is longer than it has to be. With rows 4 elements apart in the banks, a
   * transposed matrix is stored without conflicts: see {@link #firstPlace}.
   */
  private static final int PADDING = 4;

  private final KernelBuilder k;
  private final Int ld;

  /** Whether rows of the stored matrix go along K, as in a stage; else they are transposed. */
  private final boolean kIsRow;

  private final Type type;

  /** Elements of a chunk. */
  private final int elements;

  private final int depth;
  private final int extent;
  private final int threads;
  private final Place place;

  /** The thread's first chunk where K begins. */
  private final GlobalPointer origin;

  /** How many rows or columns of c are left from the first chunk on. */
  private final Int leftOfC;

  /** The end of the block's share of K, less the offset of the first chunk. */
  private final Int endOfK;

  /** Offsets of a chunk in the tile, along K and along c. */
  private record Place(Int alongK, Int alongC) {}

  private OperandTile(
      KernelBuilder k,
      CoresVariant variant,
      GlobalPointer matrix,
      Int ld,
      boolean kIsRow,
      int access,
      int extent,
      Int first,
      Int limit,
      Int endOfK) {
    this.k = k;
    this.ld = ld;
    this.kIsRow = kIsRow;
    this.type = matrix.element();
    this.elements = access / type.bytes();
    this.depth = variant.tile().k();
    this.extent = extent;
    this.threads = variant.tile().threads();
    place = firstPlace();
    var inC = first.plus(place.alongC);
    origin =
        kIsRow
            ? matrix.row(place.alongK, ld).plus(inC.wide())
            : matrix.row(inC, ld).plus(place.alongK.wide());
    leftOfC = limit.minus(inC);
    this.endOfK = endOfK.minus(place.alongK);
  }

  /** Returns the rows of a. */
  static OperandTile ofA(KernelBuilder k, CoresVariant variant, ProductParameters problem) {
    return new OperandTile(
        k,
        variant,
        problem.a,
        problem.lda,
        variant.product().transposeA(),
        variant.accessA(),
        variant.tile().m(),
        problem.tile.row(),
        problem.m,
        problem.range.to());
  }

  /** Returns the columns of b. */
  static OperandTile ofB(KernelBuilder k, CoresVariant variant, ProductParameters problem) {
    return new OperandTile(
        k,
        variant,
        problem.b,
        problem.ldb,
        !variant.product().transposeB(),
        variant.accessB(),
        variant.tile().n(),
        problem.tile.column(),
        problem.n,
        problem.range.to());
  }

  /** Returns the bytes of the tile in shared memory. */
  int bytes() {
    return depth * pitch() * type.bytes();
  }

  /** Returns the tile at a byte of shared memory. */
  SharedTile at(SharedTile shared, Int offset) {
    return shared.at(offset, type, depth, extent, pitch());
  }

  private int pitch() {
    return extent + PADDING;
  }

  /**
   * Returns the first chunk of a thread. Of a matrix whose rows go along K, a warp's chunks are neighbors.
   * Of a transposed one as many neighbors as fill a sector are of one row, and the next are of the
   * next row: in the banks those rows' elements are neighbors, and a sector's fill the gaps between
   * them.
   */
  private Place firstPlace() {
    if (kIsRow) {
      int across = extent / elements;
      return new Place(k.thread().div(across), k.thread().rem(across).times(elements));
    }
    var row = k.thread().div(lanes());
    return new Place(
        row.div(extent).times(sector()).plus(k.thread().rem(lanes()).times(elements)),
        row.rem(extent));
  }

  private int sector() {
    return SECTOR_BYTES / type.bytes();
  }

  /** Threads that bring a sector of a transposed matrix. */
  private int lanes() {
    return sector() / elements;
  }

  /** Returns elements along K from a thread's first chunk to the one of a round. */
  private int offsetAlongK(int round) {
    int chunks = round * threads;
    return kIsRow ? chunks * elements / extent : chunks / lanes() / extent * sector();
  }

  /** Returns elements along c from a thread's first chunk to the one of a round. */
  private int offsetAlongC(int round) {
    return kIsRow ? 0 : round * threads / lanes() % extent;
  }

  /**
   * Loads a thread's chunks of the stage from {@code first} of K on, zeros where the matrix or the
   * share of K ends. Only {@code first} changes from stage to stage.
   *
   * @return stores the chunks to a tile in shared memory
   */
  Consumer<SharedTile> load(Int first) {
    var at = kIsRow ? origin.row(first, ld) : origin.plus(first.wide());
    int rounds = depth * extent / elements / threads;
    List<Consumer<SharedTile>> stores = new ArrayList<>();
    for (int round = 0; round < rounds; round++) {
      int alongK = offsetAlongK(round);
      int alongC = offsetAlongC(round);
      var inside = leftOfC.gt(k.integer(alongC)).and(first.plus(alongK).lt(endOfK));
      int rows = kIsRow ? alongK : alongC;
      int columns = kIsRow ? alongC : alongK;
      var row = rows == 0 ? at : at.plus(ld.wide().times(rows));
      var chunk = row.loadWhere(inside, elements, k.integer(columns));
      stores.add(to -> store(to, place.alongK.plus(alongK), place.alongC.plus(alongC), chunk));
    }
    return to -> stores.forEach(store -> store.accept(to));
  }

  private void store(SharedTile to, Int alongK, Int alongC, List<Value> chunk) {
    if (kIsRow) {
      to.store(alongK, alongC, chunk);
      return;
    }
    for (int i = 0; i < elements; i++) {
      to.store(alongK.plus(i), alongC, chunk.get(i));
    }
  }
}
