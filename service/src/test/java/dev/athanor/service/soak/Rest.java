package dev.athanor.service.soak;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.concurrent.Executors;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Sends requests and checks responses against the API contract. */
final class Rest implements AutoCloseable {

  static final JsonMapper JSON = new JsonMapper();

  /** Codes of responses that must have Retry-After. */
  private static final Set<String> BUSY =
      Set.of("queue-full", "out-of-host-memory", "quota-exceeded", "draining", "device-lost");

  private final HttpClient http =
      HttpClient.newBuilder()
          .version(HttpClient.Version.HTTP_1_1)
          .executor(Executors.newVirtualThreadPerTaskExecutor())
          .build();
  private final URI url;

  Rest(URI url) {
    this.url = url;
  }

  @SuppressWarnings("ArrayRecordComponent") // never compared
  record Answer(int status, HttpHeaders headers, byte[] body) {
    JsonNode json() {
      return JSON.readTree(body);
    }
  }

  /**
   * Sends a request.
   *
   * @param type the media type of the body, or of the response if there is no body
   * @param headers names and values in turn
   * @throws Refusal if the response is a documented problem
   * @throws AssertionError if the response violates the contract
   */
  Answer send(String key, String method, String path, String type, byte[] body, String... headers)
      throws Refusal, IOException, InterruptedException {
    var request = HttpRequest.newBuilder(url.resolve(path)).setHeader("X-API-Key", key);
    if (body.length > 0) {
      request.setHeader("Content-Type", type);
    } else if (!type.isEmpty()) {
      request.setHeader("Accept", type);
    }
    for (int i = 0; i < headers.length; i += 2) {
      request.setHeader(headers[i], headers[i + 1]);
    }
    request.method(
        method, body.length > 0 ? BodyPublishers.ofByteArray(body) : BodyPublishers.noBody());
    var response = http.send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
    var answer = new Answer(response.statusCode(), response.headers(), response.body());
    if (answer.status >= 300) {
      throw refusal(method + " " + path, answer);
    }
    return answer;
  }

  private static Refusal refusal(String what, Answer answer) {
    if (!answer.headers.firstValue("Content-Type").orElse("").contains("problem+json")) {
      throw new AssertionError(
          "%s returned %d without a problem: %s"
              .formatted(what, answer.status, new String(answer.body, StandardCharsets.UTF_8)));
    }
    var problem = answer.json();
    var code = problem.path("type").asString().replace("urn:athanor:problem:", "");
    var detail = "%s: %s".formatted(what, problem.path("detail").asString());
    if (answer.status == 500 || problem.path("status").asInt() != answer.status) {
      throw new AssertionError("%d %s, %s".formatted(answer.status, code, detail));
    }
    if (BUSY.contains(code) && answer.headers.firstValueAsLong("Retry-After").orElse(0) < 1) {
      throw new AssertionError("%s has no Retry-After".formatted(code));
    }
    return new Refusal(code, detail);
  }

  /** Sends a request that must fail with a code. */
  void refused(String code, String key, String method, String path, byte[] body, String... headers)
      throws Refusal, IOException, InterruptedException {
    Answer answer;
    try {
      var type = body.length > 0 ? "application/octet-stream" : "";
      answer = send(key, method, path, type, body, headers);
    } catch (Refusal e) {
      if (e.code().equals(code)) {
        return;
      }
      throw e;
    }
    throw new AssertionError(
        "%s %s returned %d instead of %s".formatted(method, path, answer.status, code));
  }

  @Override
  public void close() {
    http.shutdownNow();
  }
}
