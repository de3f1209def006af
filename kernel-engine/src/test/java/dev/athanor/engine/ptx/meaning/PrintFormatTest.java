package dev.athanor.engine.ptx.meaning;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import org.junit.jupiter.api.Test;

/** vprintf formats like C. */
class PrintFormatTest {

  /** Arguments as listed in the test file. */
  private record Given(Deque<String> left) implements PrintFormat.Arguments {

    private String next(String kind) {
      var word = left.remove();
      assertThat(kind).contains(word.substring(0, 1));
      return word.substring(2);
    }

    @Override
    public int next32() {
      return Integer.parseInt(next("i"));
    }

    @Override
    public long next64() {
      var kind = left.element().charAt(0);
      var text = next("qdpsn");
      return switch (kind) {
        case 'd' -> Long.parseUnsignedLong(text, 16);
        case 's' -> {
          left.push(text);
          yield 1;
        }
        default -> Long.parseLong(text);
      };
    }

    @Override
    public byte[] string(long address, int most) {
      var text = left.remove().replace('_', ' ');
      return text.substring(0, Math.min(most, text.length())).getBytes(StandardCharsets.UTF_8);
    }
  }

  private static PrintFormat format(String format, String... arguments) {
    return PrintFormat.format(
        format.getBytes(StandardCharsets.UTF_8),
        new Given(new ArrayDeque<>(Arrays.asList(arguments))));
  }

  private static String text(String format, String... arguments) {
    return new String(format(format, arguments).text(), StandardCharsets.UTF_8);
  }

  @Test
  void formatsLikeTheCLibrary() throws IOException {
    var wrong = new ArrayList<String>();
    int cases = 0;
    for (var line : Files.readAllLines(Path.of("src/test/resources/printf.tsv"))) {
      if (line.startsWith("#")) {
        continue;
      }
      var columns = line.split("\t", -1);
      var arguments = columns[1].isEmpty() ? new String[0] : columns[1].split(" ", -1);
      var got = "|" + text(columns[0], arguments) + "|";
      if (!got.equals(columns[2])) {
        wrong.add(line + " but got " + got);
      }
      cases++;
    }
    assertThat(wrong).isEmpty();
    assertThat(cases).isGreaterThan(700);
  }

  @Test
  void countsArguments() {
    assertThat(format("none").taken()).isZero();
    assertThat(format("%%").taken()).isZero();
    assertThat(format("%d %*.*f %s", "i:1", "i:5", "i:2", "d:0", "s:x").taken()).isEqualTo(5);
  }

  @Test
  void printsInvalidDirectivesVerbatim() {
    assertThat(text("%y %n %", "i:1")).isEqualTo("%y %n %");
    assertThat(text("%5.2k|%ld", "q:7")).isEqualTo("%5.2k|7");
  }

  @Test
  void accepts32Arguments() {
    var arguments = Collections.nCopies(32, "i:1").toArray(String[]::new);
    assertThat(text("%d".repeat(34), arguments)).isEqualTo("1".repeat(32) + "%d%d");
  }

  @Test
  void bytesBeyondAsciiPassThrough() {
    assertThat(text("µ %s €", "s:ü")).isEqualTo("µ ü €");
    assertThat(List.of(text("%c%c", "i:195", "i:188"))).containsExactly("ü");
  }
}
