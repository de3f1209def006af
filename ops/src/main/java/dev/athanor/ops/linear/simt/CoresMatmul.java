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

/**
 * A product of f32 or f64 matrices. Shared memory has two stages of a and b, both with K as the
 * row: while one is multiplied the next is on its way through registers to the other, so that a
 * stage takes one barrier. The part of c that a thread has stays in its registers.
 */
final class CoresMatmul {

  /** Bytes of the widest access. */
  static final int VECTOR_BYTES = 16;

  private static final int SECTOR_BYTES = 32;

  /**
   * Elements by which a row of a stage is longer than it has to be. With rows 4 elements apart in
   * the banks, a matrix that is turned on its way is stored without conflicts: see {@link
   * Loader.Place}.
   */
  private static final int PADDING = 4;

  private final KernelBuilder k;
  private final CoresVariant variant;
  private final CoresTile tile;
  private final ProductParameters problem;
  private final Type type;

  private final Loader a;
  private final Loader b;
  private final SharedTile stages;

  CoresMatmul(KernelBuilder k, CoresVariant variant) {
    this.k = k;
    this.variant = variant;
    this.tile = variant.tile();
    this.type = variant.product().type();
    this.problem = new ProductParameters(k, variant.product(), tile.m(), tile.n());
    a =
        new Loader(
            problem.a,
            problem.lda,
            variant.product().transposeA(),
            variant.accessA() / type.bytes(),
            problem.row,
            problem.m,
            tile.m(),
            0);
    b =
        new Loader(
            problem.b,
            problem.ldb,
            !variant.product().transposeB(),
            variant.accessB() / type.bytes(),
            problem.column,
            problem.n,
            tile.n(),
            a.bytes());
    stages = k.shared(Type.B8, 2, stageBytes(), stageBytes());
  }

  private int stageBytes() {
    return a.bytes() + b.bytes();
  }

  void write() {
    var part = CoresPart.of(k, variant, problem);
    a.store(k.integer(0), a.load(problem.from));
    b.store(k.integer(0), b.load(problem.from));
    k.barrier();
    var current = k.variable(k.integer(0));
    k.loop(
        problem.from,
        problem.to,
        tile.k(),
        depth -> {
          var nextA = a.load(depth.plus(tile.k()));
          var nextB = b.load(depth.plus(tile.k()));
          part.multiply(a.stage(current), b.stage(current));
          var other = current.xor(k.integer(stageBytes()));
          a.store(other, nextA);
          b.store(other, nextB);
          k.barrier();
          current.set(other);
        });
    part.store();
  }

  /** Brings a matrix to shared memory, in chunks. */
  private final class Loader {
    private final Int ld;
    private final boolean kIsRow;
    private final int elements;
    private final int extent;
    private final int offset;
    private final Place place;

    /** The thread's first chunk where K begins. */
    private final GlobalPointer origin;

    /** How many rows or columns of c are left from the first chunk on. */
    private final Int leftOfC;

    /** The end of the block's share of K, less the offset of the first chunk. */
    private final Int endOfK;

    /**
     * @param kIsRow whether rows of the stored matrix go along K, as in a stage; else they are
     *     turned
     * @param elements of a chunk
     * @param first the first row or column of c that the tile belongs to
     * @param limit how many there are
     * @param extent how many the tile has
     * @param offset in a stage, in bytes
     */
    Loader(
        GlobalPointer from,
        Int ld,
        boolean kIsRow,
        int elements,
        Int first,
        Int limit,
        int extent,
        int offset) {
      this.ld = ld;
      this.kIsRow = kIsRow;
      this.elements = elements;
      this.extent = extent;
      this.offset = offset;
      place = first();
      var inC = first.plus(place.alongC);
      origin =
          kIsRow
              ? from.row(place.alongK, ld).plus(inC.wide())
              : from.row(inC, ld).plus(place.alongK.wide());
      leftOfC = limit.minus(inC);
      endOfK = problem.to.minus(place.alongK);
    }

    private int pitch() {
      return extent + PADDING;
    }

    int bytes() {
      return tile.k() * pitch() * type.bytes();
    }

    SharedTile stage(Int at) {
      return stages.at(at.plus(offset), type, tile.k(), extent, pitch());
    }

    /** Offsets of a chunk in the tile, along K and along c. */
    private record Place(Int alongK, Int alongC) {}

    /**
     * The first chunk of a thread. Of a matrix whose rows go along K, a warp's chunks are
     * neighbors. Of a turned one as many neighbors as fill a sector are of one row, and the next
     * are of the next row: in the banks those rows' elements are neighbors, and a sector's fill the
     * gaps between them.
     */
    private Place first() {
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

    /** Threads that bring a sector of a turned matrix. */
    private int lanes() {
      return sector() / elements;
    }

    /** Elements along K from a thread's first chunk to the one of a round. */
    private int offsetAlongK(int round) {
      int threads = round * tile.threads();
      return kIsRow ? threads * elements / extent : threads / lanes() / extent * sector();
    }

    /** Elements along c from a thread's first chunk to the one of a round. */
    private int offsetAlongC(int round) {
      return kIsRow ? 0 : round * tile.threads() / lanes() % extent;
    }

    private int rounds() {
      return tile.k() * extent / elements / tile.threads();
    }

    /**
     * Loads a thread's chunks of the stage from {@code depth} on, zeros where the matrix or the
     * share of K ends. Only {@code depth} changes from stage to stage.
     */
    List<List<Value>> load(Int depth) {
      var at = kIsRow ? origin.row(depth, ld) : origin.plus(depth.wide());
      var chunks = new ArrayList<List<Value>>();
      for (int round = 0; round < rounds(); round++) {
        int alongK = offsetAlongK(round);
        int alongC = offsetAlongC(round);
        var inside = leftOfC.gt(k.integer(alongC)).and(depth.plus(alongK).lt(endOfK));
        int rows = kIsRow ? alongK : alongC;
        int columns = kIsRow ? alongC : alongK;
        var row = rows == 0 ? at : at.plus(ld.wide().times(rows));
        chunks.add(row.loadWhere(inside, elements, k.integer(columns)));
      }
      return chunks;
    }

    void store(Int at, List<List<Value>> chunks) {
      var to = stage(at);
      for (int round = 0; round < chunks.size(); round++) {
        var alongK = place.alongK.plus(offsetAlongK(round));
        var alongC = place.alongC.plus(offsetAlongC(round));
        var chunk = chunks.get(round);
        if (kIsRow) {
          to.store(alongK, alongC, chunk);
        } else {
          for (int i = 0; i < elements; i++) {
            to.store(alongK.plus(i), alongC, chunk.get(i));
          }
        }
      }
    }
  }
}
