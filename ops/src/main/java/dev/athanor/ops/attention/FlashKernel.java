package dev.athanor.ops.attention;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.RegisterTile;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Wide;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.attention.FlashVariant.Store;
import dev.athanor.ops.attention.Score.Range;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * Emits the kernel of {@code softmax(score(q·kᵀ))·v} after FlashAttention-2 (Dao, 2023). A block
 * keeps a tile of queries and iterates over tiles of keys. It keeps the running maximum and the
 * running sum of exponentials of each row, and rescales the sums when the maximum grows. Copies of
 * keys overlap with the multiplication of values and vice versa.
 *
 * <p>Parameters: {@code q, k, v, out, [lse], [lengths, [table]], [mask], rows, keys, heads, group,
 * d, dv, [queries], [batches, splits], factor, cap, window, [maxBlocks, blocks, blockSize],
 * [batchRows, headRows, queryRows]}. Each of the {@code heads} of each batch has {@code rows}
 * queries; {@code group} heads share a head of k and v. Packed rows are those of several heads with
 * {@code queries} each. A kernel with splits writes f32 to {@code out[splits, batch, heads, rows,
 * dv]} and pairs of the greatest score, as {@link Score.Device#cap} returns it, and the sum of
 * weights to {@code lse[splits, batch, heads, rows, 2]}.
 *
 * <p>The one-dimensional grid enumerates tiles of queries first, then heads, batches and splits.
 */
final class FlashKernel {

  private final KernelBuilder k;
  private final FlashVariant variant;
  private final Tile tile;
  private final Engine engine;

  private FlashKernel(KernelBuilder k, FlashVariant variant) {
    this.k = k;
    this.variant = variant;
    tile = variant.tile();
    engine = Engine.of(k, tile, FlashVariant.type(variant.dtype()));
  }

  static Kernel build(FlashVariant variant) {
    return KernelBuilder.build(
        variant.name(), variant.tile().threads(), k -> new FlashKernel(k, variant).write());
  }

  /** The parameters and the share of this block in the problem. */
  private final class Block {
    final Type type = engine.type;
    final GlobalPointer q = k.input("q", type);
    final GlobalPointer keys = k.input("k", type);
    final GlobalPointer values = k.input("v", type);
    final GlobalPointer out = k.pointer("out", variant.split() ? Type.F32 : type);

    /** Absent if neither lse nor the sums of splits are written. */
    final Optional<GlobalPointer> lse =
        variant.logSumExp() || variant.split()
            ? Optional.of(k.pointer("lse", Type.F32))
            : Optional.empty();

    final boolean cached = variant.store() != Store.DENSE;
    final boolean paged = variant.store() == Store.PAGED;
    final Optional<GlobalPointer> lengths =
        cached ? Optional.of(k.input("lengths", Type.S32)) : Optional.empty();
    final Optional<GlobalPointer> table =
        paged ? Optional.of(k.input("table", Type.S32)) : Optional.empty();
    final Optional<GlobalPointer> mask =
        variant.mask().map(dtype -> k.input(Mask.NAME, Mask.type(dtype)));
    final Int rows = k.integer("rows");
    final Int capacity = k.integer("keys");
    final Int heads = k.integer("heads");
    final Int group = k.integer("group");
    final Int d = k.integer("d");
    final Int dv = k.integer("dv");
    final Int queries = variant.packed() ? k.integer("queries") : rows;
    final Int splits;
    final Score.Device score;
    final Int firstRow;
    final Int batch;
    final Int split;

    /** Index of the head over all batches. */
    final Int head;

    /** Index of the head over all batches and splits. */
    final Int part;

    /** Index of the head among those of its batch. */
    final Int slot;

    final RowCopy.Rows keyRows;
    final RowCopy.Rows valueRows;

    Block() {
      var batches = variant.split() ? k.integer("batches") : null;
      splits = variant.split() ? k.integer("splits") : k.integer(1);
      var own = tile.scheduler(variant.score().causal()).tile(k, rows);
      part = own.matrix();
      firstRow = own.row();
      var batchOfSplit = part.div(heads);
      slot = part.minus(batchOfSplit.times(heads));
      split = batches == null ? k.integer(0) : batchOfSplit.div(batches);
      batch = batches == null ? batchOfSplit : batchOfSplit.minus(split.times(batches));
      head = batch.times(heads).plus(slot);
      var sharedHeads = heads.div(group);
      var sharedHead = slot.div(group);
      var present =
          lengths
              .map(all -> all.load(batch).integer().max(k.integer(0)).min(capacity))
              .orElse(capacity);
      score = variant.score().new Device(k, queries, present);
      if (table.isPresent()) {
        var pages =
            new Pages(
                table.get(),
                batch,
                sharedHead,
                sharedHeads,
                present.plus(-1).max(k.integer(0)),
                k.integer("maxBlocks"),
                k.integer("blocks"),
                k.integer("blockSize"));
        keyRows = pages.rows(keys, d);
        valueRows = pages.rows(values, dv);
      } else {
        var matrix = batch.times(sharedHeads).plus(sharedHead);
        keyRows = RowCopy.Rows.of(keys.matrix(matrix, stride(capacity, d)), d);
        valueRows = RowCopy.Rows.of(values.matrix(matrix, stride(capacity, dv)), dv);
      }
    }

    /** Returns the keys that the query of a row sees. */
    Range visible(Int row) {
      // unless causal, all rows of a cache are heads of the newest query
      boolean newest = cached && !variant.score().causal();
      return score.keysOf(newest ? score.keys().plus(-1) : score.position(query(row)));
    }

    private Int query(Int row) {
      return variant.packed() ? row.rem(queries) : row;
    }

    /** Returns the rows of the mask for some of the block's rows; empty without a mask. */
    Optional<MaskRows> mask(List<Int> tileRows) {
      return mask.map(pointer ->
          MaskRows.of(
              k,
              pointer,
              batch,
              slot,
              rows,
              variant.packed() ? Optional.of(queries) : Optional.empty(),
              capacity,
              1,
              tileRows.stream().map(firstRow::plus)));
    }

    /** Returns the keys of the earliest query of the block. */
    Range first() {
      return visible(variant.packed() ? k.integer(0) : firstRow);
    }

    /** Returns the keys of the latest query of the block; packed rows may have all queries. */
    Range last() {
      return visible(
          variant.packed() ? queries.plus(-1) : firstRow.plus(tile.rows()).min(rows).plus(-1));
    }
  }

  private Wide stride(Int rows, Int columns) {
    return rows.wide().times(columns);
  }

  private void write() {
    var block = new Block();
    var copy = new RowCopy(k, tile.threads(), variant.access());
    var copyV = new RowCopy(k, tile.threads(), variant.accessV());
    var shared = k.dynamicShared();
    var queries = engine.tile(shared, 0, tile.rows(), variant.d());
    var keys = engine.tile(shared, variant.keysAt(), tile.columns(), variant.d());
    var values = engine.tile(shared, variant.valuesAt(), tile.columns(), variant.dv());
    engine.useScratch(shared, variant.scratchAt());

    var first = block.first();
    var last = block.last();
    var bounds = part(block, first, last);
    var limit = block.score.keys();

    var q = RowCopy.Rows.of(block.q.matrix(block.head, stride(block.rows, block.d)), block.d);
    copy.fill(queries, q, block.firstRow, block.rows, block.d);
    k.commitCopies();
    copy.fill(keys, block.keyRows, bounds.start(), limit, block.d);
    k.commitCopies();
    k.awaitCopies(1);
    k.barrier();
    var left = engine.keep(queries, variant.d(), tile.warpRows() == 16 ? 128 : 32);
    var sums = engine.part(variant.dv());
    var column = engine.firstOfPart(variant.dv());
    var softmax = new Softmax(block.score, sums, variant.hides());
    var mask = block.mask(IntStream.range(0, sums.rows()).mapToObj(sums::row).toList());

    k.loop(
        bounds.start(),
        bounds.to(),
        tile.columns(),
        key -> {
          k.awaitCopies(0);
          k.barrier();
          // the previous values were consumed before the barrier
          copyV.fill(values, block.valueRows, key, limit, block.dv);
          k.commitCopies();
          var scores = engine.scores(tile.columns());
          engine.dot(scores, left, keys);
          block.score.cap(scores);
          var masked = mask.map(rows -> rows.add(scores, key));
          // hide keys only in tiles that are not visible to all rows
          var beyond = block.score.ragged(first, last, key, tile.columns());
          k.when(beyond, () -> hide(block, scores, key, Double.NEGATIVE_INFINITY));
          var ragged = masked.map(beyond::or).orElse(beyond);
          var shrink = softmax.add(scores);
          sums.map(shrink, Real::times);
          k.awaitCopies(0);
          k.barrier();
          copy.fill(keys, block.keyRows, key.plus(tile.columns()), limit, block.d);
          k.commitCopies();
          if (variant.hides()) {
            engine.addSeen(
                sums, scores, values, column, ragged, seen -> hide(block, mask, seen, key));
          } else {
            engine.addWeighted(sums, scores, values, column);
          }
        });
    k.awaitCopies(0);
    k.barrier();

    finish(block, softmax, sums);
    writeOut(block, shared, copyV, sums);
    if (variant.split()) {
      k.launchDependents();
    }
  }

  private void writeOut(Block block, SharedTile shared, RowCopy copyV, RegisterTile sums) {
    var rows = block.rows.minus(block.firstRow);
    var place = stride(block.rows, block.dv).times(block.part);
    var out = block.out.plus(place).row(block.firstRow, block.dv);
    engine.write(sums, variant.dv(), shared, 0, copyV, out, block.dv, rows, block.dv);
  }

  /**
   * Returns the keys of the block, from the first tile that the first row sees to the last key of
   * the last row.
   */
  private Range part(Block block, Range first, Range last) {
    int columns = tile.columns();
    var all = block.score.tiles(first, last, columns);
    if (!variant.split()) {
      return all;
    }
    var from = all.start();
    var tiles = last.to().minus(from).max(k.integer(0)).plus(columns - 1).div(columns);
    var each = tiles.plus(block.splits).plus(-1).div(block.splits).times(columns);
    var start = from.plus(block.split.times(each));
    return new Range(start, start.plus(each).min(last.to()));
  }

  /** Sets the elements of keys that a row does not see to 0. */
  private void hide(Block block, Optional<MaskRows> mask, RegisterTile seen, Int key) {
    hide(block, seen, key, 0);
    mask.ifPresent(rows -> rows.hide(seen, key));
  }

  private void hide(Block block, RegisterTile scores, Int key, double hidden) {
    var ranges =
        IntStream.range(0, scores.rows())
            .mapToObj(r -> block.visible(block.firstRow.plus(scores.row(r))))
            .toList();
    block.score.hide(scores, ranges, key, k.real(Type.F32, hidden));
  }

  /** Normalizes the sums and writes lse. */
  private void finish(Block block, Softmax softmax, RegisterTile sums) {
    var ofRows = softmax.normalize(sums);
    if (variant.logSumExp() || variant.split()) {
      for (int r = 0; r < sums.rows(); r++) {
        writeSum(block, softmax, sums, r, ofRows.get(r));
      }
    }
  }

  private void writeSum(Block block, Softmax softmax, RegisterTile sums, int r, Real sum) {
    var row = block.firstRow.plus(sums.row(r));
    var most = softmax.greatest(r);
    var there = sums.isFirstOfRow().and(row.lt(block.rows));
    if (tile.across() > 1) {
      there = there.and(k.warp().rem(tile.across()).eq(0));
    }
    var first = block.rows.wide().times(block.part);
    if (variant.split()) {
      block
          .lse
          .orElseThrow()
          .plus(first.times(2))
          .storeWhere(there, row.times(2), List.of(most, sum));
    } else {
      var log2 = softmax.log2SumExp(r, sum);
      block.lse.orElseThrow().plus(first).storeWhere(there, row, log2.times(Math.log(2)));
    }
  }
}
