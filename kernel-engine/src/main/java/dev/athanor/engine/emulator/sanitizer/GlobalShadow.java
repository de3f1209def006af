package dev.athanor.engine.emulator.sanitizer;

import dev.athanor.engine.emulator.memory.Allocation;
import dev.athanor.engine.emulator.watch.MemoryRequest;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * Who touched the buffers in a launch: for each cell its last writers and two readers, of different
 * clusters if there are such. Cells are words, and smaller where smaller accesses are made. Several
 * workers use it.
 */
final class GlobalShadow {

  private static final int PAGE_BITS = 12;
  private static final int PAGE = 1 << PAGE_BITS;

  /** A slot of a cell. */
  private static final int WRITER = 0;

  private static final int READER = 1;
  private static final int OTHER_READER = 2;
  private static final int SLOTS = 3;

  /** A piece of a buffer with cells of one size; whoever uses it holds its lock. */
  private static final class Page {
    int shift = 2;
    long[] marks = new long[(PAGE >> 2) * SLOTS];
    int[] clusters = new int[marks.length];

    /** The last strong writer, which a plain one does not hide, nor it a plain one. */
    long @Nullable [] strong;

    int @Nullable [] strongClusters;

    /** Makes the cells smaller. */
    void split(int newShift) {
      int parts = 1 << (shift - newShift);
      var oldMarks = marks;
      var oldClusters = clusters;
      marks = new long[oldMarks.length * parts];
      clusters = new int[marks.length];
      for (int i = 0; i < marks.length; i++) {
        int from = i / SLOTS / parts * SLOTS + i % SLOTS;
        marks[i] = oldMarks[from];
        clusters[i] = oldClusters[from];
      }
      if (strong != null && strongClusters != null) {
        var wasStrong = strong;
        var wasIn = strongClusters;
        strong = new long[wasStrong.length * parts];
        strongClusters = new int[strong.length];
        for (int i = 0; i < strong.length; i++) {
          strong[i] = wasStrong[i / parts];
          strongClusters[i] = wasIn[i / parts];
        }
      }
      shift = newShift;
    }
  }

  /** The pages of one buffer, which come as they are touched. */
  static final class Pages {
    private final AtomicReferenceArray<@Nullable Page> pages;

    private Pages(long bytes) {
      pages = new AtomicReferenceArray<>((int) Math.ceilDiv(bytes, PAGE));
    }

    private Page page(long offset) {
      int index = (int) (offset >>> PAGE_BITS);
      var page = pages.get(index);
      if (page == null) {
        page = new Page();
        var other = pages.compareAndExchange(index, null, page);
        page = other == null ? page : other;
      }
      return page;
    }
  }

  private final Map<Allocation, Pages> buffers = new ConcurrentHashMap<>();

  /** The pages of a buffer. */
  Pages of(Allocation buffer) {
    var pages = buffers.get(buffer);
    return pages != null ? pages : buffers.computeIfAbsent(buffer, of -> new Pages(of.bytes()));
  }

  /**
   * Some lanes touch a buffer.
   *
   * @param touch says where
   * @param lanes those that do, of one buffer
   * @param mark without thread and time
   * @param warp its number in its cluster
   * @param times of each lane
   */
  void touch(
      Pages pages,
      MemoryRequest touch,
      int lanes,
      boolean writes,
      long mark,
      int warp,
      int[] times,
      int cluster,
      int[] seen,
      ConflictListener[] judges) {
    int left = lanes;
    while (left != 0) {
      var page = pages.page(touch.offsets[Integer.numberOfTrailingZeros(left)]);
      synchronized (page) {
        while (left != 0) {
          int lane = Integer.numberOfTrailingZeros(left);
          long offset = touch.offsets[lane];
          if (pages.page(offset) != page) {
            break;
          }
          int bytes = touch.bytes(lane);
          if (bytes < 1 << page.shift) {
            page.split(Integer.numberOfTrailingZeros(bytes));
          }
          long own = AccessStamp.at(mark, warp, lane, times[lane]);
          int first = (int) (offset & (PAGE - 1)) >> page.shift;
          int end = first + Math.max(1, bytes >> page.shift);
          for (int cell = first; cell < end; cell++) {
            if (writes) {
              write(page, cell * SLOTS, own, cluster, seen, judges[lane]);
            } else {
              read(page, cell * SLOTS, own, cluster, seen, judges[lane]);
            }
          }
          left &= left - 1;
        }
      }
    }
  }

