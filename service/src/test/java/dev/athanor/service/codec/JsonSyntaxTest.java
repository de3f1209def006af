package dev.athanor.service.codec;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.service.failure.Failure;
import dev.athanor.testing.TestTier;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import tools.jackson.core.JsonParser;

/** Checks that messages of the JSON parser never reach a client. */
class JsonSyntaxTest {

  /** All allowed messages. */
  private static final Pattern MESSAGES =
      Pattern.compile(
          "the body is (empty; it must be a JSON object"
              + "|not UTF-8 text at byte \\d+; send JSON in UTF-8"
              + "|not valid JSON( at line \\d+, column -?\\d+)?: ("
              + "it is nested deeper than 64"
              + "|a name is longer than 256 characters"
              + "|a number or a string is too long"
              + "|the text ends too early"
              + "|duplicate key \".*\""
              + "|.* is not a JSON number; write \"NaN\", \"Infinity\" or \"-Infinity\" as a string"
              + "|unexpected token .*"
              + "|a number must not have leading zeros"
              + "|a string has an unknown escape"
              + "|a name contains an unpaired surrogate"
              + "|a control character is not escaped"
              + "|unexpected character .( *; [A-Za-z ]+)?"
              + "|a token is malformed))"
              + "|the body must be a JSON object, got .*"
              + "|unexpected text after the end of the JSON object");

  private static final String TEXT =
      "{\"inputs\": {\"a\": {\"dtype\": \"f32\", \"shape\": [2, 3], \"data\": [1, -2.5e3, true]},"
          + " \"b\\u0041\\n\": null, \"c\": \"\u00e4\ud83d\ude00\"}, \"attributes\": {\"x\": 0}}";

  private static final String[] PIECES = {
    "NaN",
    "-Infinity",
    "+1",
    "01",
    "1.",
    ".5",
    "1e",
    "0x1",
    "nul",
    "'",
    "//",
    "/* */",
    "\\q",
    "\\u12",
    "\\ud800",
    "\t",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "\"",
    "#",
    "\u0001",
    "-",
    "\u2028",
    "\ufeff",
    "[".repeat(70),
    "\"" + "k".repeat(300) + "\": 1,",
    "9".repeat(1100)
  };

  private static void readAll(byte[] text) throws IOException {
    Json.read(
        new ByteArrayInputStream(text),
        parser -> {
          for (int depth = 1; depth > 0; ) {
            switch (parser.nextToken()) {
              case null -> throw new AssertionError("the parser stopped without an error");
              case START_OBJECT, START_ARRAY -> depth++;
              case END_OBJECT, END_ARRAY -> depth--;
              case VALUE_STRING -> parser.getString();
              case VALUE_NUMBER_INT -> {
                if (parser.getNumberType() != JsonParser.NumberType.BIG_INTEGER) {
                  parser.getLongValue();
                }
              }
              case VALUE_NUMBER_FLOAT -> parser.getDoubleValue();
              default -> {}
            }
          }
          return true;
        });
  }

  @Test
  void reportsOnlyOwnMessages() throws IOException {
    long seed = TestTier.seed();
    var random = new Random(seed);
    for (int i = 0; i < 20_000; i++) {
      var text = new StringBuilder(TEXT);
      for (int n = 1 + random.nextInt(3); n > 0; n--) {
        int at = random.nextInt(text.length() + 1);
        switch (random.nextInt(3)) {
          case 0 -> text.insert(at, PIECES[random.nextInt(PIECES.length)]);
          case 1 -> text.delete(at, Math.min(at + random.nextInt(9), text.length()));
          default -> text.setLength(at);
        }
      }
      try {
        readAll(text.toString().getBytes(StandardCharsets.UTF_8));
      } catch (Failure.Refused e) {
        assertThat(e.code()).isEqualTo(Failure.Code.MALFORMED_BODY);
        assertThat(e.getMessage()).as("-Dathanor.seed=%d, text %s", seed, text).matches(MESSAGES);
      } catch (RuntimeException e) {
        throw new AssertionError("-Dathanor.seed=%d, text %s".formatted(seed, text), e);
      }
    }
  }
}
