package dev.athanor.service.codec;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.core.json.JsonFactory;

/**
 * Reads lists of numbers alternately with {@link NumberParser} and with Jackson, and prints the
 * times.
 */
@EnabledIfSystemProperty(named = "athanor.benchmark", matches = "true")
class NumberParserBenchmark {

  private static final int NUMBERS = 1_000_000;
  private static final int WARM_UP = 10;
  private static final int ROUNDS = 25;

  /** Reads a tensor. */
  private interface Reader {
    double read(byte[] json) throws IOException;
  }

  @ParameterizedTest
  @ValueSource(strings = {"%s", "%.2f", "%.0f"})
  void listsOfNumbers(String format) throws IOException {
    var json = json(format);
    var names = List.of("NumberParser", "Jackson, fast double parser", "Jackson");
    Reader[] readers = {
      text -> lastNumber(Json.read(new ByteArrayInputStream(text), NumberParserBenchmark::tensor)),
      text -> jackson(text, true),
      text -> jackson(text, false)
    };
    var nanos = new long[readers.length][ROUNDS];
    for (int round = -WARM_UP; round < ROUNDS; round++) {
      for (int i = 0; i < readers.length; i++) {
        long start = System.nanoTime();
        readers[i].read(json);
        nanos[i][Math.max(round, 0)] = System.nanoTime() - start;
      }
    }
    for (int i = 0; i < readers.length; i++) {
      Arrays.sort(nanos[i]);
      System.out.printf(
          "%s, %d bytes, %s: median %.0f ns per number, minimum %.0f%n",
          format,
          json.length,
          names.get(i),
          (double) nanos[i][ROUNDS / 2] / NUMBERS,
          (double) nanos[i][0] / NUMBERS);
    }
  }

  private static byte[] json(String format) {
    var random = new Random(1);
    var text =
        new StringBuilder("{\"dtype\": \"f32\", \"shape\": [%d], \"data\": [0".formatted(NUMBERS));
    for (int i = 1; i < NUMBERS; i++) {
      var value = (float) random.nextGaussian() * 100;
      text.append(", ").append(String.format(Locale.ROOT, format, value));
    }
    return text.append("]}").toString().getBytes(StandardCharsets.UTF_8);
  }

  private static double jackson(byte[] text, boolean fast) {
    var factory =
        JsonFactory.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .configure(StreamReadFeature.USE_FAST_DOUBLE_PARSER, fast)
            .build();
    var in = new Utf8Input(new ByteArrayInputStream(text), "the body");
    try (var parser = factory.createParser(ObjectReadContext.empty(), in)) {
      parser.nextToken();
      return lastNumber(tensor(parser));
    }
  }

  private static TensorJson.Source tensor(tools.jackson.core.JsonParser parser) {
    return TensorJson.read(parser, "", new DecodeBudget(HostAllocator.HEAP, 1 << 30));
  }

  private static double lastNumber(TensorJson.Source source) {
    return ((TensorJson.Source.Inline) source).tensor().get(NUMBERS - 1);
  }
}
