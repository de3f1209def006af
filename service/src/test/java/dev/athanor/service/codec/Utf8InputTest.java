package dev.athanor.service.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.service.failure.Failure;
import dev.athanor.testing.TestTier;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Compares {@link Utf8Input} with the JDK's decoder. */
class Utf8InputTest {

  /** Returns a few bytes at a time. */
  private static final class Trickle extends ByteArrayInputStream {
    private final int max;

    Trickle(byte[] bytes, int max) {
      super(bytes);
      this.max = max;
    }

    @Override
    public int read(byte[] target, int offset, int length) {
      return super.read(target, offset, Math.min(length, max));
    }
  }

  private static byte[] read(InputStream in) throws IOException {
    return new Utf8Input(in, "the body").readAllBytes();
  }

  private static boolean accepts(byte[] bytes, int chunk) throws IOException {
    try {
      assertThat(read(new Trickle(bytes, chunk))).isEqualTo(bytes);
      return true;
    } catch (Failure.Refused e) {
      return false;
    }
  }

  private static boolean decodes(byte[] bytes) {
    try {
      return StandardCharsets.UTF_8
          .newDecoder()
          .decode(ByteBuffer.wrap(bytes))
          .chars()
          .noneMatch(c -> c == 0);
    } catch (CharacterCodingException e) {
      return false;
    }
  }

  private static void check(byte[] bytes) throws IOException {
    for (int chunk : new int[] {1, 3, 100}) {
      if (accepts(bytes, chunk) != decodes(bytes)) {
        throw new AssertionError(Arrays.toString(bytes) + ", chunks of " + chunk);
      }
    }
  }

  @Test
  void agreesWithTheDecoderOnAllPairsAndManyTriples() throws IOException {
    for (int first = 0; first < 256; first++) {
      for (int second = 0; second < 256; second += TestTier.choose(9, 1, 1)) {
        check(new byte[] {(byte) first, (byte) second});
        if (first >= 0xE0) {
          check(new byte[] {'a', (byte) first, (byte) second, (byte) 0x80});
          check(new byte[] {(byte) first, (byte) second, (byte) 0x80, (byte) 0xBF});
        }
      }
    }
  }

  @Test
  void agreesWithTheDecoderOnRandomText() throws IOException {
    long seed = TestTier.seed();
    var random = new Random(seed);
    for (int i = 0; i < 2000; i++) {
      var text = new StringBuilder("{");
      for (int n = random.nextInt(40); n > 0; n--) {
        text.append("ab cdefgh0123").append(Character.toString(1 + random.nextInt(0xD7FE)));
        text.append(Character.toString(0x10000 + random.nextInt(0x100000)));
      }
      var bytes = text.toString().getBytes(StandardCharsets.UTF_8);
      if (i % 2 == 0) {
        bytes[random.nextInt(bytes.length)] = (byte) random.nextInt(256);
      }
      try {
        check(bytes);
      } catch (AssertionError e) {
        throw new AssertionError("-Dathanor.seed=" + seed, e);
      }
    }
  }

  @ParameterizedTest
  @CsvSource({"7b22c1b822, 2", "7b22e282, 4", "007b, 0", "7b00, 1", "fffe7b00, 0"})
  void reportsThePositionOfTheInvalidByte(String hex, int at) {
    var bytes = java.util.HexFormat.of().parseHex(hex);
    assertThatThrownBy(() -> read(new ByteArrayInputStream(bytes)))
        .isInstanceOf(Failure.Refused.class)
        .hasMessage("the body is not UTF-8 text at byte %d; send JSON in UTF-8".formatted(at));
  }
}
