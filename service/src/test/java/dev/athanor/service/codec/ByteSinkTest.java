package dev.athanor.service.codec;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ByteSinkTest {

  private final List<Long> allocated = new ArrayList<>();

  /** Overwrites released memory, to detect its use. */
  private final HostAllocator allocator =
      new HostAllocator() {
        @Override
        public MemorySegment allocate(long bytes, long alignment) {
          allocated.add(bytes);
          return HEAP.allocate(bytes, alignment);
        }

        @Override
        public void release(MemorySegment unused) {
          assertThat(unused.byteSize()).isEqualTo(allocated.get(allocated.size() - 2));
          unused.fill((byte) 0xA5);
          releases++;
        }
      };

  private int releases;

  private byte[] receive(byte[] sent, long limit) throws IOException {
    var source = ByteSource.of(new ByteArrayInputStream(sent));
    var received = ByteSink.readAll(source, allocator, limit);
    return received.toArray(ValueLayout.JAVA_BYTE);
  }

  private static byte[] pattern(int bytes) {
    var pattern = new byte[bytes];
    for (int i = 0; i < bytes; i++) {
      pattern[i] = (byte) ((i * 31) >> 7);
    }
    return pattern;
  }

  @ParameterizedTest
  @CsvSource({
    "0, 100, 100",
    "100, 100, 100",
    "99, 100, 100",
    "1048576, 1048576, 1048576",
    "1048575, 1000000000, 1048576",
    "1048576, 1000000000, 1048576 8388608",
    "1048577, 1000000000, 1048576 8388608",
    "3000000, 3000000, 1048576 3000000",
    "8388609, 20000000, 1048576 8388608 20000000",
  })
  void memoryGrowsWithTheReceivedBytes(int sent, long limit, String allocations)
      throws IOException {
    var bytes = pattern(sent);
    assertThat(receive(bytes, limit)).isEqualTo(bytes);
    assertThat(allocated).isEqualTo(Stream.of(allocations.split(" ")).map(Long::valueOf).toList());
    assertThat(releases).isEqualTo(allocated.size() - 1);
  }

  @ParameterizedTest
  @CsvSource({"100, 99", "2000000, 1999999", "2000000, 1048576", "5, 0"})
  void leavesBytesBeyondTheLimitUnread(int sent, int limit) throws IOException {
    var source = new ByteArrayInputStream(pattern(sent));
    var received = ByteSink.readAll(ByteSource.of(source), HostAllocator.HEAP, limit);
    assertThat(received.byteSize()).isEqualTo(limit);
    assertThat(source.available()).isEqualTo(sent - limit);
  }
}
