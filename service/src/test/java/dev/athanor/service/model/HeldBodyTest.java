package dev.athanor.service.model;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.service.codec.ByteSource;
import dev.athanor.service.codec.HostAllocator;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.util.SplittableRandom;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HeldBodyTest {

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 1 << 20, (1 << 20) + 1, 5 << 19})
  void returnsWhatItHasRead(int length) throws IOException {
    var bytes = new byte[length];
    new SplittableRandom(1).nextBytes(bytes);
    var reader = new HeldBody(HostAllocator.HEAP);
    for (int i = 0; i < 2; i++) {
      var held = reader.read(ByteSource.of(new ByteArrayInputStream(bytes)));
      assertThat(held.toArray(ValueLayout.JAVA_BYTE)).isEqualTo(bytes);
    }
  }
}
