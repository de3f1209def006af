package dev.athanor.ops.attention.backward;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.RegisterTile;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Wide;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.attention.Engine;
import dev.athanor.ops.attention.FlashVariant;
import dev.athanor.ops.attention.RowCopy;
import dev.athanor.ops.attention.Score;
import dev.athanor.ops.attention.Score.Range;
import dev.athanor.ops.attention.Tile;
import dev.athanor.ops.attention.backward.BackwardVariant.Of;
import dev.athanor.ops.attention.backward.ScoreGradient.Queries;
import dev.athanor.ops.attention.backward.ScoreGradient.Query;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Emits the kernels of attention's gradients after FlashAttention-2 (Dao, 2023), without atomics.
 * With {@code s} the score and {@code delta} the sum of {@code grad · out}:
 *
 * <pre>{@code
 * p  = exp(s − lse)
 * ds = p ∘ (grad·vᵀ − delta) ∘ s′
 * dq = scale · ds·k        dk = scale · dsᵀ·q        dv = pᵀ·grad
 * }</pre>
 *
 * <p>Parameters: {@code q, k, v, grad, lse, delta, first, second, queries, keys, batches, heads,
 * group, d, dv, scale, factor, cap, window}; {@code first} is dq or dk, {@code second} is dv. The
 * one-dimensional grid enumerates tiles of rows first, then heads, batches and, for dk and dv,
 * parts of the columns.
 */
final class BackwardKernel {

  /** The maximum columns of a block's rows, for each of two tensors, kept in registers. */
  private static final int MAX_KEPT = 64;

  private final KernelBuilder k;
  private final BackwardVariant variant;
  private final Tile tile;
  private final Engine engine;
  private final RowCopy copy;
  private final RowCopy copyV;

  private final GlobalPointer q;
  private final GlobalPointer keysOfAll;
  private final GlobalPointer values;
  private final GlobalPointer grad;
  private final GlobalPointer lse;
  private final GlobalPointer delta;
  private final GlobalPointer first;
  private final GlobalPointer second;
  private final Int queries;
  private final Int keys;
  private final Int batches;
  private final Int heads;
  private final Int group;
  private final Int d;
  private final Int dv;
  private final Real scale;
  private final Score.Device score;

  private final SharedTile shared;
  private final SharedTile rows;
  private final SharedTile rowsV;
  private final SharedTile columns;
  private final SharedTile columnsV;

  private BackwardKernel(KernelBuilder k, BackwardVariant variant) {
    this.k = k;
    this.variant = variant;
    tile = variant.tile();
    var type = FlashVariant.type(variant.dtype());
    engine = Engine.of(k, tile, type);
    copy = new RowCopy(k, tile.threads(), variant.access());
    copyV = new RowCopy(k, tile.threads(), variant.accessV());
    q = k.input("q", type);
    keysOfAll = k.input("k", type);
    values = k.input("v", type);
    grad = k.input("grad", type);
    lse = k.input("lse", Type.F32);
    delta = k.input("delta", Type.F32);
    first = k.pointer("first", type);
    second = k.pointer("second", type);
    queries = k.integer("queries");
    keys = k.integer("keys");
    batches = k.integer("batches");
    heads = k.integer("heads");
    group = k.integer("group");
    d = k.integer("d");
    dv = k.integer("dv");
    scale = k.real("scale", Type.F32);
    score = variant.score().new Device(k, queries, keys);

    shared = k.dynamicShared();
    rows = engine.tile(shared, 0, tile.rows(), variant.d());
    rowsV = engine.tile(shared, variant.secondAt(), tile.rows(), variant.dv());
    columns = engine.tile(shared, variant.columnsAt(), tile.columns(), variant.d());
    columnsV = engine.tile(shared, variant.secondColumnsAt(), tile.columns(), variant.dv());
    engine.useScratch(shared, variant.scratchAt());
  }

  static Kernel build(BackwardVariant variant) {
    return KernelBuilder.build(
        variant.name(),
        variant.tile().threads(),
        k -> {
          var kernel = new BackwardKernel(k, variant);
          if (variant.of() == Of.QUERIES) {
            kernel.writeQueries();
          } else {
            kernel.writeKeys();
          }
        });
  }

  private static RowCopy.Rows matrix(GlobalPointer tensor, Int index, Int rows, Int ld) {
    return RowCopy.Rows.of(tensor.matrix(index, stride(rows, ld)), ld);
  }

  private static Wide stride(Int rows, Int columns) {
    return rows.wide().times(columns);
  }

  private Query query(Int head, Int query) {
    var there = query.lt(queries);
    var offset = queries.wide().times(head);
    var sum = lse.plus(offset).loadWhere(there, query).widen();
    return new Query(Query.log2(sum), delta.plus(offset).loadWhere(there, query).widen());
  }

