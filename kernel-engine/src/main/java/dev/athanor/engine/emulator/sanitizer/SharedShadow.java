package dev.athanor.engine.emulator.sanitizer;

import dev.athanor.engine.emulator.watch.LaunchGeometry;
import org.jspecify.annotations.Nullable;

/**
 * Who touched the shared memory of a block, from anywhere in its cluster: for each cell its last
 * writers, and for each warp the lanes that read it last. Cells are words, and smaller where
 * smaller accesses are made.
 */
final class SharedShadow {

  private static final int PAGE_BITS = 10;
  private static final int PAGE = 1 << PAGE_BITS;

  /** How many asynchronous readers of a cell are remembered. */
  private static final int FLIGHTS = 4;

  /** A piece of the memory with cells of one size. */
  private final class Page {
    int shift = 2;
    long[] written = new long[PAGE >> 2];

    /** The last strong writer, which a plain one does not hide, nor it a plain one. */
    long @Nullable [] strong;

    int[] readTimes = new int[(PAGE >> 2) * warps];
    int[] readLanes = new int[readTimes.length];
    long[] readMarks = new long[readTimes.length];

    /** The last {@link AsyncAccess}s that read each cell, one for an issuer; null = none did. */
    long @Nullable [] flights;

    long[] flights() {
      if (flights == null) {
        flights = new long[FLIGHTS * written.length];
      }
      return flights;
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
      var oldMarks = readMarks;
      var oldFlights = flights;
      flights = oldFlights == null ? null : new long[oldFlights.length * parts];
      written = new long[oldWritten.length * parts];
      readTimes = new int[written.length * warps];
      readLanes = new int[readTimes.length];
      readMarks = new long[readTimes.length];
      for (int i = 0; i < written.length; i++) {
        written[i] = oldWritten[i / parts];
        if (oldStrong != null && strong != null) {
          strong[i] = oldStrong[i / parts];
        }
        if (oldFlights != null && flights != null) {
          System.arraycopy(oldFlights, i / parts * FLIGHTS, flights, i * FLIGHTS, FLIGHTS);
        }
        System.arraycopy(oldTimes, i / parts * warps, readTimes, i * warps, warps);
        System.arraycopy(oldLanes, i / parts * warps, readLanes, i * warps, warps);
        System.arraycopy(oldMarks, i / parts * warps, readMarks, i * warps, warps);
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

  @SuppressWarnings("NullAway") // pages come as they are touched
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
   * A lane reads.
   *
   * @param mark complete, of a warp's time or a flight's number
   * @param seen up to when the warp, or the proxy of a flight, knows what each warp wrote
   */
  void read(long offset, int bytes, long mark, int[] seen, ConflictListener judge) {
    var page = page(offset, bytes);
    int warp = AccessStamp.warp(mark);
    int time = AccessStamp.time(mark);
    int bit = 1 << AccessStamp.lane(mark);
    int first = (int) (offset & (PAGE - 1)) >> page.shift;
    int end = first + (bytes >> page.shift);
    for (int cell = first; cell < end; cell++) {
      long writer = page.written[cell];
      if (writer != 0 && isNews(writer, mark, seen)) {
        judge.judge(writer, cluster, true);
      }
      if (page.strong != null && isNews(page.strong[cell], mark, seen)) {
        judge.judge(page.strong[cell], cluster, true);
      }
      if (AccessStamp.isFlight(mark)) {
        remember(page.flights(), cell * FLIGHTS, mark);
        continue;
      }
      int at = cell * warps + warp;
      if (page.readTimes[at] != time) {
        page.readTimes[at] = time;
        page.readLanes[at] = bit;
        page.readMarks[at] = mark;
      } else {
        page.readLanes[at] |= bit;
        if (AccessStamp.strength(page.readMarks[at]) != AccessStamp.WEAK
            || AccessStamp.strength(mark) == AccessStamp.WEAK) {
          page.readMarks[at] = mark;
        }
      }
    }
  }

  private static void remember(long[] flights, int first, long mark) {
    int at = first;
    for (int i = first; i < first + FLIGHTS; i++) {
      if (flights[i] == 0 || isOfOne(flights[i], mark)) {
        at = i;
        break;
      }
    }
    flights[at] = mark;
  }

  /** Whether two flights end one after the other: of one instruction, by one warpgroup. */
  private static boolean isOfOne(long one, long other) {
    return AccessStamp.instruction(one) == AccessStamp.instruction(other)
        && AccessStamp.warp(one) / LaunchGeometry.WARPGROUP
            == AccessStamp.warp(other) / LaunchGeometry.WARPGROUP;
  }

  /**
   * A lane writes.
   *
   * @param seen up to when the warp, or the proxy of a flight, knows what each warp wrote
   * @param seenReads up to when the warp knows what each warp read
   */
  void write(
      long offset, int bytes, long mark, int[] seen, int[] seenReads, ConflictListener judge) {
    var page = page(offset, bytes);
    int warp = AccessStamp.warp(mark);
    int own = 1 << AccessStamp.lane(mark);
    int first = (int) (offset & (PAGE - 1)) >> page.shift;
    int end = first + (bytes >> page.shift);
    for (int cell = first; cell < end; cell++) {
      long writer = page.written[cell];
      if (writer != 0 && isNews(writer, mark, seen)) {
        judge.judge(writer, cluster, true);
      }
      if (page.strong != null && isNews(page.strong[cell], mark, seen)) {
        judge.judge(page.strong[cell], cluster, true);
      }
      int at = cell * warps;
      for (int other = 0; other < warps; other++) {
        if (page.readTimes[at + other] > seenReads[other]) {
          int lanes = page.readLanes[at + other] & (other == warp ? ~own : -1);
          for (; lanes != 0; lanes &= lanes - 1) {
            judge.judge(
                AccessStamp.ofLane(
                    page.readMarks[at + other], Integer.numberOfTrailingZeros(lanes)),
                cluster,
                false);
          }
        }
      }
      for (int i = 0; page.flights != null && i < FLIGHTS; i++) {
        long reader = page.flights[cell * FLIGHTS + i];
        if (reader != 0) {
          judge.judge(reader, cluster, false);
          page.flights[cell * FLIGHTS + i] = 0;
        }
      }
      if (AccessStamp.strength(mark) == AccessStamp.WEAK) {
        page.written[cell] = mark;
      } else {
        page.strong()[cell] = mark;
      }
    }
  }

  /** Whether somebody else's access may not be known; the copies of a thread are not its own. */
  private static boolean isNews(long before, long mark, int[] seen) {
    return before != 0
        && (AccessStamp.has(before, AccessStamp.COPY)
            || ((AccessStamp.isFlight(mark)
                    || AccessStamp.thread(before) != AccessStamp.thread(mark))
                && AccessStamp.time(before) > seen[AccessStamp.warp(before)]));
  }
}