  /** Forgets who touched bytes that lie at a multiple of 4 and belong to somebody else from now. */
  void forget(Allocation buffer, long offset, long bytes) {
    var of = of(buffer);
    long end = offset + bytes;
    for (long start = offset; start < end; start = (start | (PAGE - 1)) + 1) {
      var page = of.pages.get((int) (start >>> PAGE_BITS));
      if (page == null) {
        continue;
      }
      long stop = Math.min(end, (start | (PAGE - 1)) + 1);
      synchronized (page) {
        int first = (int) (start & (PAGE - 1)) >> page.shift;
        int last = (int) ((stop - 1) & (PAGE - 1)) >> page.shift;
        Arrays.fill(page.marks, first * SLOTS, (last + 1) * SLOTS, 0);
        if (page.strong != null) {
          Arrays.fill(page.strong, first, last + 1, 0);
        }
      }
    }
  }

  /** Shows who last wrote bytes, each of them once. */
  void writers(Pages pages, long offset, int bytes, ConflictListener judge) {
    var seen = new HashSet<List<Long>>();
    for (long at = offset; at < offset + bytes; at += Integer.BYTES) {
      var page = pages.page(at);
      synchronized (page) {
        int first = (int) (at & (PAGE - 1)) >> page.shift;
        for (int cell = first; cell < first + (Integer.BYTES >> page.shift); cell++) {
          seen.add(
              List.of(
                  page.marks[cell * SLOTS + WRITER], (long) page.clusters[cell * SLOTS + WRITER]));
          if (page.strong != null && page.strongClusters != null) {
            seen.add(List.of(page.strong[cell], (long) page.strongClusters[cell]));
          }
        }
      }
    }
    for (var writer : seen) {
      if (writer.get(0) != 0) {
        judge.judge(writer.get(0), writer.get(1).intValue(), true);
      }
    }
  }

  private static void read(
      Page page, int at, long mark, int cluster, int[] seen, ConflictListener judge) {
    long[] marks = page.marks;
    int[] clusters = page.clusters;
    look(marks[at + WRITER], clusters[at + WRITER], mark, cluster, seen, judge, true);
    if (page.strong != null && page.strongClusters != null) {
      int cell = at / SLOTS;
      look(page.strong[cell], page.strongClusters[cell], mark, cluster, seen, judge, true);
    }
    long last = marks[at + READER];
    int lastCluster = clusters[at + READER];
    if (last == mark && lastCluster == cluster) {
      return;
    }
    if (last != 0
        && (lastCluster != cluster || AccessStamp.thread(last) != AccessStamp.thread(mark))) {
      // of the two others the one is kept that is farther away
      long other = marks[at + OTHER_READER];
      int otherCluster = clusters[at + OTHER_READER];
      if (other == 0
          || distance(last, lastCluster, mark, cluster)
              >= distance(other, otherCluster, mark, cluster)) {
        marks[at + OTHER_READER] = last;
        clusters[at + OTHER_READER] = lastCluster;
      }
    }
    marks[at + READER] = mark;
    clusters[at + READER] = cluster;
  }

  private static int distance(long a, int clusterA, long b, int clusterB) {
    return clusterA != clusterB
        ? 3
        : AccessStamp.warp(a) != AccessStamp.warp(b)
            ? 2
            : AccessStamp.thread(a) != AccessStamp.thread(b) ? 1 : 0;
  }

  private static void write(
      Page page, int at, long mark, int cluster, int[] seen, ConflictListener judge) {
    long[] marks = page.marks;
    int[] clusters = page.clusters;
    look(marks[at + WRITER], clusters[at + WRITER], mark, cluster, seen, judge, true);
    if (page.strong != null && page.strongClusters != null) {
      int cell = at / SLOTS;
      look(page.strong[cell], page.strongClusters[cell], mark, cluster, seen, judge, true);
    }
    look(marks[at + READER], clusters[at + READER], mark, cluster, seen, judge, false);
    look(marks[at + OTHER_READER], clusters[at + OTHER_READER], mark, cluster, seen, judge, false);
    if (AccessStamp.strength(mark) == AccessStamp.WEAK) {
      marks[at + WRITER] = mark;
      clusters[at + WRITER] = cluster;
      return;
    }
    if (page.strong == null || page.strongClusters == null) {
      page.strong = new long[marks.length / SLOTS];
      page.strongClusters = new int[page.strong.length];
    }
    page.strong[at / SLOTS] = mark;
    page.strongClusters[at / SLOTS] = cluster;
  }

  /** Lets two accesses be judged, unless they are plainly in order. */
  private static void look(
      long before,
      int where,
      long mark,
      int cluster,
      int[] seen,
      ConflictListener judge,
      boolean wrote) {
    if (before != 0
        && (where != cluster
            || AccessStamp.has(before | mark, AccessStamp.COPY | AccessStamp.READ_ONLY)
            || (AccessStamp.thread(before) != AccessStamp.thread(mark)
                && AccessStamp.time(before) > seen[AccessStamp.warp(before)]))) {
      judge.judge(before, where, wrote);
    }
  }
}
