package dev.athanor.ops.linear;

import dev.athanor.engine.author.Cluster;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.tile.TileScheduler;
import dev.athanor.ops.tile.TileScheduler.Tile;
import dev.athanor.ops.tile.persistent.GroupedRows;
import java.util.function.BiConsumer;

/**
 * The tiles of {@link Groups} in kernels of persistent blocks, whose parameters are those of {@link
 * GroupSizes}. Each warp goes through the groups once and finds the tiles of its cluster.
 */
public final class GroupTiles implements GroupedRows {
  private final KernelBuilder k;
  private final GroupSizes sizes;

  private GroupTiles(KernelBuilder k, GroupSizes sizes) {
    this.k = k;
    this.sizes = sizes;
  }

  public static GroupTiles declare(KernelBuilder k) {
    return new GroupTiles(k, GroupSizes.declare(k));
  }

  @Override
  public Int eachTile(
      Cluster cluster, TileScheduler scheduler, Int m, Int n, BiConsumer<Tile, Int> body) {
    var rows = k.variable(k.integer(0));
    var tiles = k.variable(k.integer(0));
    var next = k.variable(cluster.index());
    var step = cluster.count();
    k.loop(
        k.integer(0),
        sizes.groups(),
        GroupSizes.WARP,
        from -> {
          var own = sizes.rows(from.plus(k.lane()), rows, m);
          var count = scheduler.tiles(own.end().minus(own.start()), n);
          var until = tiles.plus(k.prefixSum(count));
          var all = sizes.ofLastLane(until);
          k.loop(
              next,
              all,
              step,
              index -> {
                var lane = lanes(until, index);
                var start = ofLane(own.start(), lane);
                var end = ofLane(own.end(), lane);
                var inGroup = index.minus(ofLane(until.minus(count), lane));
                var tile = scheduler.tile(k, inGroup, end.minus(start), n);
                body.accept(new Tile(from.plus(lane), start.plus(tile.row()), tile.column()), end);
                next.set(index.plus(step));
              });
          rows.set(sizes.ofLastLane(own.end()));
          tiles.set(all);
        });
    return rows;
  }

  /** Returns the number of lanes whose groups have no tile from {@code index} on. */
  private Int lanes(Int until, Int index) {
    var isBefore = k.integer(1).where(until.le(index), k.integer(0));
    return k.compute(Type.S32, "redux.sync.add.s32", isBefore.value(), k.integer(-1).value())
        .integer();
  }

  private static Int ofLane(Int value, Int lane) {
    return value.value().fromLane(lane).integer();
  }
}
