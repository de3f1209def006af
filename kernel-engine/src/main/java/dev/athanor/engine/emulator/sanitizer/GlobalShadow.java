package dev.athanor.engine.emulator.sanitizer;

import dev.athanor.engine.emulator.memory.Allocation;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * The shadow memory of the buffers of a launch: for each cell its last writers and two readers, of
 * different clusters if possible. A cell is a word, or smaller where smaller accesses are made. All
 * workers share it.
 */
final class GlobalShadow {

  private static final int PAGE_BITS = 12;
  private static final int PAGE = 1 << PAGE_BITS;

  /** The slots of a cell. */
  private static final int WRITER = 0;

  private static final int READER = 1;
  private static final int OTHER_READER = 2;
  private static final int SLOTS = 3;

  /** A part of a buffer with cells of one size. Its lock guards it. */
  private static final class Page {
    int shift = 2;
    long[] stamps = new long[(PAGE >> 2) * SLOTS];
    int[] clusters = new int[stamps.length];

    /** The last strong writer of each cell, kept apart from the last weak one; null = none. */
    long @Nullable [] strong;

    int @Nullable [] strongClusters;

    /** Makes the cells smaller. */
    void split(int newShift) {
      int parts = 1 << (shift - newShift);
      var oldStamps = stamps;
      var oldClusters = clusters;
      stamps = new long[oldStamps.length * parts];
      clusters = new int[stamps.length];
      for (int i = 0; i < stamps.length; i++) {
        int from = i / SLOTS / parts * SLOTS + i % SLOTS;
        stamps[i] = oldStamps[from];
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

  /** The pages of one buffer, which are made when they are accessed first. */
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

  /** Returns the pages of a buffer. */
  Pages of(Allocation buffer) {
    var pages = buffers.get(buffer);
    return pages != null ? pages : buffers.computeIfAbsent(buffer, of -> new Pages(of.bytes()));
  }

  /**
   * Some lanes access a buffer.
   *
   * @param lanes those that do
   */
  void access(Pages pages, Access access, int lanes, ConflictListener listener) {
    var request = access.request();
    boolean writes = access.writes();
    int left = lanes;
    while (left != 0) {
      var page = pages.page(request.offsets[Integer.numberOfTrailingZeros(left)]);
      synchronized (page) {
        while (left != 0) {
          int lane = Integer.numberOfTrailingZeros(left);
          long offset = request.offsets[lane];
          if (pages.page(offset) != page) {
            break;
          }
          int bytes = request.bytes(lane);
          if (bytes < 1 << page.shift) {
            page.split(Integer.numberOfTrailingZeros(bytes));
          }
          long stamp = access.stamp(lane);
          int first = (int) (offset & (PAGE - 1)) >> page.shift;
          int end = first + Math.max(1, bytes >> page.shift);
          for (int cell = first; cell < end; cell++) {
            if (writes) {
              write(page, cell * SLOTS, stamp, access, lane, listener);
            } else {
              read(page, cell * SLOTS, stamp, access, lane, listener);
            }
          }
          left &= left - 1;
        }
      }
    }
  }

  /** Forgets the accesses to bytes that start at a multiple of 4 and get a new owner. */
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
        Arrays.fill(page.stamps, first * SLOTS, (last + 1) * SLOTS, 0);
        if (page.strong != null) {
          Arrays.fill(page.strong, first, last + 1, 0);
        }
      }
    }
  }

  /**
   * A write to a buffer.
   *
   * @param stamp its {@link AccessStamp}
   * @param cluster that made it
   */
  record Write(long stamp, int cluster) {}

  /** Returns the last writes to bytes. */
  Set<Write> lastWrites(Allocation buffer, long offset, int bytes) {
    var pages = of(buffer);
    var found = new HashSet<Write>();
    for (long at = offset; at < offset + bytes; at += Integer.BYTES) {
      var page = pages.page(at);
      synchronized (page) {
        int first = (int) (at & (PAGE - 1)) >> page.shift;
        for (int cell = first; cell < first + (Integer.BYTES >> page.shift); cell++) {
          int slot = cell * SLOTS + WRITER;
          found.add(new Write(page.stamps[slot], page.clusters[slot]));
          if (page.strong != null && page.strongClusters != null) {
            found.add(new Write(page.strong[cell], page.strongClusters[cell]));
          }
        }
      }
    }
    found.removeIf(write -> write.stamp == 0);
    return found;
  }

  /**
   * An access of a launch that has ended.
   *
   * @param stamp its {@link AccessStamp}
   * @param cluster that made it
   */
  record Recorded(long stamp, int cluster, boolean wrote) {}

