package dev.athanor.service.rest;

import dev.athanor.service.codec.AttributeValues;
import dev.athanor.service.codec.Json;
import dev.athanor.service.codec.TensorJson;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.session.Generation;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/**
 * A request to generate tokens, in JSON.
 *
 * @param session null for a session of its own
 */
record GenerateRequest(@Nullable String session, Generation.Request generation) {

  private static final List<String> SAMPLING = List.of("temperature", "topK", "topP", "minP");
  private static final List<String> KEYS =
      List.of(
          "tokens", "session", "maxTokens", "stop", "seed", "temperature", "topK", "topP", "minP");

  static GenerateRequest read(InputStream body) throws IOException {
    return Json.read(body, parser -> new Reader(parser).read());
  }

  private static final class Reader {
    private final JsonParser parser;
    private final Map<String, Object> sampling = new HashMap<>();
    private List<Long> tokens = List.of();
    private List<Long> stop = List.of();
    private @Nullable String session;
    private int maxTokens = Generation.Request.DEFAULT_TOKENS;
    private @Nullable Long seed;

    Reader(JsonParser parser) {
      this.parser = parser;
    }

    GenerateRequest read() {
      while (parser.nextToken() != JsonToken.END_OBJECT) {
        var key = parser.currentName();
        parser.nextToken();
        switch (key) {
          case "tokens" -> tokens = integers(key, Generation.Request.LONGEST_PROMPT);
          case "stop" -> stop = integers(key, Generation.Request.MOST_STOPS);
          case "session" -> session = Json.string(parser, key, Code.INVALID_ATTRIBUTE);
          case "maxTokens" ->
              maxTokens = Generation.Request.maxTokens(key, TensorJson.integer(parser, key, 1));
          case "seed" -> seed = TensorJson.integer(parser, key, Long.MIN_VALUE);
          default -> {
            if (!SAMPLING.contains(key)) {
              throw Json.unknown("", key, KEYS);
            }
            sampling.put(key, AttributeValues.read(parser, key));
          }
        }
      }
      long key = seed == null ? Generation.Request.drawSeed() : seed;
      return new GenerateRequest(
          session, new Generation.Request(tokens, maxTokens, Set.copyOf(stop), key, sampling));
    }

    private List<Long> integers(String field, int most) {
      if (parser.currentToken() != JsonToken.START_ARRAY) {
        throw new Failure.Refused(
            Code.INVALID_ATTRIBUTE,
            field,
            "%s must be a list of token ids, got %s"
                .formatted(field, Json.name(parser.currentToken())));
      }
      var values = new ArrayList<Long>();
      while (parser.nextToken() != JsonToken.END_ARRAY) {
        if (values.size() == most) {
          throw Generation.Request.tooMany(field, most);
        }
        values.add(TensorJson.integer(parser, "%s[%d]".formatted(field, values.size()), 0));
      }
      return values;
    }
  }
}
