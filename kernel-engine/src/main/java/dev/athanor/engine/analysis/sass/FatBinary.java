package dev.athanor.engine.analysis.sass;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The cubins and the PTX of a fat binary, as {@code nvcc -fatbin} writes it. */
public record FatBinary(List<Entry> entries) {

  private static final int MAGIC = 0xba55ed50;
  private static final int HEADER_BYTES = 16;
  private static final int PTX = 1;
  private static final int CUBIN = 2;

  /** Offsets in the header of an entry. */
  private static final int ENTRY_HEADER_BYTES = 4;

  private static final int ENTRY_BYTES = 8;
  private static final int COMPRESSED_BYTES = 16;
  private static final int SM = 28;
  private static final int SHORTEST_ENTRY = 64;

  /**
   * An entry.
   *
   * @param isPtx whether it is PTX; else a cubin
   * @param sm the target, compute capability times ten
   * @param isCompressed whether the contents are compressed
   */
  @SuppressWarnings("ArrayRecordComponent") // read, never a key
  public record Entry(boolean isPtx, int sm, boolean isCompressed, byte[] contents) {

    /** Returns the text of PTX that is not compressed. */
    public String text() {
      return new String(contents, StandardCharsets.UTF_8).replaceFirst("\0+$", "");
    }
  }

  public FatBinary {
    entries = List.copyOf(entries);
  }

  /** Returns whether a file starts like a fat binary. */
  public static boolean isOne(byte[] file) {
    return file.length >= HEADER_BYTES && buffer(file).getInt(0) == MAGIC;
  }

  /**
   * Reads a fat binary.
   *
   * @throws CubinException if it is not one, or damaged
   */
  public static FatBinary read(byte[] file) {
    if (!isOne(file)) {
      throw new CubinException("Not a fat binary: it does not start with its magic number.");
    }
    var in = buffer(file);
    var found = new ArrayList<Entry>();
    long at = HEADER_BYTES;
    while (at + SHORTEST_ENTRY <= file.length) {
      int entry = (int) at;
      int kind = in.getShort(entry) & 0xffff;
      long header = in.getInt(entry + ENTRY_HEADER_BYTES) & 0xffff_ffffL;
      long bytes = in.getLong(entry + ENTRY_BYTES);
      if (header < SHORTEST_ENTRY || bytes < 0 || bytes > file.length - at - header) {
        throw new CubinException(
            "Damaged fat binary: its entry at %d has %d bytes, and the file has %d."
                .formatted(at, bytes, file.length));
      }
      int start = (int) (at + header);
      if (kind == PTX || kind == CUBIN) {
        found.add(
            new Entry(
                kind == PTX,
                in.getInt(entry + SM),
                in.getInt(entry + COMPRESSED_BYTES) != 0,
                Arrays.copyOfRange(file, start, (int) (start + bytes))));
      }
      at += header + bytes;
    }
    return new FatBinary(found);
  }

  private static ByteBuffer buffer(byte[] file) {
    return ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN);
  }
}
