package dev.athanor.engine.profile;

import dev.athanor.engine.ptx.Warps;
import java.util.Arrays;

/**
 * The sectors and lines of global memory that a warp's request accesses. Caches have 128-byte lines
 * of 32-byte sectors; a sector is the unit of transfer (Nsight Compute documentation, "Memory
 * Tables"). Each worker has its own instance.
 */
public final class Sectors {

  /** Size of a sector in bytes. */
  public static final int SECTOR = 32;

  /** Size of a cache line in bytes. */
  public static final int LINE = 128;

  private static final int LANES = Warps.SIZE;
  private static final int LARGEST = 128;

  private final long[] starts = new long[LANES];
  private int touched;
  private final long[] numbers = new long[LANES * (LARGEST / SECTOR + 1)];

  /**
   * The sectors of a request.
   *
   * @param sectors number of 32-byte sectors
   * @param lines number of 128-byte lines
   * @param ideal minimum number of sectors for as many bytes
   * @param bytes requested bytes, each counted once
   */
  public record RequestSectors(int sectors, int lines, int ideal, int bytes) {

    /** Returns the bytes that were transferred but not requested. */
    public int wastedBytes() {
      return sectors * SECTOR - bytes;
    }
  }

  /**
   * Returns the sectors of a request.
   *
   * @param addresses start address of each of the 32 lanes
   * @param bytes bytes per lane, at most {@value #LARGEST}
   * @param mask active lanes, lane 0 in the lowest bit
   */
  public RequestSectors of(long[] addresses, int bytes, int mask) {
    int count = 0;
    boolean ascending = true;
    for (int left = mask; left != 0; left &= left - 1) {
      long start = addresses[Integer.numberOfTrailingZeros(left)];
      ascending &= count == 0 || start >= starts[count - 1];
      starts[count++] = start;
    }
    if (!ascending) {
      Arrays.sort(starts, 0, count);
    }
    int sectors = 0;
    int lines = 0;
    int unique = 0;
    long sector = -1;
    long line = -1;
    long done = 0; // end of the bytes counted so far
    for (int i = 0; i < count; i++) {
      long from = starts[i];
      long end = from + bytes;
      long lastSector = (end - 1) / SECTOR;
      for (sector = Math.max(sector, from / SECTOR - 1); sector < lastSector; ) {
        numbers[sectors++] = ++sector;
      }
      long lastLine = (end - 1) / LINE;
      lines += (int) Math.max(0, lastLine - Math.max(line, from / LINE - 1));
      line = Math.max(line, lastLine);
      unique += (int) Math.max(0, end - Math.max(done, from));
      done = Math.max(done, end);
    }
    touched = sectors;
    return new RequestSectors(sectors, lines, Math.ceilDiv(unique, SECTOR), unique);
  }

  /** Returns the sector numbers of the last request: addresses divided by 32. */
  long[] numbers() {
    return Arrays.copyOf(numbers, touched);
  }
}
