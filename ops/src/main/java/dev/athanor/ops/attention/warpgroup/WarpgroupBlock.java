package dev.athanor.ops.attention.warpgroup;

import dev.athanor.engine.author.Cluster;
import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Mbarriers;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.TensorParameter;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.attention.Mask;
import dev.athanor.ops.attention.MaskRows;
import dev.athanor.ops.attention.Pages;
import dev.athanor.ops.attention.RowCopy;
import dev.athanor.ops.attention.Score;
import dev.athanor.ops.attention.Score.Range;
import dev.athanor.ops.tile.Stage;
import dev.athanor.ops.tile.persistent.StageRing;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The parameters of a {@link WarpgroupKernel}, a block's share of the problem, and its shared
 * memory.
 */
final class WarpgroupBlock {

  final KernelBuilder k;
  final WarpgroupVariant variant;
  final WarpgroupTile tile;
  final Type type;

  final TensorParameter q;
  final TensorParameter keys;
  final TensorParameter values;
  final TensorParameter out;

  /** Absent if neither lse nor the sums of splits are written. */
  final Optional<GlobalPointer> lse;

  /** Absent if queries see all keys. */
  private final Optional<GlobalPointer> valuePointer;

  /** Absent without a mask. */
  private final Optional<GlobalPointer> mask;

  /** Index of the batch, where a cache or a mask needs it. */
  private final Int batch;

  /** Heads of q of a batch, where a mask needs it. */
  private final Int headsOfBatch;

  /** Absent unless the cache is paged. */
  private final Optional<Pages> pages;

  final Int rows;

  /** Rows of a head of keys and values in memory, unless the cache is paged. */
  private final Int capacity;

  /** The number of keys, at most the capacity. */
  final Int keyCount;

  final Int dv;
  private final Int queries;
  final Score.Device score;

  final SharedTile shared;
  final Mbarriers queryFull;
  final StageRing keyRing;
  final StageRing valueRing;
  final ValueScreen screen;

  /** Index of the block's head among those of all batches and splits. */
  final Int part;

  /** Index of the block's head among those of all batches. */
  final Int matrix;

  /** Index of the head of keys and values among those of all batches. */
  private final Int sharedMatrix;

  final Int firstRow;

  /** The first key of the block's first tile. */
  final Int firstKey;

  /** The number of tiles of keys, at least 1. */
  final Int tiles;

  WarpgroupBlock(KernelBuilder k, WarpgroupVariant variant) {
    this.k = k;
    this.variant = variant;
    tile = variant.tile();
    type = variant.type();
    q = k.tensor("q");
    keys = k.tensor("k");
    values = k.tensor("v");
    out = k.tensor("out");
    lse =
        variant.logSumExp() || variant.split()
            ? Optional.of(k.pointer("lse", Type.F32))
            : Optional.empty();
    valuePointer = variant.hides() ? Optional.of(k.input("values", type)) : Optional.empty();
    rows = k.integer("rows");
    capacity = k.integer("keys");
    var group = k.integer("group");
    dv = k.integer("dv");
    var matrices = k.integer("matrices");
    var section = k.integer("section");
    queries = variant.packed() ? k.integer("queries") : rows;

    shared = k.dynamicShared(Stage.REPEAT);
    var cluster = new Cluster(k, 1);
    int stages = tile.stages();
    queryFull = mbarriers(0);
    keyRing = new StageRing(k, cluster, mbarriers(1), stages);
    valueRing = new StageRing(k, cluster, mbarriers(1 + 2 * stages), stages);
    screen =
        new ValueScreen(
            k,
            type,
            valueRing,
            shared.at(k.integer(variant.valuesAt())),
            variant.values().bytes(),
            stages,
            mbarriers(1 + 4 * stages),
            shared.at(
                k.integer(variant.countsAt()),
                Type.S32,
                stages,
                ValueScreen.WARPS,
                ValueScreen.WARPS));

    var down = rows.plus(tile.rows() - 1).div(tile.rows());
    var ofSection = down.times(section);
    var firstMatrix = k.block().div(ofSection).times(section);
    var width = section.min(matrices.minus(firstMatrix));
    var within = k.block().minus(firstMatrix.times(down));
    var before = within.div(width);
    part = firstMatrix.plus(within.minus(before.times(width)));
    firstRow = down.minus(before).plus(-1).times(tile.rows());
    var splits = variant.split() ? k.integer("splits") : null;
    var heads = splits == null ? matrices : matrices.div(splits);
    var split = splits == null ? k.integer(0) : part.div(heads);
    matrix = splits == null ? part : part.minus(split.times(heads));
    sharedMatrix = matrix.div(group);
    mask = variant.mask().map(dtype -> k.input(Mask.NAME, Mask.type(dtype)));
    boolean batched = variant.cached() || mask.isPresent();
    var sharedHeads = batched ? k.integer("sharedHeads") : k.integer(0);
    batch = batched ? sharedMatrix.div(sharedHeads) : k.integer(0);
    headsOfBatch = mask.isPresent() ? sharedHeads.times(group) : k.integer(0);
    if (variant.cached()) {
      var length = k.input("lengths", Type.S32).load(batch).integer();
      keyCount = length.max(k.integer(0)).min(capacity);
      var sharedHead = sharedMatrix.minus(batch.times(sharedHeads));
      pages = variant.paged() ? Optional.of(pages(sharedHead, sharedHeads)) : Optional.empty();
    } else {
      keyCount = capacity;
      pages = Optional.empty();
    }
    score = variant.score().new Device(k, queries, keyCount);

    var all = score.tiles(first(firstRow), last(firstRow, tile.rows()), tile.keys());
    // a block without visible keys computes a tile that is hidden
    var one = k.integer(1);
    var count = all.to().minus(all.start()).max(one).plus(tile.keys() - 1).div(tile.keys());
    if (splits == null) {
      firstKey = all.start();
      tiles = count;
    } else {
      var each = count.plus(splits).plus(-1).div(splits);
      var begin = split.times(each);
      firstKey = all.start().plus(begin.times(tile.keys()));
      tiles = each.min(count.minus(begin)).max(one);
    }
  }

