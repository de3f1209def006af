package dev.athanor.ops.linear;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Wide;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.linear.BatchParameters.Matrices;
import dev.athanor.ops.tile.TileScheduler;
import dev.athanor.ops.tile.TileScheduler.Tile;
import java.util.List;
import java.util.Optional;

/**
 * The kernel parameters of {@link Groups}: {@code sizes, groups, strideB}. Each block finds the
 * rows of its tile: the lanes of a warp read the sizes of as many groups, count their rows and
 * tiles, and add up those before them.
 */
final class GroupParameters implements TileLocator {
  /** Integers in shared memory: the group, its row, its end; and one, for a vector. */
  private static final int FOUND = 4;

  private final KernelBuilder k;
  private final GroupSizes sizes;
  private final Int groups;
  private final Wide strideB;

  GroupParameters(KernelBuilder k) {
    this.k = k;
    sizes = GroupSizes.declare(k);
    groups = sizes.groups();
    strideB = k.wide("strideB");
  }

  /**
   * The group that the rows of a tile belong to.
   *
   * @param index its index
   * @param exists whether there is one: the rows may follow those of the last group
   */
  record Group(Int index, Predicate exists) {}

  @Override
  public ProductTile locate(Matrices first, TileScheduler shape, Int m, Int n) {
    var across = n.plus(shape.n() - 1).div(shape.n());
    var down = k.block().div(across);
    var column = k.block().minus(down.times(across)).times(shape.n());
    var found = k.shared(Type.S32, 1, FOUND, FOUND);
    k.when(k.warp().eq(0), () -> find(found, down, shape.m(), m));
    k.barrier();
    var index = read(found, 0);
    var end = read(found, 2);
    var b = first.b().matrix(index.min(groups.plus(-1)), strideB);
    return new ProductTile(
        new Matrices(first.a(), b, first.c()),
        new Tile(index, read(found, 1), column),
        end,
        Optional.of(new Group(index, index.lt(groups))));
  }

  private Int read(SharedTile found, int place) {
    return found.load(k.integer(0), k.integer(place)).integer();
  }

  /**
   * Finds the group of a tile, the first row of the tile, and the end of the rows of the group.
   *
   * @param down number of tiles of rows before this one
   * @param tile rows of a tile
   */
  private void find(SharedTile found, Int down, int tile, Int m) {
    var rows = k.variable(k.integer(0));
    var tiles = k.variable(k.integer(0));
    k.loop(
        k.integer(0),
        groups,
        GroupSizes.WARP,
        from -> {
          var group = from.plus(k.lane());
          var own = sizes.rows(group, rows, m);
          var count = own.end().minus(own.start()).plus(tile - 1).div(tile);
          var all = k.prefixSum(count);
          var inGroup = down.minus(tiles.plus(all.minus(count)));
          k.when(
              inGroup.ge(k.integer(0)).and(inGroup.lt(count)),
              () -> store(found, group, own.start().plus(inGroup.times(tile)), own.end()));
          rows.set(sizes.ofLastLane(own.end()));
          tiles.add(sizes.ofLastLane(all));
        });
    k.when(
        k.lane().eq(0).and(down.ge(tiles)),
        () -> store(found, groups, rows.plus(down.minus(tiles).times(tile)), m));
  }

  private void store(SharedTile found, Int group, Int row, Int end) {
    found.store(
        k.integer(0), k.integer(0), List.of(group.value(), row.value(), end.value(), end.value()));
  }
}
