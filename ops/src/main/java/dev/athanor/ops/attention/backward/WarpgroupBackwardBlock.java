package dev.athanor.ops.attention.backward;

import dev.athanor.engine.author.Cluster;
import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Mbarriers;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.TensorParameter;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.attention.Score;
import dev.athanor.ops.attention.Score.Range;
import dev.athanor.ops.attention.warpgroup.ValueScreen;
import dev.athanor.ops.attention.warpgroup.WarpgroupTile;
import dev.athanor.ops.tile.Stage;
import dev.athanor.ops.tile.TileScheduler;
import dev.athanor.ops.tile.TileScheduler.Order;
import dev.athanor.ops.tile.persistent.StageRing;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.stream.Stream;

/**
 * The parameters of a {@link WarpgroupBackwardKernel}, a block's share of the problem, and its
 * shared memory.
 */
final class WarpgroupBackwardBlock {

  final KernelBuilder k;
  final WarpgroupBackwardVariant variant;
  final WarpgroupTile tile;

  /** The tensors of the rows, whose gradients the block computes: q and grad, or k and v. */
  final Pair<TensorParameter> rowTensors;

  /** The tensors of the columns: k and v, or q and grad. */
  final Pair<TensorParameter> columnTensors;

  /** The gradients: dq, or dk and dv. */
  final List<TensorParameter> gradients;

  /** Tensors of lse and delta, of which a stage has those of its columns; empty for dq. */
  final List<TensorParameter> statistics;

  /** Pointers to lse and delta; empty for dk and dv. */
  final List<GlobalPointer> rowStatistics;

  /** Pointers to the tensors that gradients are sums of; empty if queries see all keys. */
  final List<GlobalPointer> summands;

  /** The number of rows of a head: queries, or keys. */
  final Int rowCount;

  /** The number of columns of a head: keys, or queries. */
  final Int columnCount;

  final Int queries;
  final Int d;
  final Int dv;
  final Real scale;
  final Score.Device score;

  final SharedTile shared;
  final Mbarriers rowsFull;
  final StageRing ring;
  final ValueScreen screen;

  /** The index of the head of the rows among those of all batches. */
  final Int matrix;

  final Int firstRow;

  /** The heads of q that share a head of k and v. */
  private final Int group;

  /** The first column of the block's first tile. */
  private final Int firstColumn;

  /** The number of tiles of columns of a head. */
  private final Int tiles;

  /** Two tensors of different columns: d and dv. */
  record Pair<T>(T first, T second) {}

  WarpgroupBackwardBlock(KernelBuilder k, WarpgroupBackwardVariant variant) {
    this.k = k;
    this.variant = variant;
    tile = variant.tile();
    boolean isOfQueries = variant.isOfQueries();
    var ofQueries = new Pair<>(k.tensor("q"), k.tensor("grad"));
    var ofKeys = new Pair<>(k.tensor("k"), k.tensor("v"));
    rowTensors = isOfQueries ? ofQueries : ofKeys;
    columnTensors = isOfQueries ? ofKeys : ofQueries;
    gradients = names("first", "second").map(k::tensor).toList();
    rowStatistics =
        isOfQueries ? List.of(k.input("lse", Type.F32), k.input("delta", Type.F32)) : List.of();
    statistics = isOfQueries ? List.of() : List.of(k.tensor("lse"), k.tensor("delta"));
    summands =
        names("columns", "secondColumns")
            .filter(_ -> hides())
            .map(name -> k.input(name, variant.type()))
            .toList();
    queries = k.integer("queries");
    var keys = k.integer("keys");
    group = k.integer("group");
    d = k.integer("d");
    dv = k.integer("dv");
    scale = k.real("scale", Type.F32);
    score = variant.score().new Device(k, queries, keys);
    rowCount = isOfQueries ? queries : keys;
    columnCount = isOfQueries ? keys : queries;

    shared = k.dynamicShared(Stage.REPEAT);
    int stages = tile.stages();
    rowsFull = mbarriers(0);
    ring = new StageRing(k, new Cluster(k, 1), mbarriers(1), stages);
    screen =
        new ValueScreen(
            k,
            variant.type(),
            ring,
            shared.at(k.integer(variant.columnsAt())),
            variant.stageBytes(),
            stages,
            mbarriers(1 + 2 * stages),
            shared.at(
                k.integer(variant.countsAt()),
                Type.S32,
                stages,
                ValueScreen.WARPS,
                ValueScreen.WARPS));

    boolean lastIsLongest = isOfQueries && variant.score().causal();
    var own =
        TileScheduler.ofRows(tile.rows(), lastIsLongest ? Order.LAST_ROW_FIRST : Order.ROWS)
            .tile(k, rowCount);
    matrix = own.matrix();
    firstRow = own.row();
    var all = score.tiles(visible(firstRow), last(firstRow, tile.rows()), variant.width());
    firstColumn = all.start();
    var seen = all.to().minus(firstColumn).max(k.integer(0));
    tiles = seen.plus(variant.width() - 1).div(variant.width());
  }

