package dev.athanor.engine.emulator.sanitizer;

import dev.athanor.engine.emulator.watch.LaunchGeometry;
import org.jspecify.annotations.Nullable;

/**
 * The shadow memory of the shared memory of a block, for accesses from all blocks of its cluster:
 * for each cell its last writers, and for each warp the lanes that read it last. A cell is a word,
 * or smaller where smaller accesses are made.
 */
final class SharedShadow {

  private static final int PAGE_BITS = 10;
  private static final int PAGE = 1 << PAGE_BITS;

  /** The number of asynchronous readers that a cell records. */
  private static final int ASYNC_READERS = 4;

  /** A part of the memory with cells of one size. */
  private final class Page {
    int shift = 2;
    long[] written = new long[PAGE >> 2];

    /** The last strong writer of each cell, kept apart from the last weak one; null = none. */
    long @Nullable [] strong;

    int[] readTimes = new int[(PAGE >> 2) * warps];
    int[] readLanes = new int[readTimes.length];
    long[] readStamps = new long[readTimes.length];

    /** The last asynchronous readers of each cell, one for each issuer; null = none. */
    long @Nullable [] asyncReaders;

    long[] asyncReaders() {
      if (asyncReaders == null) {
        asyncReaders = new long[ASYNC_READERS * written.length];
      }
      return asyncReaders;
    }

    long[] strong() {
      if (strong == null) {
        strong = new long[written.length];
      }
      return strong;
    }

    /** Makes the cells smaller. */
    void split(int newShift) {
      int parts = 1 << (shift - newShift);
      var oldWritten = written;
      var oldStrong = strong;
      strong = oldStrong == null ? null : new long[oldStrong.length * parts];
      var oldTimes = readTimes;
      var oldLanes = readLanes;
      var oldStamps = readStamps;
      var oldReaders = asyncReaders;
      asyncReaders = oldReaders == null ? null : new long[oldReaders.length * parts];
      written = new long[oldWritten.length * parts];
      readTimes = new int[written.length * warps];
      readLanes = new int[readTimes.length];
      readStamps = new long[readTimes.length];
      for (int i = 0; i < written.length; i++) {
        written[i] = oldWritten[i / parts];
        if (oldStrong != null && strong != null) {
          strong[i] = oldStrong[i / parts];
        }
        if (oldReaders != null && asyncReaders != null) {
          System.arraycopy(
              oldReaders,
              i / parts * ASYNC_READERS,
              asyncReaders,
              i * ASYNC_READERS,
              ASYNC_READERS);
        }
        System.arraycopy(oldTimes, i / parts * warps, readTimes, i * warps, warps);
        System.arraycopy(oldLanes, i / parts * warps, readLanes, i * warps, warps);
        System.arraycopy(oldStamps, i / parts * warps, readStamps, i * warps, warps);
      }
      shift = newShift;
    }
  }

  private final int warps;
  private final Page[] pages;
  private int cluster;

  SharedShadow(long bytes, int warps) {
    this.warps = warps;
    this.pages = new Page[(int) Math.ceilDiv(bytes, PAGE)];
  }

  /** A cluster begins. */
  void begin(int number) {
    cluster = number;
  }

  @SuppressWarnings("NullAway") // pages are made when they are accessed first
  private Page page(long offset, int bytes) {
    int index = (int) (offset >>> PAGE_BITS);
    var page = pages[index];
    if (page == null) {
      page = new Page();
      pages[index] = page;
    }
    if (bytes < 1 << page.shift) {
      page.split(Integer.numberOfTrailingZeros(bytes));
    }
    return page;
  }

  /**
   * A lane reads or writes.
   *
   * @param listener receives the accesses that may conflict with it
   */
  void access(Access access, int lane, ConflictListener listener) {
    var request = access.request();
    long offset = request.offsets[lane];
    int bytes = request.bytes;
    var page = page(offset, bytes);
    long stamp = access.stamp(lane);
    int first = (int) (offset & (PAGE - 1)) >> page.shift;
    int end = first + (bytes >> page.shift);
    boolean writes = access.writes();
    for (int cell = first; cell < end; cell++) {
      compareWriters(page, cell, stamp, access, lane, listener);
      if (writes) {
        compareReaders(page, cell, stamp, access, lane, listener);
        if (AccessStamp.strength(stamp) == AccessStamp.WEAK) {
          page.written[cell] = stamp;
        } else {
          page.strong()[cell] = stamp;
        }
      } else {
        addReader(page, cell, stamp);
      }
    }
  }

