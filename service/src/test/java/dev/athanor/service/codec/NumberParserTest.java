package dev.athanor.service.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.service.failure.Failure;
import dev.athanor.testing.TestTier;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.math.BigDecimal;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.core.JacksonException;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.json.JsonFactory;

/** Checks that numbers read without tokens equal those that Java parses. */
class NumberParserTest {

  private static final long LIMIT = 1 << 24;

  /** Enough text after a number that the parser reads ahead. */
  private static final String MORE = ",0".repeat(64);

  private static String json(DType dtype, int count, String data) {
    return "{\"dtype\":\"%s\",\"shape\":[%d],\"data\":%s}".formatted(dtype.text(), count, data);
  }

  private static HostTensor read(String json, Charset charset) throws IOException {
    return read(new ByteArrayInputStream(json.getBytes(charset)));
  }

  private static HostTensor read(InputStream in) throws IOException {
    var source = Json.read(in, parser -> TensorJson.read(parser, "", DecodeBudget.onHeap(LIMIT)));
    return ((TensorJson.Source.Inline) source).tensor();
  }

  private static HostTensor read(DType dtype, List<String> numbers, String separator)
      throws IOException {
    var data = "[" + String.join(separator, numbers) + "]";
    return read(json(dtype, numbers.size(), data), StandardCharsets.UTF_8);
  }

  private static String randomDigits(Random random, int max) {
    var text = new StringBuilder();
    for (int i = 1 + random.nextInt(max); i > 0; i--) {
      text.append((char) ('0' + random.nextInt(10)));
    }
    return text.toString();
  }

  private static String randomNumber(Random random) {
    var text = new StringBuilder(random.nextBoolean() ? "-" : "");
    text.append(random.nextInt(3) == 0 ? "0" : 1 + random.nextInt(9) + randomDigits(random, 12));
    if (random.nextBoolean()) {
      text.append('.').append(randomDigits(random, 14));
    }
    if (random.nextInt(3) == 0) {
      text.append(random.nextBoolean() ? "e" : "E")
          .append(List.of("", "+", "-").get(random.nextInt(3)))
          .append(random.nextInt(4) == 0 ? "0" : "")
          .append(random.nextInt(random.nextBoolean() ? 25 : 400));
    }
    return text.toString();
  }

  /**
   * Returns numbers of all forms and sizes, including halfway cases between two floats and their
   * neighbors.
   */
  private static List<String> numbers(Random random) {
    var texts = new ArrayList<String>();
    for (int i = 0; i < TestTier.choose(800, 4000, 4000); i++) {
      float next = Float.intBitsToFloat(random.nextInt());
      double wide = Double.longBitsToDouble(random.nextLong());
      if (Float.isFinite(next) && Double.isFinite(wide)) {
        texts.add(Float.toString(next));
        texts.add(Double.toString(wide));
      }
      texts.add(Float.toString((float) random.nextGaussian()));
      texts.add(Double.toString(random.nextGaussian()));
      texts.add(randomNumber(random));
      float near = Math.scalb(1 + random.nextInt(1 << 20) / (float) (1 << 20), random.nextInt(9));
      var halfway =
          new BigDecimal(near).add(new BigDecimal(Math.nextUp(near))).divide(BigDecimal.TWO);
      texts.add(halfway.toPlainString());
      texts.add(halfway.add(new BigDecimal("1e-25")).toPlainString());
      texts.add(halfway.subtract(new BigDecimal("1e-25")).toPlainString());
    }
    texts.removeIf(text -> Double.isInfinite(Double.parseDouble(text)));
    Collections.shuffle(texts, random);
    return texts;
  }

  @ParameterizedTest
  @ValueSource(strings = {",", ", ", " ,", "  ,   ", ",\n  ", "\t,\r\n"})
  void roundsEveryNumberOnce(String separator) throws IOException {
    var texts = numbers(new Random(separator.hashCode()));
    var doubles = read(DType.F64, texts, separator);
    for (int i = 0; i < texts.size(); i++) {
      assertThat(doubles.get(i)).as(texts.get(i)).isEqualTo(Double.parseDouble(texts.get(i)));
    }
    texts.removeIf(text -> Float.isInfinite(Float.parseFloat(text)));
    var floats = read(DType.F32, texts, separator);
    for (int i = 0; i < texts.size(); i++) {
      // Float.equals distinguishes the zeros
      assertThat((float) floats.get(i)).as(texts.get(i)).isEqualTo(Float.parseFloat(texts.get(i)));
    }
  }

  @Test
  void readsIntegersExactly() throws IOException {
    var random = new Random(1);
    for (var dtype : List.of(DType.I8, DType.I16, DType.I32, DType.I64)) {
      var values =
          LongStream.range(0, 3000).map(_ -> random.nextLong() >> (64 - 8 * dtype.bytes()));
      var texts = values.mapToObj(Long::toString).toList();
      var read = read(dtype, texts, ",");
      for (int i = 0; i < texts.size(); i++) {
        assertThat(dtype.readLong(read.data(), i)).isEqualTo(Long.parseLong(texts.get(i)));
      }
    }
  }

