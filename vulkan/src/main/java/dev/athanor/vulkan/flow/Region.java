package dev.athanor.vulkan.flow;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * The body of a loop, or the whole kernel. Its items are blocks and the headers of the loops
 * directly in it, in topological order.
 *
 * @param header the header of the loop; {@link ControlGraph#EXIT} = the kernel
 * @param always the items that are on all paths from the entry
 */
public record Region(int header, List<Integer> items, BitSet always) {

  /** A target outside of a region's items: its own header, or what follows the region. */
  private static final int OUTSIDE = -2;

  public static Region of(ControlGraph graph, int header) {
    int entry = header == ControlGraph.EXIT ? item(graph, header, 0) : header;
    var postorder = new ArrayList<Integer>();
    visit(graph, header, entry, new HashSet<>(), postorder);
    var always = new BitSet();
    for (int item : postorder) {
      if (item == entry || !bypasses(graph, header, entry, item)) {
        always.set(item);
      }
    }
    return new Region(header, postorder.reversed(), always);
  }

  /** Returns the item of a region that contains a block. */
  public static int item(ControlGraph graph, int region, int block) {
    int loop = graph.loopOf(block);
    if (loop == region) {
      return block;
    }
    while (graph.parent(loop) != region) {
      loop = graph.parent(loop);
    }
    return loop;
  }

  public static boolean contains(ControlGraph graph, int region, int block) {
    return region == ControlGraph.EXIT || graph.loop(region).get(block);
  }

  private static Set<Integer> successors(ControlGraph graph, int region, int item) {
    boolean nested = graph.isLoop(item) && item != region;
    var members = new BitSet();
    if (nested) {
      members.or(graph.loop(item));
    } else {
      members.set(item);
    }
    var found = new LinkedHashSet<Integer>();
    members.stream()
        .forEach(member -> {
          for (int next : graph.block(member).successors()) {
            if (next == ControlGraph.EXIT || next == region || !contains(graph, region, next)) {
              found.add(OUTSIDE);
            } else if (!nested || !members.get(next)) {
              found.add(item(graph, region, next));
            }
          }
        });
    return found;
  }

  private static void visit(
      ControlGraph graph, int region, int item, Set<Integer> seen, List<Integer> postorder) {
    if (seen.add(item)) {
      for (int next : successors(graph, region, item)) {
        if (next != OUTSIDE) {
          visit(graph, region, next, seen, postorder);
        }
      }
      postorder.add(item);
    }
  }

  /** Returns whether a path from the entry leaves the region without an item. */
  private static boolean bypasses(ControlGraph graph, int region, int entry, int item) {
    var seen = new HashSet<Integer>();
    var work = new ArrayList<>(List.of(entry));
    while (!work.isEmpty()) {
      int at = work.removeLast();
      if (at == OUTSIDE) {
        return true;
      }
      if (at != item && seen.add(at)) {
        work.addAll(successors(graph, region, at));
      }
    }
    return false;
  }
}