  private void writeQueries() {
    var own = tile.scheduler(variant.score().causal()).tile(k, queries);
    var head = own.matrix();
    var firstRow = own.row();
    var batch = head.div(heads);
    var sharedHead = batch.times(heads.div(group)).plus(head.minus(batch.times(heads)).div(group));
    var keyRows = matrix(keysOfAll, sharedHead, keys, d);
    var valueRows = matrix(values, sharedHead, keys, dv);

    copy.fill(rows, matrix(q, head, queries, d), firstRow, queries, d);
    copyV.fill(rowsV, matrix(grad, head, queries, dv), firstRow, queries, dv);
    k.commitCopies();
    k.awaitCopies(0);
    k.barrier();
    var left = engine.keep(rows, variant.d(), MAX_KEPT);
    var leftV = engine.keep(rowsV, variant.dv(), MAX_KEPT);
    var sums = engine.sums(variant.d());
    var ofRows = new ArrayList<Query>();
    for (int r = 0; r < sums.rows(); r++) {
      ofRows.add(query(head, firstRow.plus(sums.row(r))));
    }

    var visible = score.keysOf(score.position(firstRow));
    var lastVisible =
        score.keysOf(score.position(firstRow.plus(tile.rows()).min(queries).plus(-1)));
    var range = score.tiles(visible, lastVisible, tile.columns());
    overColumns(
        range,
        new Source(keyRows, valueRows, keys),
        left,
        leftV,
        (key, weights) -> (r, c) -> ofRows.get(r),
        (key, weights, slopes, stage) ->
            add(
                score.ragged(visible, lastVisible, key, tile.columns()),
                seen -> hide(seen, key, r -> score.keysOf(score.position(firstRow.plus(r)))),
                List.of(new Product(sums, slopes, stage.first)),
                k.integer(0)));
    write(
        sums,
        variant.d(),
        0,
        copy,
        matrix(first, head, queries, d).at(firstRow),
        d,
        queries.minus(firstRow),
        d,
        scale);
  }

  private void writeKeys() {
    var tiles = keys.plus(tile.rows() - 1).div(tile.rows());
    var sharedHeads = heads.div(group);
    var index = k.block().div(tiles);
    var firstRow = k.block().minus(index.times(tiles)).times(tile.rows());
    var batchOfPart = index.div(sharedHeads);
    var slot = index.minus(batchOfPart.times(sharedHeads));
    var part = batchOfPart.div(batches);
    var batch = batchOfPart.minus(part.times(batches));
    var sharedHead = batch.times(sharedHeads).plus(slot);

    copy.fill(rows, matrix(keysOfAll, sharedHead, keys, d), firstRow, keys, d);
    copyV.fill(rowsV, matrix(values, sharedHead, keys, dv), firstRow, keys, dv);
    k.commitCopies();
    k.awaitCopies(0);
    k.barrier();
    var left = engine.keep(rows, variant.d(), MAX_KEPT);
    var leftV = engine.keep(rowsV, variant.dv(), MAX_KEPT);
    int width = variant.width(variant.d());
    int widthV = variant.width(variant.dv());
    var dkey = engine.sums(width);
    var dvalue = engine.sums(widthV);
    var column = part.times(BackwardVariant.MAX_SUMS);

    var visible = score.queriesOf(firstRow);
    var lastVisible = score.queriesOf(firstRow.plus(tile.rows()).min(keys).plus(-1));
    var range = score.tiles(visible, lastVisible, tile.columns());
    k.loop(
        k.integer(0),
        group,
        1,
        member -> {
          var head = batch.times(heads).plus(slot.times(group)).plus(member);
          var queryRows = matrix(q, head, queries, d);
          var gradRows = matrix(grad, head, queries, dv);
          overColumns(
              range,
              new Source(queryRows, gradRows, queries),
              left,
              leftV,
              (query, weights) -> {
                var of =
                    IntStream.range(0, weights.columns())
                        .mapToObj(c -> query(head, query.plus(weights.column(c))))
                        .toList();
                return (r, c) -> of.get(c);
              },
              (query, weights, slopes, stage) ->
                  add(
                      score.ragged(visible, lastVisible, query, tile.columns()),
                      seen -> hide(seen, query, r -> score.queriesOf(firstRow.plus(r))),
                      List.of(
                          new Product(dvalue, weights, stage.second),
                          new Product(dkey, slopes, stage.first)),
                      column));
        });
    var rowsLeft = keys.minus(firstRow);
    write(
        dkey,
        width,
        0,
        copy,
        matrix(first, sharedHead, keys, d).at(firstRow).plus(column.wide()),
        d,
        rowsLeft,
        d.minus(column),
        scale);
    write(
        dvalue,
        widthV,
        variant.secondAt(),
        copyV,
        matrix(second, sharedHead, keys, dv).at(firstRow).plus(column.wide()),
        dv,
        rowsLeft,
        dv.minus(column),
        null);
  }

