package dev.athanor.service.model;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.service.codec.ByteSource;
import dev.athanor.service.codec.HostAllocator;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.SplittableRandom;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HeldBodyTest {

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 1 << 20, (1 << 20) + 1, 5 << 19})
  void returnsWhatItHasRead(int length) throws IOException {
    var bytes = new byte[length];
    new SplittableRandom(1).nextBytes(bytes);
    var held = HeldBody.read(ByteSource.of(new ByteArrayInputStream(bytes)), HostAllocator.HEAP);
    assertThat(held.bytes()).isEqualTo(length);
    assertThat(held.readAllBytes()).isEqualTo(bytes);
    assertThat(held.read()).isEqualTo(-1);
  }
}
