package dev.athanor.service.codec;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Writes GGUF files for tests. */
public final class GgufFile {

  private static final int BYTES = 1 << 12;

  private final ByteBuffer header = ByteBuffer.allocate(BYTES).order(ByteOrder.LITTLE_ENDIAN);

  /** Begins a file of version 3 with some tensors and metadata values, which must follow. */
  public GgufFile(long tensors, long values) {
    header.putInt(0x46554747).putInt(3).putLong(tensors).putLong(values);
  }

  /** Adds a string in the form of keys, names and values. */
  public GgufFile string(String text) {
    var bytes = text.getBytes(StandardCharsets.UTF_8);
    header.putLong(bytes.length).put(bytes);
    return this;
  }

  /** Adds 32-bit integers. */
  public GgufFile ints(int... values) {
    Arrays.stream(values).forEach(header::putInt);
    return this;
  }

  /** Adds a 64-bit integer. */
  public GgufFile number(long value) {
    header.putLong(value);
    return this;
  }

  /**
   * Adds a tensor.
   *
   * @param type the number of the GGML type
   * @param offset where its data begins
   * @param extents innermost first
   */
  public GgufFile tensor(String name, int type, long offset, long... extents) {
    string(name).ints(extents.length);
    Arrays.stream(extents).forEach(header::putLong);
    return ints(type).number(offset);
  }

  /** Returns the header without padding. */
  public byte[] header() {
    return Arrays.copyOf(header.array(), header.position());
  }

  /** Returns the file with data that begins at a multiple of 32. */
  public byte[] with(byte... data) {
    return with(32, data);
  }

  /** Returns the file with data that begins at a multiple of {@code alignment}. */
  public byte[] with(int alignment, byte[] data) {
    int start = (header.position() + alignment - 1) / alignment * alignment;
    var file = Arrays.copyOf(header(), start + data.length);
    System.arraycopy(data, 0, file, start, data.length);
    return file;
  }
}