  /**
   * The source of column tiles.
   *
   * @param limit number of rows
   */
  private record Source(RowCopy.Rows first, RowCopy.Rows second, Int limit) {}

  /** A column tile of the first and the second tensor. */
  private record Stage(SharedTile first, SharedTile second) {}

  /** Accumulates the contribution of the column tile that begins at {@code at}. */
  private interface Gradients {
    void add(Int at, RegisterTile weights, RegisterTile slopes, Stage stage);
  }

  /**
   * Iterates over tiles of columns; with two stages, copies overlap with products.
   *
   * @param queries loads the values of queries while copies are in flight
   * @param gradients accumulates the contribution of a tile
   */
  private void overColumns(
      Range range,
      Source source,
      Engine.Left left,
      Engine.Left leftV,
      BiFunction<Int, RegisterTile, Queries> queries,
      Gradients gradients) {
    var whole = new Stage(columns, columnsV);
    if (variant.stages() == 1) {
      k.loop(
          range.start(),
          range.to(),
          tile.columns(),
          at -> {
            fill(whole, source, at);
            multiply(whole, at, left, leftV, queries, gradients, () -> {});
            k.barrier();
          });
      return;
    }
    fill(whole, source, range.start());
    var offset = k.variable(k.integer(0));
    k.loop(
        range.start(),
        range.to(),
        tile.columns(),
        at -> {
          var full = new Stage(columns.at(offset), columnsV.at(offset));
          offset.set(k.integer(variant.stageBytes()).minus(offset));
          var free = new Stage(columns.at(offset), columnsV.at(offset));
          Runnable next = () -> fill(free, source, at.plus(tile.columns()));
          multiply(full, at, left, leftV, queries, gradients, next);
        });
    // drain the copy after the last tile, which is not used
    awaitStage();
  }

  /**
   * Multiplies a stage after its copies complete.
   *
   * @param next starts to fill the other stage, which all warps have consumed
   */
  private void multiply(
      Stage stage,
      Int at,
      Engine.Left left,
      Engine.Left leftV,
      BiFunction<Int, RegisterTile, Queries> queries,
      Gradients gradients,
      Runnable next) {
    var weights = engine.scores(tile.columns());
    var slopes = engine.scores(tile.columns());
    var query = queries.apply(at, weights);
    awaitStage();
    next.run();
    multiply(left, leftV, stage, weights, slopes, query);
    gradients.add(at, weights, slopes, stage);
  }

  private void fill(Stage stage, Source source, Int at) {
    copy.fill(stage.first, source.first, at, source.limit, d);
    copyV.fill(stage.second, source.second, at, source.limit, dv);
    k.commitCopies();
  }

  private void awaitStage() {
    k.awaitCopies(0);
    k.barrier();
  }

  /** Computes the probabilities and the gradients of the scores without a mask. */
  private void multiply(
      Engine.Left left,
      Engine.Left leftV,
      Stage stage,
      RegisterTile weights,
      RegisterTile slopes,
      Queries query) {
    engine.dot(weights, left, stage.first);
    score.cap(weights);
    engine.dot(slopes, leftV, stage.second);
    new ScoreGradient(score, variant.score().softcap()).multiply(weights, slopes, query);
  }

  /** A product to accumulate. */
  private record Product(RegisterTile sums, RegisterTile weights, SharedTile right) {}

  /**
   * Accumulates products; masks their weights first if the tile is ragged.
   *
   * @param ragged whether an element is hidden
   * @param hide sets hidden elements to 0
   */
  private void add(
      Predicate ragged, Consumer<RegisterTile> hide, List<Product> products, Int column) {
    k.when(ragged, () -> products.forEach(each -> hide.accept(each.weights)));
    for (var each : products) {
      if (variant.score().hides()) {
        engine.addSeen(each.sums, each.weights, each.right, column, ragged, hide);
      } else {
        engine.addWeighted(each.sums, each.weights, each.right, column);
      }
    }
  }

  /** Sets hidden elements to 0. */
  private void hide(RegisterTile part, Int at, Function<Int, Range> seen) {
    var ranges = IntStream.range(0, part.rows()).mapToObj(r -> seen.apply(part.row(r))).toList();
    score.hide(part, ranges, at, k.real(Type.F32, 0));
  }

  private void write(
      RegisterTile sums,
      int width,
      int offset,
      RowCopy by,
      GlobalPointer out,
      Int ld,
      Int rowsLeft,
      Int columnsLeft,
      @Nullable Real factor) {
    // a block without visible columns has not synchronized since it read its rows
    k.barrier();
    if (factor != null) {
      sums.map(sum -> sum.times(factor));
    }
    engine.write(sums, width, shared, offset, by, out, ld, rowsLeft, columnsLeft);
  }
}