  /**
   * Returns an access to bytes that conflicts with one of another launch; null = none. The launch
   * of this shadow has ended.
   *
   * @param writes whether the other launch writes
   * @param strong whether it does so strongly at the scope of the device
   */
  @Nullable Recorded conflict(
      Allocation buffer, long offset, int bytes, boolean writes, boolean strong) {
    var pages = buffers.get(buffer);
    if (pages == null) {
      return null;
    }
    long end = offset + bytes;
    for (long start = offset; start < end; start = (start | (PAGE - 1)) + 1) {
      var page = pages.pages.get((int) (start >>> PAGE_BITS));
      if (page == null) {
        continue;
      }
      long stop = Math.min(end, (start | (PAGE - 1)) + 1);
      int last = (int) ((stop - 1) & (PAGE - 1)) >> page.shift;
      for (int cell = (int) (start & (PAGE - 1)) >> page.shift; cell <= last; cell++) {
        for (int slot = WRITER; slot < (writes ? SLOTS : READER); slot++) {
          int at = cell * SLOTS + slot;
          if (conflicts(page.stamps[at], strong)) {
            return new Recorded(page.stamps[at], page.clusters[at], slot == WRITER);
          }
        }
        if (page.strong != null
            && page.strongClusters != null
            && conflicts(page.strong[cell], strong)) {
          return new Recorded(page.strong[cell], page.strongClusters[cell], true);
        }
      }
    }
    return null;
  }

  private static boolean conflicts(long stamp, boolean strong) {
    return stamp != 0 && !(strong && AccessStamp.strength(stamp) == AccessStamp.DEVICE);
  }

  private static void read(
      Page page, int at, long stamp, Access access, int lane, ConflictListener listener) {
    long[] stamps = page.stamps;
    int[] clusters = page.clusters;
    int cluster = access.cluster;
    compareWriters(page, at, stamp, access, lane, listener);
    long last = stamps[at + READER];
    int lastCluster = clusters[at + READER];
    if (last == stamp && lastCluster == cluster) {
      return;
    }
    if (last != 0
        && (lastCluster != cluster || AccessStamp.thread(last) != AccessStamp.thread(stamp))) {
      // of the two earlier readers, the one that is farther away is kept
      long other = stamps[at + OTHER_READER];
      int otherCluster = clusters[at + OTHER_READER];
      if (other == 0
          || distance(last, lastCluster, stamp, cluster)
              >= distance(other, otherCluster, stamp, cluster)) {
        stamps[at + OTHER_READER] = last;
        clusters[at + OTHER_READER] = lastCluster;
      }
    }
    stamps[at + READER] = stamp;
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
      Page page, int at, long stamp, Access access, int lane, ConflictListener listener) {
    long[] stamps = page.stamps;
    int[] clusters = page.clusters;
    compareWriters(page, at, stamp, access, lane, listener);
    compare(stamps[at + READER], clusters[at + READER], stamp, access, lane, listener, false);
    long other = stamps[at + OTHER_READER];
    compare(other, clusters[at + OTHER_READER], stamp, access, lane, listener, false);
    if (AccessStamp.strength(stamp) == AccessStamp.WEAK) {
      stamps[at + WRITER] = stamp;
      clusters[at + WRITER] = access.cluster;
      return;
    }
    if (page.strong == null || page.strongClusters == null) {
      page.strong = new long[stamps.length / SLOTS];
      page.strongClusters = new int[page.strong.length];
    }
    page.strong[at / SLOTS] = stamp;
    page.strongClusters[at / SLOTS] = access.cluster;
  }

  private static void compareWriters(
      Page page, int at, long stamp, Access access, int lane, ConflictListener listener) {
    long writer = page.stamps[at + WRITER];
    compare(writer, page.clusters[at + WRITER], stamp, access, lane, listener, true);
    if (page.strong != null && page.strongClusters != null) {
      int cell = at / SLOTS;
      compare(page.strong[cell], page.strongClusters[cell], stamp, access, lane, listener, true);
    }
  }

  /** Passes two accesses to the listener, unless the clocks of their warps order them. */
  private static void compare(
      long before,
      int cluster,
      long stamp,
      Access access,
      int lane,
      ConflictListener listener,
      boolean wrote) {
    if (before != 0
        && (cluster != access.cluster
            || AccessStamp.has(before | stamp, AccessStamp.COPY | AccessStamp.READ_ONLY)
            || (AccessStamp.thread(before) != AccessStamp.thread(stamp)
                && AccessStamp.time(before) > access.seen()[AccessStamp.warp(before)]))) {
      listener.conflict(access, lane, before, cluster, wrote);
    }
  }
}
