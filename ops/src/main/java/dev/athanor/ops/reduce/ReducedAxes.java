package dev.athanor.ops.reduce;

import dev.athanor.ops.Shape;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * The dimensions of a tensor as alternating groups of reduced and kept neighbors, outermost first.
 * At least one group is reduced.
 */
record ReducedAxes(List<Group> groups) {

  /** Neighboring dimensions, merged into one. */
  record Group(long extent, boolean reduced) {}

  ReducedAxes {
    groups = List.copyOf(groups);
  }

  /** Groups the dimensions of a shape. */
  static ReducedAxes of(Shape shape, Set<Integer> axes) {
    // a reduced dimension of extent 1 matters only if there is no other
    boolean single = axes.stream().allMatch(axis -> shape.extent(axis) == 1);
    int only = axes.stream().mapToInt(axis -> axis).max().orElse(-1);
    var groups = new ArrayList<Group>();
    for (int i = 0; i < shape.rank(); i++) {
      long extent = shape.extent(i);
      if (extent == 1 && !(single && i == only)) {
        continue;
      }
      boolean reduced = axes.contains(i);
      if (!groups.isEmpty() && groups.getLast().reduced == reduced) {
        extent *= groups.removeLast().extent;
      }
      groups.add(new Group(extent, reduced));
    }
    if (axes.isEmpty()) {
      groups.add(new Group(1, true)); // a scalar
    }
    return new ReducedAxes(groups);
  }

  /** Returns the shape of the result. */
  static Shape result(Shape shape, Set<Integer> axes, boolean keepdims) {
    var extents = new ArrayList<Long>();
    for (int i = 0; i < shape.rank(); i++) {
      if (!axes.contains(i)) {
        extents.add(shape.extent(i));
      } else if (keepdims) {
        extents.add(1L);
      }
    }
    return new Shape(extents);
  }

  /** Returns the position of the longest reduced group, the first of several; -1 for none. */
  int longest() {
    int longest = -1;
    for (int i = 0; i < groups.size(); i++) {
      var group = groups.get(i);
      if (group.reduced && (longest < 0 || group.extent > groups.get(longest).extent)) {
        longest = i;
      }
    }
    return longest;
  }

  /** Returns whether another group than this is reduced. */
  boolean reducesBeside(int position) {
    for (int i = 0; i < groups.size(); i++) {
      if (i != position && groups.get(i).reduced) {
        return true;
      }
    }
    return false;
  }

  /** Returns the groups after a group was reduced to {@code segments} states. */
  ReducedAxes after(int position, int segments) {
    var rest = new ArrayList<>(groups);
    if (segments == 1) {
      rest.remove(position);
    } else {
      rest.set(position, new Group(segments, true));
    }
    return new ReducedAxes(rest);
  }

  /** Returns the number of elements of the groups before a position. */
  long before(int position) {
    return product(groups.subList(0, position));
  }

  /** Returns the number of elements of the groups after a position. */
  long behind(int position) {
    return product(groups.subList(position + 1, groups.size()));
  }

  private static long product(List<Group> some) {
    return some.stream().mapToLong(Group::extent).reduce(1, Math::multiplyExact);
  }

  /** Returns the number of elements that are reduced to one. */
  long count() {
    return product(groups.stream().filter(Group::reduced).toList());
  }

  /**
   * Returns the index of an element of x.
   *
   * @param kept index of the element of the result
   * @param reduced index among the elements that are reduced to it
   */
  long index(long kept, long reduced) {
    long index = 0;
    long stride = 1;
    for (var group : groups.reversed()) {
      long rest = group.reduced ? reduced : kept;
      index += rest % group.extent * stride;
      stride *= group.extent;
      if (group.reduced) {
        reduced = rest / group.extent;
      } else {
        kept = rest / group.extent;
      }
    }
    return index;
  }
}
