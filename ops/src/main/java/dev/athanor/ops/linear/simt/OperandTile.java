package dev.athanor.ops.linear.simt;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.linear.ProductParameters;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * The tile of a or b in a stage of a block, with K as the row index. Threads load it through
 * registers, where elements are widened, into shared memory, in chunks of adjacent elements of the
 * stored matrix.
 */
final class OperandTile {

  private static final int SECTOR_BYTES = 32;

  /**
   * Padding of a row, in elements. It offsets consecutive rows by 4 elements in the banks, so that
   * a transposed matrix is stored without conflicts; see {@link #firstPlace}.
   */
  private static final int PADDING = 4;

  private final KernelBuilder k;
  private final Int ld;

  /**
   * Whether K is the row index of the stored matrix, as in a stage; otherwise, the matrix is
   * transposed.
   */
  private final boolean kIsRow;

  /** The type of the elements in global memory. */
  private final Type type;

  /** The type of the elements in shared memory, that of the sums. */
  private final Type widened;

  /** Elements per chunk. */
  private final int elements;

  private final int depth;
  private final int extent;
  private final int threads;
  private final Place place;

  /** Loads the scale of an element, if elements have scales. */
  private final Optional<Scales> scales;

  /** The row or column of c of the thread's first chunk. */
  private final Int inC;

  /** The thread's first chunk at the start of K. */
  private final GlobalPointer origin;

  /** The number of remaining rows or columns of c from the first chunk on. */
  private final Int leftOfC;

  /** The end of the block's share of K, minus the offset of the first chunk. */
  private final Int endOfK;

  /** Loads the scale of the element at an index along c and K. */
  private interface Scales {
    Value at(Int inC, Int depth);
  }

  /** Offsets of a chunk in the tile, along K and along c. */
  private record Place(Int alongK, Int alongC) {}

  private OperandTile(
      KernelBuilder k,
      SimtVariant variant,
      GlobalPointer matrix,
      Int ld,
      boolean kIsRow,
      int access,
      int extent,
      Int first,
      Int limit,
      Int endOfK,
      Optional<Scales> scales) {
    this.k = k;
    this.ld = ld;
    this.kIsRow = kIsRow;
    this.type = matrix.element();
    this.widened = variant.product().sumType();
    this.elements = access / type.bytes();
    this.depth = variant.tile().k();
    this.extent = extent;
    this.threads = variant.tile().threads();
    place = firstPlace();
    this.scales = scales;
    inC = first.plus(place.alongC);
    origin =
        kIsRow
            ? matrix.row(place.alongK, ld).plus(inC.wide())
            : matrix.row(inC, ld).plus(place.alongK.wide());
    leftOfC = limit.minus(inC);
    this.endOfK = endOfK.minus(place.alongK);
  }

  /** Returns the tile of a. */
  static OperandTile ofA(KernelBuilder k, SimtVariant variant, ProductParameters problem) {
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
        problem.range.to(),
        problem.scales.map(each -> (row, depth) -> each.ofA(row, depth, problem.m)));
  }

  /** Returns the tile of b. */
  static OperandTile ofB(KernelBuilder k, SimtVariant variant, ProductParameters problem) {
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
        problem.range.to(),
        problem.scales.map(each -> (column, depth) -> each.ofB(column, depth, problem.n)));
  }

  /** Returns the bytes of the tile in shared memory. */
  int bytes() {
    return depth * pitch() * widened.bytes();
  }

  /** Returns the tile at a byte of shared memory. */
  SharedTile at(SharedTile shared, Int offset) {
    return shared.at(offset, widened, depth, extent, pitch());
  }

  private int pitch() {
    return extent + PADDING;
  }

  /**
   * Returns the first chunk of a thread. If the matrix is not transposed, a warp's chunks are
   * adjacent. If it is, adjacent chunks fill one sector of a row, and the next chunks are in the
   * next row: elements of these rows are adjacent in the banks, and those of a sector fill the gaps
   * between them.
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
    return Math.min(SECTOR_BYTES / type.bytes(), depth);
  }

  /** Returns the number of threads per sector of a transposed matrix. */
  private int lanes() {
    return sector() / elements;
  }

  /** Returns the offset along K of a thread's chunk in a round, in elements. */
  private int offsetAlongK(int round) {
    int chunks = round * threads;
    return kIsRow ? chunks * elements / extent : chunks / lanes() / extent * sector();
  }

  /** Returns the offset along c of a thread's chunk in a round, in elements. */
  private int offsetAlongC(int round) {
    return kIsRow ? 0 : round * threads / lanes() % extent;
  }

  /**
   * Loads a thread's chunks of the stage that starts at {@code first} along K, with zeros beyond
   * the matrix or the share of K. Only {@code first} changes between stages.
   *
   * @return a task that stores the chunks to a tile in shared memory
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
      // the elements of a chunk share a scale
      var scale =
          scales.map(
              each -> each.at(inC.plus(alongC), first.plus(place.alongK).plus(alongK)).widen());
      stores.add(
          to -> store(to, place.alongK.plus(alongK), place.alongC.plus(alongC), chunk, scale));
    }
    return to -> stores.forEach(store -> store.accept(to));
  }

  private void store(
      SharedTile to, Int alongK, Int alongC, List<Value> loaded, Optional<Real> scale) {
    var chunk =
        loaded.stream()
            .map(Value::widen)
            .map(element -> scale.map(element::times).orElse(element))
            .toList();
    if (kIsRow) {
      to.store(alongK, alongC, chunk);
      return;
    }
    for (int i = 0; i < elements; i++) {
      to.store(alongK.plus(i), alongC, chunk.get(i));
    }
  }
}
