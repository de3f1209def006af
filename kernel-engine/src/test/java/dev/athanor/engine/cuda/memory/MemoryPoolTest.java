package dev.athanor.engine.cuda.memory;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MemoryPoolTest {

  @ParameterizedTest
  @CsvSource({
    "1, 256",
    "256, 256",
    "257, 512",
    "1024, 1024",
    "1025, 1280",
    "5000, 5120",
    "1048576, 1048576",
    "1048577, 1310720",
    "67108865, 83886080",
    "10737418240, 10737418240",
    "10737418241, 10754195456"
  })
  void roundsToSizeClasses(long bytes, long size) {
    assertThat(MemoryPool.sizeClass(bytes)).isEqualTo(size);
  }
}
