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
import dev.athanor.ops.attention.Score;
import dev.athanor.ops.attention.Score.Range;
import dev.athanor.ops.tile.Stage;
import dev.athanor.ops.tile.persistent.StageRing;
import java.util.Optional;

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

  /** Absent if lse is not written. */
  final Optional<GlobalPointer> lse;

  /** Absent if queries see all keys. */
  final Optional<GlobalPointer> valuePointer;

  final Int rows;
  final Int keyCount;
  final Int dv;
  final Score.Device score;

  final SharedTile shared;
  final Mbarriers queryFull;
  final StageRing keyRing;
  final StageRing valueRing;
  final ValueScreen screen;

  /** Index of the block's head among those of all batches. */
  final Int matrix;

  final Int sharedMatrix;
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
    lse = variant.logSumExp() ? Optional.of(k.pointer("lse", Type.F32)) : Optional.empty();
    valuePointer = hides() ? Optional.of(k.input("values", type)) : Optional.empty();
    rows = k.integer("rows");
    keyCount = k.integer("keys");
    var group = k.integer("group");
    dv = k.integer("dv");
    var matrices = k.integer("matrices");
    var section = k.integer("section");
    score = variant.score().new Device(k, rows, keyCount);

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
    matrix = firstMatrix.plus(within.minus(before.times(width)));
    sharedMatrix = matrix.div(group);
    firstRow = down.minus(before).plus(-1).times(tile.rows());
    var all = score.tiles(visible(firstRow), last(firstRow, tile.rows()), tile.keys());
    firstKey = all.start();
    // a block without visible keys computes a tile that is hidden
    tiles = all.to().minus(firstKey).max(k.integer(1)).plus(tile.keys() - 1).div(tile.keys());
  }

  private Mbarriers mbarriers(int first) {
    return new Mbarriers(k, shared.at(k.integer(variant.mbarriersAt() + first * Mbarriers.BYTES)));
  }

  boolean hides() {
    return variant.score().hides();
  }

  /** Returns the keys that a query sees. */
  Range visible(Int row) {
    return score.keysOf(score.position(row));
  }

  /** Returns the keys of the last of some queries. */
  private Range last(Int row, int count) {
    return visible(row.plus(count).min(rows).plus(-1));
  }

  /** Returns the first key of a tile. */
  Int key(Int number) {
    return firstKey.plus(number.times(tile.keys()));
  }

  /** Returns whether one of some queries does not see a whole tile of keys. */
  Predicate ragged(Int row, int count, Int number) {
    return score.ragged(visible(row), last(row, count), key(number), tile.keys());
  }
}
