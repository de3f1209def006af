package dev.athanor.ops.linear;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.ptx.Type;

/**
 * The kernel parameters {@code sizes, groups}: the number of rows of each group. A warp reads the
 * sizes of as many groups as it has lanes.
 *
 * @param groups number of groups
 */
record GroupSizes(KernelBuilder k, GlobalPointer sizes, Int groups) {

  /** Groups that a warp reads at a time. */
  static final int WARP = KernelBuilder.WARP;

  static GroupSizes declare(KernelBuilder k) {
    return new GroupSizes(k, k.input("sizes", Type.S32), k.integer("groups"));
  }

  /** The first row of a group, and the end of its rows. */
  record Rows(Int start, Int end) {}

  /**
   * Returns the rows of the group of this lane. Negative sizes count as 0.
   *
   * @param group of this lane; without rows if there is no such group
   * @param before rows of the groups before that of the first lane
   * @param m rows of all groups, to which sizes are clipped
   */
  Rows rows(Int group, Int before, Int m) {
    var size = sizes.loadWhere(group.lt(groups), group).integer().max(k.integer(0)).min(m);
    var sum = k.prefixSum(size);
    return new Rows(before.plus(sum.minus(size)).min(m), before.plus(sum).min(m));
  }

  /** Returns the value of the last lane. */
  Int ofLastLane(Int value) {
    return value.value().fromLane(k.integer(WARP - 1)).integer();
  }
}
