package dev.athanor.ops.matmul;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.List;

/**
 * A product of f32 or f64 matrices, one multiply-add a lane. Shared memory has two stages of a and
 * b, both with K as the row: while one is multiplied the next is on its way through registers to
 * the other, so that a stage takes one barrier. A thread keeps its part of c in registers, in
 * groups of rows and columns that lie apart, so that the lanes of a warp read neighbouring groups.
 */
final class CoresMatmul {

  private static final int VECTOR_BYTES = 16;
  private static final int SECTOR_BYTES = 32;

  /**
   * Elements by which a row of a stage is longer than it has to be. With rows 4 elements apart in
   * the banks, a matrix that is turned on its way is stored without conflicts: see {@link
   * Operand#place}.
   */
  private static final int PADDING = 4;

  private final KernelBuilder k;
  private final CoresVariant variant;
  private final CoresTile tile;
  private final ProductParameters problem;
  private final Type type;

  /** Elements of one vector access to shared memory. */
  private final int group;

  private final Operand a;
  private final Operand b;
  private final SharedTile stages;

  CoresMatmul(KernelBuilder k, CoresVariant variant) {
    this.k = k;
    this.variant = variant;
    this.tile = variant.tile();
    this.type = variant.product().type();
    this.group = VECTOR_BYTES / type.bytes();
    this.problem = new ProductParameters(k, variant.product(), tile.m(), tile.n());
    a =
        new Operand(
            problem.a,
            problem.lda,
            variant.product().transposeA(),
            variant.accessA() / type.bytes(),
            problem.row,
            problem.m,
            tile.m(),
            0);
    b =
        new Operand(
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
    var sums = new ArrayList<List<Real.Variable>>();
    for (int y = 0; y < tile.threadM(); y++) {
      var row = new ArrayList<Real.Variable>();
      for (int x = 0; x < tile.threadN(); x++) {
        row.add(k.variable(k.real(type, 0)));
      }
      sums.add(row);
    }
    int warpsAcross = tile.n() / (CoresTile.WARP_WIDTH * tile.threadN());
    var rows =
        new Part(
            k.warp().div(warpsAcross),
            k.lane().div(CoresTile.WARP_WIDTH),
            CoresTile.WARP_HEIGHT,
            tile.threadM());
    var columns =
        new Part(
            k.warp().rem(warpsAcross),
            k.lane().rem(CoresTile.WARP_WIDTH),
            CoresTile.WARP_WIDTH,
            tile.threadN());

    a.store(k.integer(0), a.load(k.integer(0)));
    b.store(k.integer(0), b.load(k.integer(0)));
    k.barrier();
    var current = k.variable(k.integer(0));
    k.loop(
        k.integer(0),
        problem.depth,
        tile.k(),
        depth -> {
          var nextA = a.load(depth.plus(tile.k()));
          var nextB = b.load(depth.plus(tile.k()));
          multiply(current, rows, columns, sums);
          var other = current.xor(k.integer(stageBytes()));
          a.store(other, nextA);
          b.store(other, nextB);
          k.barrier();
          current.set(other);
        });
    store(rows, columns, sums);
  }

  private void multiply(Int stage, Part rows, Part columns, List<List<Real.Variable>> sums) {
    var tileOfA = a.stage(stage);
    var tileOfB = b.stage(stage);
    for (int i = 0; i < tile.k(); i++) {
      var column = rows.read(tileOfA, i);
      var row = columns.read(tileOfB, i);
      for (int y = 0; y < column.size(); y++) {
        for (int x = 0; x < row.size(); x++) {
          sums.get(y).get(x).addProduct(column.get(y), row.get(x));
        }
      }
    }
  }

  private void store(Part rows, Part columns, List<List<Real.Variable>> sums) {
    int count = variant.accessC() / type.bytes();
    for (int x = 0; x < tile.threadN(); x += count) {
      var column = problem.column.plus(columns.offset(x));
      var bias = new ArrayList<Real>();
      for (int i = 0; i < count; i++) {
        bias.add(problem.bias(column.plus(i)));
      }
      for (int y = 0; y < tile.threadM(); y++) {
        var row = problem.row.plus(rows.offset(y));
        var inside = row.lt(problem.m).and(column.lt(problem.n));
        var results = new ArrayList<Value>();
        for (int i = 0; i < count; i++) {
          results.add(problem.finish(sums.get(y).get(x + i), bias.get(i)));
        }
        problem.c.row(row, problem.n).storeWhere(inside, column, results);
      }
    }
  }

  /**
   * Which rows or columns of its block's tile a thread computes: groups of neighbours, as far apart
   * as the groups of its warp reach.
   */
  private final class Part {
    private final Int first;
    private final int lanes;
    private final int count;

    /**
     * @param warp the number of the warp along them
     * @param lane the number of the thread in the warp along them
     * @param lanes threads of a warp along them
     * @param count how many are a thread's
     */
    Part(Int warp, Int lane, int lanes, int count) {
      this.first = warp.times(lanes * count).plus(lane.times(group));
      this.lanes = lanes;
      this.count = count;
    }

    Int offset(int i) {
      return first.plus(i / group * (lanes * group) + i % group);
    }

    /** The thread's elements of a row of a stage. */
    List<Real> read(SharedTile stage, int row) {
      var values = new ArrayList<Real>();
      for (int i = 0; i < count; i += group) {
        stage.load(group, k.integer(row), offset(i)).forEach(v -> values.add(v.widen()));
      }
      return values;
    }
  }

  /** A matrix on its way to shared memory, in chunks. */
  private final class Operand {
    private final GlobalPointer from;
    private final Int ld;
    private final boolean kIsRow;
    private final int elements;
    private final Int first;
    private final Int limit;
    private final int extent;
    private final int offset;

    /**
     * @param kIsRow whether rows of the stored matrix go along K, as in a stage; else they are
     *     turned
     * @param elements of a chunk
     * @param first the first row or column of c that the tile belongs to
     * @param limit how many there are
     * @param extent how many the tile has
     * @param offset in a stage, in bytes
     */
    Operand(
        GlobalPointer from,
        Int ld,
        boolean kIsRow,
        int elements,
        Int first,
        Int limit,
        int extent,
        int offset) {
      this.from = from;
      this.ld = ld;
      this.kIsRow = kIsRow;
      this.elements = elements;
      this.first = first;
      this.limit = limit;
      this.extent = extent;
      this.offset = offset;
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

    /** How far along K and along c a chunk lies in the tile. */
    private record Place(Int alongK, Int alongC) {}

    /**
     * Where chunk {@code round · threads + thread} is. Of a matrix whose rows go along K, a warp's
     * chunks are neighbours. Of a turned one as many neighbours as fill a sector are of one row,
     * and the next are of the next row: in the banks those rows' elements are neighbours, and a
     * sector's fill the gaps between them.
     */
    private Place place(int round) {
      if (kIsRow) {
        int across = extent / elements;
        return new Place(
            k.thread().div(across).plus(round * tile.threads() / across),
            k.thread().rem(across).times(elements));
      }
      int sector = SECTOR_BYTES / type.bytes();
      int lanes = sector / elements;
      int rows = tile.threads() / lanes;
      var row = k.thread().div(lanes);
      int done = round * rows;
      return new Place(
          row.div(extent)
              .plus(done / extent)
              .times(sector)
              .plus(k.thread().rem(lanes).times(elements)),
          row.rem(extent).plus(done % extent));
    }

    private int rounds() {
      return tile.k() * extent / elements / tile.threads();
    }

    /** Loads a thread's chunks of the stage from {@code depth} on, zeros where the matrix ends. */
    List<List<Value>> load(Int depth) {
      var chunks = new ArrayList<List<Value>>();
      for (int round = 0; round < rounds(); round++) {
        var place = place(round);
        var inC = first.plus(place.alongC);
        var inK = depth.plus(place.alongK);
        Predicate inside = inC.lt(limit).and(inK.lt(problem.depth));
        chunks.add(
            kIsRow
                ? from.row(inK, ld).loadWhere(inside, elements, inC)
                : from.row(inC, ld).loadWhere(inside, elements, inK));
      }
      return chunks;
    }

    void store(Int at, List<List<Value>> chunks) {
      var to = stage(at);
      for (int round = 0; round < chunks.size(); round++) {
        var place = place(round);
        var chunk = chunks.get(round);
        if (kIsRow) {
          to.store(place.alongK, place.alongC, chunk);
        } else {
          for (int i = 0; i < elements; i++) {
            to.store(place.alongK.plus(i), place.alongC, chunk.get(i));
          }
        }
      }
    }
  }
}
