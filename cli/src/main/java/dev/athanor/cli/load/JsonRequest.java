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
 * A repeatable request that sends or receives a JSON document. The Java client transfers tensors as
 * bytes, so it cannot measure JSON.
 */
record JsonRequest(HttpClient http, HttpRequest request) {

  static final String MEDIA = "application/json";

  private static final JsonMapper JSON = new JsonMapper();
  private static final byte[] NOTHING = {};
  private static final Pattern PROBLEM = Pattern.compile("\"urn:athanor:problem:([a-z-]+)\"");
  private static final Pattern PHASE = Pattern.compile("([a-z]+);dur=([0-9.]+)");

  /**
   * Sends the request.
   *
   * @param check whether the response will be checked; otherwise its body is discarded
   * @param correct accepts correct response bodies
   */
  Response send(boolean check, Predicate<JsonNode> correct)
      throws RequestFailure, InterruptedException {
    var response = response(check);
    var phases =
        response.headers().firstValue("Server-Timing").map(JsonRequest::phases).orElse(Map.of());
    return new Response(phases, () -> isCorrect(response.body(), correct));
  }

  private static boolean isCorrect(byte[] body, Predicate<JsonNode> correct) {
    try {
      return correct.test(JSON.readTree(body));
    } catch (JacksonException e) {
      return false;
    }
  }

  /**
   * Sends the request and returns the body of the response.
   *
   * @throws LoadException if the request fails
   */
  JsonNode expect() throws InterruptedException {
    try {
      return JSON.readTree(response(true).body());
    } catch (RequestFailure e) {
      throw new LoadException(String.valueOf(e.getMessage()));
    }
  }

  private HttpResponse<byte[]> response(boolean keep) throws RequestFailure, InterruptedException {
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
      throw new RequestFailure(
          RequestFailure.NO_ANSWER,
          Duration.ZERO,
          "%s does not answer: %s".formatted(request.uri().resolve("/"), e));
    }
    if (response.statusCode() >= 300) {
      throw failure(response);
    }
    return response;
  }

  private RequestFailure failure(HttpResponse<byte[]> response) {
    var text = new String(response.body(), StandardCharsets.UTF_8);
    var code = PROBLEM.matcher(text);
    return new RequestFailure(
        code.find() ? code.group(1) : "http-" + response.statusCode(),
        response
            .headers()
            .firstValue("Retry-After")
            .filter(seconds -> seconds.matches("\\d{1,9}"))
            .map(seconds -> Duration.ofSeconds(Long.parseLong(seconds)))
            .orElse(Duration.ZERO),
        "%s %s failed with status %d: %s"
            .formatted(request.method(), request.uri(), response.statusCode(), text.strip()));
  }

  /** Parses {@code Server-Timing}, which is in milliseconds. */
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