  /** Splits the text at random positions, also within numbers. */
  @ParameterizedTest
  @ValueSource(ints = {1, 7, 63, 64, 65, 1000, 40_000})
  void readsTextInPiecesOfAnySize(int max) throws IOException {
    var random = new Random(max);
    var texts = numbers(random).subList(0, 5000);
    var text = json(DType.F64, 5000, "[" + String.join(", ", texts) + "]");
    var pieces =
        new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)) {
          @Override
          public int read(byte[] target, int offset, int length) {
            return super.read(target, offset, Math.min(length, 1 + random.nextInt(max)));
          }
        };
    var read = read(pieces);
    for (int i = 0; i < texts.size(); i++) {
      assertThat(read.get(i)).as(texts.get(i)).isEqualTo(Double.parseDouble(texts.get(i)));
    }
  }

  @Test
  void readsLeadingZerosAndLongNumbers() throws IOException {
    var texts =
        List.of(
            "0",
            "-0",
            "0.0",
            "-0.00000000000000000000000000",
            "0e5",
            "-0E-400",
            "0.00000000000000000000001234567890123456789",
            "0.0123456789012345678",
            "-1000000000000000000",
            "9223372036854775808",
            "18446744073709551615",
            "18446744073709551616",
            "99999999999999999999",
            "1.0000000000000000000000000000000",
            "1000000000000000000000000000000.5");
    for (var text : texts) {
      var read =
          read(json(DType.F64, 67, "[1,%s,2%s]".formatted(text, MORE)), StandardCharsets.UTF_8);
      assertThat(read.get(1)).as(text).isEqualTo(Double.parseDouble(text));
    }
  }

  @Test
  void readsNestedRows() throws IOException {
    var row = "[" + "1.5, -2.5,".repeat(499) + "0.25,4]";
    var data = "[" + (row + ",\n ").repeat(19) + row + "]";
    var text = "{\"dtype\":\"f16\",\"shape\":[20,1000],\"data\":%s}".formatted(data);
    var tensor = read(text, StandardCharsets.UTF_8);
    for (int i = 0; i < 20_000; i++) {
      var expected = i % 1000 == 999 ? 4 : i % 1000 == 998 ? 0.25 : i % 2 == 0 ? 1.5 : -2.5;
      assertThat(tensor.get(i)).isEqualTo(expected);
    }
    assertThatThrownBy(() -> read(text.replaceFirst("0.25,", ""), StandardCharsets.UTF_8))
        .hasMessage("data is ragged: its lists of depth 2 have different lengths");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"256", "-1", "1.5", "1e3", "\"NaN\"", "null", "1e-1", "12345678901234567890"})
  void rejectsValuesOutOfRangeWithTheirIndex(String number) {
    var first = catchThrowable(() -> read(DType.U8, List.of(number), ","));
    assertThat(first).isInstanceOf(Failure.Refused.class).hasMessageStartingWith("data[0] is ");
    assertThatThrownBy(() -> read(DType.U8, List.of("0", "7", number + MORE), ","))
        .hasMessage(String.valueOf(first.getMessage()).replace("data[0]", "data[2]"));
  }

  @Test
  void rejectsNumbersThatRoundToInfinity() {
    for (var dtype : List.of(DType.F32, DType.F16, DType.BF16, DType.E4M3, DType.E5M2)) {
      assertThatThrownBy(() -> read(dtype, List.of("0", "-7e38" + MORE), ","))
          .hasMessage("data[1] is -7e38, which does not fit " + dtype.text());
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "01",
        "-01",
        "00",
        "1.",
        "1.e3",
        "1e",
        "1e+",
        "-",
        "--1",
        ".5",
        "+1",
        "1_0",
        "0x1",
        "1 2",
        "1.5.5",
        "1e5e5",
        "NaN",
        "Infinity",
        "1,",
        "1}",
        "1;",
        "tru",
        "\"a",
        "1e5.5",
        "1f",
        "-.5"
      })
  void rejectsInvalidJsonAtTheSamePositionAsJackson(String number) {
    for (var start : List.of("[0, 7,\n 8,  ", "[[0, 7],\n [")) {
      for (var end : List.of(MORE + "]", "]", "")) {
        checkRejectedAsByJackson(json(DType.F32, 3, start + number + end));
      }
    }
  }

  private static void checkRejectedAsByJackson(String text) {
    String expected;
    try (var parser =
        new JsonFactory()
            .createParser(ObjectReadContext.empty(), text.getBytes(StandardCharsets.UTF_8))) {
      while (parser.nextToken() != null) {
        // until the error
      }
      throw new AssertionError(text);
    } catch (JacksonException e) {
      var at = e.getLocation();
      expected = "at line %d, column %d".formatted(at.getLineNr(), at.getColumnNr());
    }
    assertThatThrownBy(() -> read(text, StandardCharsets.UTF_8))
        .isInstanceOf(Failure.Refused.class)
        .hasMessageStartingWith("the body is not valid JSON " + expected);
  }

  @Test
  void skipsTheByteOrderMarkAndRejectsOtherEncodings() throws IOException {
    var text = json(DType.F32, 67, "[1, 2.5, -3" + MORE + "]");
    for (var start : List.of("", "\uFEFF", " ")) {
      var tensor = read(start + text, StandardCharsets.UTF_8);
      assertThat(tensor.toDoubles()).startsWith(1, 2.5, -3, 0).hasSize(67);
      for (var other : List.of("UTF-16BE", "UTF-16LE", "UTF-32BE", "UTF-32LE")) {
        assertThatThrownBy(() -> read(start + text, Charset.forName(other)))
            .as(other)
            .isInstanceOf(Failure.Refused.class)
            .hasMessageMatching("the body is not UTF-8 text at byte [0-3]; send JSON in UTF-8");
      }
    }
  }
}
