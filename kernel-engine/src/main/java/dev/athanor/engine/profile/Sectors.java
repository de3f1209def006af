package dev.athanor.engine.profile;

import dev.athanor.engine.ptx.Warps;
import java.util.Arrays;

/**
 * What a request of a warp touches of global memory, whose caches have lines of 128 bytes in
 * sectors of 32, the least that is moved (Nsight Compute documentation, "Memory Tables"). Each
 * worker has its own object.
 */
public final class Sectors {

  /** The bytes of a sector. */
  public static final int SECTOR = 32;

  /** The bytes of a line. */
  public static final int LINE = 128;

  private static final int LANES = Warps.SIZE;
  private static final int LARGEST = 128;

  private final long[] starts = new long[LANES];
  private int touched;
  private final long[] numbers = new long[LANES * (LARGEST / SECTOR + 1)];

  /**
   * The sectors of a request.
   *
   * @param sectors of 32 bytes
   * @param lines of 128 bytes
   * @param ideal the sectors that would hold as many bytes
   * @param bytes that are asked for, those that several lanes ask for once
   */
  public record Touched(int sectors, int lines, int ideal, int bytes) {

    /** Bytes that are moved and not asked for. */
    public int wasted() {
      return sectors * SECTOR - bytes;
    }
  }

  /**
   * The sectors of one request.
   *
   * @param addresses the byte where each of the 32 lanes begins
   * @param bytes of each lane, at most {@value #LARGEST}
   * @param mask the lanes that take part, lane 0 in the lowest bit
   */
  public Touched of(long[] addresses, int bytes, int mask) {
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
    long done = 0; // where what has been counted ends
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
    return new Touched(sectors, lines, Math.ceilDiv(unique, SECTOR), unique);
  }

  /** The numbers of the sectors of the last request; their addresses are 32 times these. */
  long[] numbers() {
    return Arrays.copyOf(numbers, touched);
  }
}
