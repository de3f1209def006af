package dev.athanor.engine.profile;

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

  private static final int LANES = 32;
  private static final int SIZE_BITS = 8;

  private final long[] pieces = new long[LANES];

  /**
   * What a request touches.
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
   * What one request touches.
   *
   * @param addresses the byte where each of the 32 lanes begins, below 2^55
   * @param sizes the bytes of each lane, at most 128; 0 = it touches nothing
   * @param mask the lanes that take part, lane 0 in the lowest bit
   */
  public Touched of(long[] addresses, int[] sizes, int mask) {
    int count = 0;
    boolean ascending = true;
    for (int left = mask; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      if (sizes[lane] > 0) {
        long piece = addresses[lane] << SIZE_BITS | sizes[lane];
        ascending &= count == 0 || piece >= pieces[count - 1];
        pieces[count++] = piece;
      }
    }
    if (!ascending) {
      Arrays.sort(pieces, 0, count);
    }
    int sectors = 0;
    int lines = 0;
    int bytes = 0;
    long sector = -1;
    long line = -1;
    long done = 0; // where what has been counted ends
    for (int i = 0; i < count; i++) {
      long from = pieces[i] >>> SIZE_BITS;
      long end = from + (pieces[i] & (1 << SIZE_BITS) - 1);
      long lastSector = (end - 1) / SECTOR;
      sectors += (int) Math.max(0, lastSector - Math.max(sector, from / SECTOR - 1));
      sector = Math.max(sector, lastSector);
      long lastLine = (end - 1) / LINE;
      lines += (int) Math.max(0, lastLine - Math.max(line, from / LINE - 1));
      line = Math.max(line, lastLine);
      bytes += (int) Math.max(0, end - Math.max(done, from));
      done = Math.max(done, end);
    }
    return new Touched(sectors, lines, Math.ceilDiv(bytes, SECTOR), bytes);
  }
}