  private void compareWriters(
      Page page, int cell, long stamp, Access access, int lane, ConflictListener listener) {
    int[] seen = access.seenWrites();
    long writer = page.written[cell];
    if (writer != 0 && isUnordered(writer, stamp, seen)) {
      listener.conflict(access, lane, writer, cluster, true);
    }
    if (page.strong != null && isUnordered(page.strong[cell], stamp, seen)) {
      listener.conflict(access, lane, page.strong[cell], cluster, true);
    }
  }

  private void compareReaders(
      Page page, int cell, long stamp, Access access, int lane, ConflictListener listener) {
    int[] seen = access.seen();
    int warp = AccessStamp.warp(stamp);
    int own = 1 << AccessStamp.lane(stamp);
    int at = cell * warps;
    for (int other = 0; other < warps; other++) {
      if (page.readTimes[at + other] > seen[other]) {
        int lanes = page.readLanes[at + other] & (other == warp ? ~own : -1);
        for (; lanes != 0; lanes &= lanes - 1) {
          int reader = Integer.numberOfTrailingZeros(lanes);
          listener.conflict(
              access,
              lane,
              AccessStamp.ofLane(page.readStamps[at + other], reader),
              cluster,
              false);
        }
      }
    }
    for (int i = 0; page.asyncReaders != null && i < ASYNC_READERS; i++) {
      long reader = page.asyncReaders[cell * ASYNC_READERS + i];
      if (reader != 0) {
        listener.conflict(access, lane, reader, cluster, false);
        page.asyncReaders[cell * ASYNC_READERS + i] = 0;
      }
    }
  }

  private void addReader(Page page, int cell, long stamp) {
    if (AccessStamp.isAsync(stamp)) {
      remember(page.asyncReaders(), cell * ASYNC_READERS, stamp);
      return;
    }
    int at = cell * warps + AccessStamp.warp(stamp);
    int time = AccessStamp.time(stamp);
    int bit = 1 << AccessStamp.lane(stamp);
    if (page.readTimes[at] != time) {
      page.readTimes[at] = time;
      page.readLanes[at] = bit;
      page.readStamps[at] = stamp;
    } else {
      page.readLanes[at] |= bit;
      if (AccessStamp.strength(page.readStamps[at]) != AccessStamp.WEAK
          || AccessStamp.strength(stamp) == AccessStamp.WEAK) {
        page.readStamps[at] = stamp;
      }
    }
  }

  private static void remember(long[] asyncReaders, int first, long stamp) {
    int at = first;
    for (int i = first; i < first + ASYNC_READERS; i++) {
      if (asyncReaders[i] == 0 || isSameIssuer(asyncReaders[i], stamp)) {
        at = i;
        break;
      }
    }
    asyncReaders[at] = stamp;
  }

  /**
   * Returns whether one warpgroup issued two reads by one instruction, so that they end in order.
   */
  private static boolean isSameIssuer(long one, long other) {
    return AccessStamp.instruction(one) == AccessStamp.instruction(other)
        && AccessStamp.warp(one) / LaunchGeometry.WARPGROUP
            == AccessStamp.warp(other) / LaunchGeometry.WARPGROUP;
  }

  /**
   * Returns whether the clocks of their warps leave two accesses unordered, or cannot tell. The
   * copies of a thread are not ordered with the thread itself.
   */
  private static boolean isUnordered(long before, long stamp, int[] seen) {
    return before != 0
        && (AccessStamp.has(before, AccessStamp.COPY)
            || ((AccessStamp.isAsync(stamp)
                    || AccessStamp.thread(before) != AccessStamp.thread(stamp))
                && AccessStamp.time(before) > seen[AccessStamp.warp(before)]));
  }
}
