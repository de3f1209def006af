package dev.athanor.engine.lift;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.Stream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Memory of a device in which failed checks of launches are recorded. Each launch has a record of
 * its own, in which the first thread that fails writes the number of the check, the index and the
 * length, and its position. A record without a failure contains zeros.
 */
final class FaultRecords implements AutoCloseable {
  private static final int BYTES = 48;
  private static final int RECORDS_OF_BUFFER = 64;

  private final Device device;
  private final Stream clearing;
  private final List<Buffer> buffers = new ArrayList<>();
  private final List<CompiledKernel> launches = new ArrayList<>();

  /**
   * @param clearing clears records before the launches that use them
   */
  FaultRecords(Device device, Stream clearing) {
    this.device = device;
    this.clearing = clearing;
  }

  /** Returns the record of a new launch, as an argument of its kernel. */
  Argument add(CompiledKernel code) {
    int record = launches.size();
    if (record == buffers.size() * RECORDS_OF_BUFFER) {
      buffers.add(device.allocate(BYTES * RECORDS_OF_BUFFER));
      clear(buffers.getLast(), clearing);
    }
    launches.add(code);
    return new Argument.Pointer(
        buffers.get(record / RECORDS_OF_BUFFER), (long) BYTES * (record % RECORDS_OF_BUFFER));
  }

  private static void clear(Buffer buffer, Stream stream) {
    stream.fill(buffer, 0, buffer.bytes(), (byte) 0);
  }

  /** Returns whether a further launch needs more memory. */
  boolean isFull() {
    return !launches.isEmpty() && launches.size() == buffers.size() * RECORDS_OF_BUFFER;
  }

  /** Ends the use of the records, which contain zeros, by the launches so far. */
  void reuse() {
    launches.clear();
  }

  /**
   * Returns the failed check of the first launch that has one, and clears the records. All launches
   * must have completed.
   */
  Optional<CheckFailedException> check(Stream stream) {
    if (launches.isEmpty()) {
      return Optional.empty();
    }
    var records = MemorySegment.ofArray(new long[launches.size() * BYTES / Long.BYTES]);
    for (int i = 0; i * RECORDS_OF_BUFFER < launches.size(); i++) {
      long from = (long) i * RECORDS_OF_BUFFER * BYTES;
      long bytes = Math.min(RECORDS_OF_BUFFER * BYTES, records.byteSize() - from);
      stream.download(buffers.get(i), 0, records.asSlice(from, bytes));
    }
    stream.synchronize();
    for (int i = 0; i < launches.size(); i++) {
      var record = records.asSlice((long) i * BYTES, BYTES);
      int site = record.get(ValueLayout.JAVA_INT, 0);
      if (site > 0) {
        buffers.forEach(buffer -> clear(buffer, stream));
        stream.synchronize();
        return Optional.of(failure(launches.get(i), site, record));
      }
    }
    return Optional.empty();
  }

  private static CheckFailedException failure(CompiledKernel code, int site, MemorySegment record) {
    return CheckFailedException.of(
        code.name(),
        code.sites().get(site - 1),
        record.get(ValueLayout.JAVA_LONG, 8),
        record.get(ValueLayout.JAVA_LONG, 16),
        record.asSlice(24, 12).toArray(ValueLayout.JAVA_INT),
        record.asSlice(36, 12).toArray(ValueLayout.JAVA_INT));
  }

  @Override
  public void close() {
    buffers.forEach(Buffer::close);
  }
}
