package dev.athanor.cli.load;

import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodySubscribers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * A request with a JSON document, or for one, that can be sent many times. The Java client moves
 * values as bytes, so it cannot measure JSON.
 */
record JsonRequest(HttpClient http, HttpRequest request) {

  static final String MEDIA = "application/json";

  private static final JsonMapper JSON = new JsonMapper();
  private static final byte[] NOTHING = {};
  private static final Pattern PROBLEM = Pattern.compile("\"urn:athanor:problem:([a-z-]+)\"");
  private static final Pattern PHASE = Pattern.compile("([a-z]+);dur=([0-9.]+)");

  /**
   * Sends it.
   *
   * @param check whether the answer will be checked, so that its body is kept
   * @param right what the answer has to be
   */
  Answer send(boolean check, Predicate<JsonNode> right) throws Refused, InterruptedException {
    var response = response(check);
    var phases =
        response.headers().firstValue("Server-Timing").map(JsonRequest::phases).orElse(Map.of());
    return new Answer(phases, () -> isRight(response.body(), right));
  }

  private static boolean isRight(byte[] body, Predicate<JsonNode> right) {
    try {
      return right.test(JSON.readTree(body));
    } catch (JacksonException e) {
      return false;
    }
  }

  /**
   * Sends it for an answer that a scenario cannot do without.
   *
   * @throws LoadException if there is none
   */
  JsonNode expect() throws InterruptedException {
    try {
      return JSON.readTree(response(true).body());
    } catch (Refused e) {
      throw new LoadException(String.valueOf(e.getMessage()));
    }
  }

  private HttpResponse<byte[]> response(boolean keep) throws Refused, InterruptedException {
    HttpResponse<byte[]> response;
    try {
      response =
          http.send(
              request,
              info ->
                  keep || info.statusCode() >= 300
                      ? BodySubscribers.ofByteArray()
                      : BodySubscribers.replacing(NOTHING));
    } catch (IOException e) {
      throw new Refused(
          Refused.NO_ANSWER,
          Duration.ZERO,
          "%s does not answer: %s".formatted(request.uri().resolve("/"), e));
    }
    if (response.statusCode() >= 300) {
      throw refused(response);
    }
    return response;
  }

  private Refused refused(HttpResponse<byte[]> response) {
    var text = new String(response.body(), StandardCharsets.UTF_8);
    var code = PROBLEM.matcher(text);
    return new Refused(
        code.find() ? code.group(1) : "http-" + response.statusCode(),
        response
            .headers()
            .firstValue("Retry-After")
            .filter(seconds -> seconds.matches("\\d{1,9}"))
            .map(seconds -> Duration.ofSeconds(Long.parseLong(seconds)))
            .orElse(Duration.ZERO),
        "%s %s was answered with %d: %s"
            .formatted(request.method(), request.uri(), response.statusCode(), text.strip()));
  }

  /** {@code Server-Timing} is in milliseconds. */
  private static Map<String, Long> phases(String text) {
    return PHASE
        .matcher(text)
        .results()
        .collect(
            Collectors.toMap(
                phase -> phase.group(1),
                phase -> Math.round(Double.parseDouble(phase.group(2)) * 1e6),
                Long::sum));
  }
}