  private Pages pages(Int sharedHead, Int sharedHeads) {
    return new Pages(
        k.input("table", Type.S32),
        batch,
        sharedHead,
        sharedHeads,
        keyCount.plus(-1).max(k.integer(0)),
        k.integer("maxBlocks"),
        k.integer("blocks"),
        k.integer("blockSize"));
  }

  private Mbarriers mbarriers(int first) {
    return new Mbarriers(k, shared.at(k.integer(variant.mbarriersAt() + first * Mbarriers.BYTES)));
  }

  /** Returns where the copy of a key and those after it begins in keys and values. */
  Pages.Place place(Int key) {
    return pages.map(all -> all.place(key)).orElse(new Pages.Place(sharedMatrix, key));
  }

  /** Returns the values in global memory; absent if queries see all keys. */
  RowCopy.Rows valueRows() {
    var pointer = valuePointer.orElseThrow();
    return pages
        .map(all -> all.rows(pointer, dv))
        .orElseGet(
            () -> RowCopy.Rows.of(pointer.matrix(sharedMatrix, capacity.wide().times(dv)), dv));
  }

  /** Returns the rows of the mask for rows of a head; empty without a mask. */
  Optional<MaskRows> maskRows(Stream<Int> ofThread) {
    return mask.map(pointer ->
        MaskRows.of(
            k,
            pointer,
            batch,
            matrix.minus(batch.times(headsOfBatch)),
            rows,
            variant.packed() ? Optional.of(queries) : Optional.empty(),
            capacity,
            variant.maskElements(),
            ofThread));
  }

  /** Returns the keys that the query of a row sees, unless the mask hides them. */
  Range visible(Int row) {
    // unless causal, all rows of a cache are heads of the newest query
    boolean newest = variant.cached() && !variant.score().causal();
    var query = variant.packed() ? row.rem(queries) : row;
    return score.keysOf(newest ? keyCount.plus(-1) : score.position(query));
  }

  /** Returns the keys of the earliest query of some rows from one on. */
  private Range first(Int row) {
    return visible(variant.packed() ? k.integer(0) : row);
  }

  /** Returns the keys of the latest query of some rows; packed rows may have all queries. */
  private Range last(Int row, int count) {
    return visible(variant.packed() ? queries.plus(-1) : row.plus(count).min(rows).plus(-1));
  }

  /** Returns the first key of a tile. */
  Int key(Int number) {
    return firstKey.plus(number.times(tile.keys()));
  }

  /** Returns whether a query of the block may not see a whole tile of keys. */
  Predicate hides(Int number) {
    return mask.isPresent() ? k.integer(0).eq(0) : ragged(firstRow, tile.rows(), number);
  }

  /** Returns whether one of some queries does not see a whole tile of keys, without a mask. */
  Predicate ragged(Int row, int count, Int number) {
    return score.ragged(first(row), last(row, count), key(number), tile.keys());
  }
}
