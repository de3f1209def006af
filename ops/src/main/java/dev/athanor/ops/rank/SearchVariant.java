package dev.athanor.ops.rank;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;
import dev.athanor.ops.map.Elements;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The kernel that scores a chunk of rows for a tile of queries, sorts the scores and stores the
 * best of each query. Each thread computes the scores of its rows with all queries of the tile.
 *
 * <p>Parameters: queries[Q, D], rows[N, D], mask[N] if there is one; Q, D, the number of tiles of
 * queries, the entries to keep per chunk; the parameters of {@link ResultWriter}, of which n is N.
 *
 * @param tile queries of a block
 * @param vector elements per load; divides D
 */
record SearchVariant(
    DType dtype, Metric metric, int tile, int vector, boolean masked, Result result)
    implements Variant {

  /** Returns the number of rows of a chunk. */
  int chunk() {
    return SharedSort.CAPACITY / tile;
  }

  @Override
  public String name() {
    return "rank_search_%s_%s_%s%s_q%d_v%d"
        .formatted(
            dtype.text(), metric.text(), masked ? "masked_" : "", result.text(), tile, vector);
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), SharedSort.THREADS, k -> new Writer(k).write());
  }

  /** The vectors of a tile of queries or of the rows of a thread, and their sums of squares. */
  private record Vectors(
      List<Predicate> exist, List<GlobalPointer> pointers, List<Real.Variable> squares) {}

  private final class Writer {
    private final KernelBuilder k;
    private final Elements elements;
    private final GlobalPointer queries;
    private final GlobalPointer rows;
    private final Optional<GlobalPointer> mask;
    private final Int queryCount;
    private final Int depth;
    private final Int tiles;
    private final Int kept;
    private final Entries entries;
    private final ResultWriter writer;
    private final Int firstQuery;
    private final Int chunkIndex;

    Writer(KernelBuilder k) {
      this.k = k;
      elements = new Elements(k);
      queries = k.input("queries", Elements.type(dtype));
      rows = k.input("rows", Elements.type(dtype));
      mask = masked ? Optional.of(k.input("mask", Type.U8)) : Optional.empty();
      queryCount = k.integer("count");
      depth = k.integer("depth");
      tiles = k.integer("tiles");
      kept = k.integer("kept");
      entries = new Entries(k, true);
      writer = new ResultWriter(k, entries, result, DType.F32, List.of());
      chunkIndex = k.block().div(tiles);
      firstQuery = k.block().minus(chunkIndex.times(tiles)).times(tile);
    }

    void write() {
      var shared = new SharedSort(k, entries, true, chunk());
      var firstRow = chunkIndex.times(chunk());
      var ofQueries = vectors(queries, firstQuery, 1, tile, queryCount);
      var ofRows =
          vectors(
              rows,
              firstRow.plus(k.thread()),
              SharedSort.THREADS,
              chunk() / SharedSort.THREADS,
              writer.n);
      var sums = sums(ofQueries, ofRows);
      for (int r = 0; r < ofRows.pointers.size(); r++) {
        var place = k.thread().plus(r * SharedSort.THREADS);
        var row = firstRow.plus(place);
        var exists = ofRows.exist.get(r);
        var hidden = mask.map(all -> exists.and(all.loadWhere(exists, row).integer().eq(0)));
        for (int q = 0; q < tile; q++) {
          var score =
              metric.score(sums.get(q).get(r), ofQueries.squares.get(q), ofRows.squares.get(r));
          var scored = entries.of(DType.F32, score, row, writer.flip);
          var entry =
              hidden.map(is -> entries.where(is, entries.hidden(row), scored)).orElse(scored);
          shared.store(place.plus(q * chunk()), entries.where(exists, entry, entries.last()));
        }
      }
      shared.sort();
      for (var at : shared.positions()) {
        var query = firstQuery.plus(at.div(chunk()));
        var place = at.rem(chunk());
        var exists = query.lt(queryCount).and(firstRow.plus(place).lt(writer.n));
        var position = chunkIndex.times(kept).plus(place);
        writer.store(exists.and(place.lt(kept)), query, position, shared.load(at));
      }
    }

    private Vectors vectors(GlobalPointer matrix, Int first, int step, int count, Int bound) {
      var exist = new ArrayList<Predicate>();
      var pointers = new ArrayList<GlobalPointer>();
      var squares = new ArrayList<Real.Variable>();
      for (int i = 0; i < count; i++) {
        var index = first.plus(i * step);
        exist.add(index.lt(bound));
        pointers.add(matrix.row(index, depth));
        squares.add(k.variable(k.real(Type.F32, 0)));
      }
      return new Vectors(exist, pointers, squares);
    }

    /** Returns the sums of each query with each row of this thread. */
    private List<List<Real.Variable>> sums(Vectors ofQueries, Vectors ofRows) {
      var sums = new ArrayList<List<Real.Variable>>();
      for (int q = 0; q < tile; q++) {
        var ofQuery = new ArrayList<Real.Variable>();
        for (int r = 0; r < ofRows.pointers.size(); r++) {
          ofQuery.add(k.variable(k.real(Type.F32, 0)));
        }
        sums.add(ofQuery);
      }
      k.loop(
          k.integer(0),
          depth,
          vector,
          d -> {
            var loaded = load(ofQueries, d);
            var loadedRows = load(ofRows, d);
            for (int q = 0; q < tile; q++) {
              for (int r = 0; r < loadedRows.size(); r++) {
                var sum = sums.get(q).get(r);
                for (int i = 0; i < vector; i++) {
                  sum.set(metric.add(sum, loaded.get(q).get(i), loadedRows.get(r).get(i)));
                }
              }
            }
          });
      return sums;
    }

    /** Loads a part of each vector and adds its squares if the metric needs them. */
    private List<List<Real>> load(Vectors vectors, Int d) {
      var raw = new ArrayList<List<Value>>();
      for (int i = 0; i < vectors.pointers.size(); i++) {
        raw.add(vectors.pointers.get(i).loadWhere(vectors.exist.get(i), vector, d));
      }
      var loaded = new ArrayList<List<Real>>();
      for (int i = 0; i < raw.size(); i++) {
        var numbers =
            raw.get(i).stream().map(value -> (Real) elements.widen(dtype, value)).toList();
        if (metric == Metric.COSINE) {
          for (var number : numbers) {
            vectors.squares.get(i).addProduct(number, number);
          }
        }
        loaded.add(numbers);
      }
      return loaded;
    }
  }
}
