package dev.athanor.service.rest;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.service.AthanorApplication;
import dev.athanor.testing.TestTier;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.server.LocalServerPort;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/**
 * Tests the running service against its OpenAPI document. Requests are derived from the document,
 * and every response must have a documented status, content type and body.
 *
 * <p>This resembles schemathesis but is written in Java, because the build does not use Python and
 * an external tool could not be pinned and run offline. Every build sends a few requests for each
 * operation; {@code -Dathanor.sweep} sends 400. A failure reports its seed; {@code -Dathanor.seed}
 * repeats it.
 */
@SpringBootTest(
    classes = AthanorApplication.class,
    properties = "athanor.device=emulator",
    webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
@Tag(TestTier.THOROUGH_TAG)
class ContractFuzzTest {

  private static final JsonMapper JSON = JsonMapper.builder().build();

  /** Requests per operation; each op has two operations of its own. */
  private static final int REQUESTS = TestTier.choose(2, 4, 400);

  /** Maximum number of reported failures. */
  private static final int MAX_REPORTED = 40;

  @LocalServerPort int port;

  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  @Test
  void everyResponseIsDocumented() throws IOException, InterruptedException {
    long seed = TestTier.seed();
    var document = new OpenApi(text(get("/openapi.yaml")));
    var failures = new TreeMap<String, String>();
    for (var operation : document.operations().entrySet()) {
      var name = operation.getKey();
      // each operation has its own random sequence, independent of the others
      var random = new Random(seed ^ name.hashCode());
      for (int i = 0; i < REQUESTS; i++) {
        var generator = new RequestGenerator(document, random, handles());
        var request = generator.request(name, operation.getValue(), document.item(name));
        var answer = send(request);
        deviation(document, name, request, answer)
            .ifPresent(what ->
                failures.putIfAbsent(
                    name + ": " + what,
                    "%s%n-> %d %s"
                        .formatted(
                            request, answer.statusCode(), text(answer).lines().limit(3).toList())));
      }
    }
    assertThat(failures.entrySet().stream().limit(MAX_REPORTED).toList())
        .as("-Dathanor.seed=%d", seed)
        .isEmpty();
  }

  /** Returns the handle of a tensor, and one that never existed. */
  private List<String> handles() throws IOException, InterruptedException {
    var answer =
        client.send(
            HttpRequest.newBuilder(uri("/tensors?ttlSeconds=30"))
                .header("Content-Type", "application/json")
                .POST(
                    BodyPublishers.ofString(
                        "{\"dtype\":\"f32\",\"shape\":[2,2],\"data\":[1,2,3,4]}"))
                .build(),
            HttpResponse.BodyHandlers.ofByteArray());
    assertThat(answer.statusCode()).as(text(answer)).isEqualTo(201);
    return List.of(
        JSON.readTree(answer.body()).get("handle").asString(),
        "t_00000000000000000000000000000000_local");
  }

  private URI uri(String path) {
    return URI.create("http://127.0.0.1:" + port + path);
  }

  private HttpResponse<byte[]> get(String path) throws IOException, InterruptedException {
    return client.send(
        HttpRequest.newBuilder(uri(path)).build(), HttpResponse.BodyHandlers.ofByteArray());
  }

  private static String text(HttpResponse<byte[]> answer) {
    return new String(answer.body(), UTF_8);
  }

  private HttpResponse<byte[]> send(RequestGenerator.Request request)
      throws IOException, InterruptedException {
    var body =
        request.body() == null
            ? BodyPublishers.noBody()
            : BodyPublishers.ofByteArray(request.body().toByteArray());
    var builder = HttpRequest.newBuilder(uri(request.path())).method(request.method(), body);
    request.headers().forEach(builder::header);
    return client.send(builder.build(), HttpResponse.BodyHandlers.ofByteArray());
  }

  /** Returns the deviation from the document; empty if there is none. */
  private static Optional<String> deviation(
      OpenApi document,
      String documented,
      RequestGenerator.Request request,
      HttpResponse<byte[]> answer) {
    int status = answer.statusCode();
    var type = answer.headers().firstValue("Content-Type").orElse("").replaceAll(";.*", "");
    if (status == 500) {
      return Optional.of("an internal error");
    }
    var name = request.method() + documented.substring(documented.indexOf(' '));
    var operation = document.operations().get(name);
    if (operation == null) {
      return status == 405
              && type.equals("application/problem+json")
              && answer.headers().firstValue("Allow").isPresent()
          ? Optional.empty()
          : Optional.of("%s returns %d as %s".formatted(request.method(), status, type));
    }
    if (request.invalid() && status < 400 && request.method().equals(documented.split(" ", 2)[0])) {
      return Optional.of("accepts what the schema rejects, %s".formatted(request.about()));
    }
    var responses = OpenApi.map(operation.get("responses"));
    var response = responses.get(Integer.toString(status));
    if (response == null) {
      return Optional.of("%s returns %d".formatted(name, status));
    }
    var content = document.resolve(response).get("content");
    if (content == null || request.method().equals("HEAD")) {
      return answer.body().length == 0
          ? Optional.empty()
          : Optional.of("%d has a body".formatted(status));
    }
    return body(document, OpenApi.map(content), type, answer).map(what -> status + " " + what);
  }

  private static Optional<String> body(
      OpenApi document, Map<?, ?> content, String type, HttpResponse<byte[]> answer) {
    if (!content.containsKey(type)) {
      return Optional.of("has the type " + type);
    }
    var schema = OpenApi.map(content.get(type)).get("schema");
    if (schema == null || !type.endsWith("json")) {
      return Optional.empty();
    }
    try {
      var violations =
          document.violations(schema, JSON.readValue(answer.body(), Object.class), "body");
      return violations.isEmpty()
          ? Optional.empty()
          : Optional.of("is not as described: " + violations.getFirst());
    } catch (JacksonException e) {
      return Optional.of("is not JSON");
    }
  }
}
