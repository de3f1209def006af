package dev.athanor.ops.linear.quantized;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.LaneCoordinates;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.layout.Fragments;
import dev.athanor.ops.tile.GroupScales;
import java.util.ArrayList;

/**
 * The scales {@code [groups, N]} of a block's columns. They are loaded from global memory at the
 * start of a stage and used at its end. Columns beyond the last have zeros.
 *
 * @param firstColumn of the block
 * @param columns per warp
 * @param depth depth that shares scales; a divisor of the group size
 * @param pairs whether rows of scales are whole pairs, which allows loads of two
 */
record ColumnScales(
    KernelBuilder k,
    ProjectionParameters problem,
    Int firstColumn,
    int columns,
    int depth,
    boolean pairs)
    implements GroupScales {

  private static final int FRAGMENT = 8;

  @Override
  public Loaded load(Int row, Int column, Int depth) {
    var lane = new LaneCoordinates(Fragments.C_16X8.layout(), k.lane());
    var first = firstColumn.plus(column).plus(lane.column());
    var left = problem.n.minus(first);
    var group = depth.min(problem.depth.plus(-1)).shr(problem.groupShift);
    var ofGroup = problem.scales().plus(first.wide()).row(group, problem.n);
    var scales = new ArrayList<Value>();
    for (int fragment = 0; fragment < columns; fragment += FRAGMENT) {
      int atOnce = pairs ? 2 : 1;
      for (int i = fragment; i < fragment + 2; i += atOnce) {
        scales.addAll(ofGroup.loadWhere(left.gt(k.integer(i)), atOnce, k.integer(i)));
      }
    }
    return Loaded.ofColumns(scales);
  }
}