  /** Returns the first name for dq, and both for dk and dv. */
  private Stream<String> names(String first, String second) {
    return variant.isOfQueries() ? Stream.of(first) : Stream.of(first, second);
  }

  private Mbarriers mbarriers(int first) {
    return new Mbarriers(k, shared.at(k.integer(variant.mbarriersAt() + first * Mbarriers.BYTES)));
  }

  boolean hides() {
    return variant.score().hides();
  }

  /** Returns the columns that a row sees, or that see it. */
  Range visible(Int row) {
    return variant.isOfQueries() ? score.keysOf(score.position(row)) : score.queriesOf(row);
  }

  /** Returns the columns of the last of some rows. */
  private Range last(Int row, int count) {
    return visible(row.plus(count).min(rowCount).plus(-1));
  }

  /** Returns whether some pair of rows and the columns of a tile is hidden. */
  Predicate ragged(Int row, int count, Int column) {
    return score.ragged(visible(row), last(row, count), column, variant.width());
  }

  private Int column(Int number) {
    return firstColumn.plus(number.times(variant.width()));
  }

  /**
   * Iterates over the tiles of all heads with columns for the block.
   *
   * @param body emits the iteration, given the index of the head and the first column of the tile
   */
  void overTiles(BiConsumer<Int, Int> body) {
    if (variant.isOfQueries()) {
      overTiles(matrix.div(group), body);
    } else {
      k.loop(k.integer(0), group, 1, member -> overTiles(matrix.times(group).plus(member), body));
    }
  }

  private void overTiles(Int head, BiConsumer<Int, Int> body) {
    k.loop(k.integer(0), tiles, 1, number -> body.accept(head, column(number)));
  }

  /** Finds the infinities and NaNs of all tiles that some row of the block does not see whole. */
  void findSpecial() {
    var all = variant.isOfQueries() ? tiles : tiles.times(group);
    screen.find(all, number -> ragged(firstRow, tile.rows(), column(number.rem(tiles))));
  }

  /** Returns the offset of a stage's tiles in shared memory. */
  Int columnsAt(Int stage) {
    return stage.times(variant.stageBytes()).plus(variant.columnsAt());
  }

  /** Returns the offset of a stage's statistics in shared memory. */
  Int statisticsAt(Int stage) {
    return stage.times(2 * variant.statisticBytes()).plus(variant.statisticsAt());
  }

  /** Returns the tensors that are copied, to or from shared memory. */
  Stream<TensorParameter> tensors() {
    return Stream.of(
            Stream.of(rowTensors.first, rowTensors.second),
            Stream.of(columnTensors.first, columnTensors.second),
            gradients.stream(),
            statistics.stream())
        .flatMap(each -> each);
  }
}
