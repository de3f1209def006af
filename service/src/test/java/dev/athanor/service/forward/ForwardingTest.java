package dev.athanor.service.forward;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import dev.athanor.service.rest.RestTest;
import dev.athanor.service.security.ApiKey;
import dev.athanor.service.security.Scope;
import dev.athanor.service.tensor.Tenant;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;
import org.springframework.test.context.TestPropertySource;

/**
 * Tests replica 1 with an HTTP server at 127.0.0.2 whose responses the tests define, a closed port
 * at 127.0.0.3, and plain sockets at 127.0.0.4.
 */
@TestPropertySource(
    properties = {
      "athanor.replica=test-1",
      "athanor.security.mode=api-key",
      "athanor.forward.connect-timeout=1h",
      "athanor.forward.answer-timeout=1h",
      "athanor.forward.idle-timeout=1h",
      "athanor.forward.replay-bytes=4KB",
      "athanor.forward.max-requests=4",
      "athanor.quota.tenants.lab.share=0.5",
      "athanor.forward.replicas=1,2"
    })
class ForwardingTest extends RestTest {

  private static final ApiKey.NewKey KEY = key("lab");
  private static final ApiKey.NewKey OTHER = key("other");
  private static final HttpServer OWNER = owner();
  private static final AtomicInteger REQUESTS = new AtomicInteger();
  private static volatile HttpHandler answer = exchange -> {};

  @TempDir private static Path folder;

  private static ApiKey.NewKey key(String tenant) {
    return ApiKey.create(
        new Tenant(tenant),
        Scope.list("ops:run,tensors:read,tensors:write,metrics,priority"),
        new SecureRandom());
  }

  private static HttpServer owner() {
    try {
      var server = HttpServer.create(new InetSocketAddress("127.0.0.2", 0), 0);
      server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
      server.createContext(
          "/",
          exchange -> {
            REQUESTS.incrementAndGet();
            answer.handle(exchange);
          });
      server.start();
      return server;
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  @DynamicPropertySource
  static void settings(DynamicPropertyRegistry properties) throws IOException {
    var file = folder.resolve("keys");
    Files.write(file, List.of(KEY.line(), OTHER.line()));
    properties.add("athanor.security.api-keys.file", file::toString);
    properties.add(
        "athanor.forward.url", () -> "http://127.0.0.{replica}:" + OWNER.getAddress().getPort());
  }

  @AfterAll
  static void stop() {
    OWNER.stop(0);
  }

  @BeforeEach
  void reset() {
    REQUESTS.set(0);
    answer = exchange -> send(exchange, 200, "{}");
  }

  private static String handle(String id) {
    return "t_0123456789abcdef0123456789abcdef_" + id;
  }

  private static void send(HttpExchange exchange, int status, String body) throws IOException {
    exchange.getResponseHeaders().set("Content-Type", "application/json");
    exchange.sendResponseHeaders(status, body.isEmpty() ? -1 : body.length());
    try (var out = exchange.getResponseBody()) {
      out.write(body.getBytes(ISO_8859_1));
    }
  }

  private Socket connect() throws IOException {
    var socket = new Socket(InetAddress.getLoopbackAddress(), port);
    return socket;
  }

  /** Returns the head of an authenticated request, without the final empty line. */
  private static String head(String request, String... headers) {
    return request
        + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
        + KEY.key()
        + "\r\n"
        + String.join("\r\n", headers)
        + (headers.length == 0 ? "" : "\r\n");
  }

  private static void write(Socket socket, String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(ISO_8859_1));
    socket.getOutputStream().flush();
  }

  /** Sends a request on a separate connection and returns the whole response. */
  private String exchange(String head, String body) throws IOException {
    try (var socket = connect()) {
      var length =
          body.isEmpty() || head.contains("Transfer-Encoding")
              ? ""
              : "Content-Length: " + body.length() + "\r\n";
      write(socket, head + length + "Connection: close\r\n\r\n" + body);
      var all = new ByteArrayOutputStream();
      socket.getInputStream().transferTo(all);
      return all.toString(ISO_8859_1);
    }
  }

  @Test
  void forwardsAllHeadersExceptHopByHopHeaders() throws Exception {
    var seen = new CompletableFuture<HttpExchange>();
    answer =
        exchange -> {
          seen.complete(exchange);
          var headers = exchange.getResponseHeaders();
          headers.set("ETag", "\"7\"");
          headers.set("Server-Timing", "total;dur=1");
          headers.set("Content-Range", "bytes 0-1/4");
          headers.set("Athanor-Replica", "2");
          headers.set("Keep-Alive", "timeout=1");
          send(exchange, 206, "ab");
        };

    var path = "/tensors/" + handle("2") + "/data?a=%20b";
    var got =
        exchange(
            head(
                "GET " + path,
                "Range: bytes=0-1",
                "If-Match: \"7\"",
                "Accept: application/octet-stream",
                "Idempotency-Key: k",
                "X-Priority: 2",
                "X-Deadline-Ms: 60000",
                "X-Hop: secret",
                "TE: trailers",
                "Connection: X-Hop"),
            "");

    assertThat(got)
        .startsWith("HTTP/1.1 206 ")
        .containsIgnoringCase("ETag: \"7\"")
        .containsIgnoringCase("Content-Range: bytes 0-1/4")
        .contains("total;dur=1")
        .containsOnlyOnce("Athanor-Replica: 2")
        .doesNotContain("timeout=1")
        .endsWith("\r\n\r\nab");
    var request = seen.get();
    assertThat(request.getRequestURI()).hasToString(path);
    var headers = request.getRequestHeaders();
    assertThat(headers.getFirst("Authorization")).isEqualTo("Bearer " + KEY.key());
    assertThat(headers.getFirst("Range")).isEqualTo("bytes=0-1");
    assertThat(headers.getFirst("If-Match")).isEqualTo("\"7\"");
    assertThat(headers.getFirst("Accept")).isEqualTo("application/octet-stream");
    assertThat(headers.getFirst("Idempotency-Key")).isEqualTo("k");
    assertThat(headers.getFirst("X-Priority")).isEqualTo("2");
    assertThat(headers.getFirst("Athanor-Forwarded")).isEqualTo("1");
    assertThat(Integer.parseInt(headers.getFirst("X-Deadline-Ms"))).isBetween(1, 60_000);
    assertThat(headers).doesNotContainKeys("X-hop", "Te");
  }

  @Test
  void returnsProblemsOfTheOwner() throws Exception {
    answer =
        exchange -> {
          exchange.getResponseHeaders().set("Retry-After", "3");
          send(exchange, 429, "{\"type\": \"urn:athanor:problem:queue-full\"}");
        };
    assertThat(exchange(head("DELETE /tensors/" + handle("2")), ""))
        .startsWith("HTTP/1.1 429 ")
        .containsIgnoringCase("Retry-After: 3")
        .contains("queue-full");
    answer = exchange -> send(exchange, 204, "");
    assertThat(exchange(head("DELETE /tensors/" + handle("2")), "")).startsWith("HTTP/1.1 204 ");
    assertThat(exchange(head("HEAD /tensors/" + handle("2")), "")).startsWith("HTTP/1.1 204 ");
  }

  @Test
  void doesNotForwardAForwardedRequest() throws Exception {
    for (var path : new String[] {"/tensors/" + handle("2"), "/tensors/" + handle("2") + "/data"}) {
      assertThat(exchange(head("GET " + path, "Athanor-Forwarded: 7"), ""))
          .startsWith("HTTP/1.1 421 ")
          .contains("wrong-replica", "a forwarded request is not forwarded again");
    }
    assertThat(exchange(identity("2", "Athanor-Forwarded: 7"), "")).startsWith("HTTP/1.1 4");
    assertThat(REQUESTS).hasValue(0);
  }

  private static String identity(String id, String... headers) {
    return head("POST /ops/identity?x=" + handle(id), headers)
        + "Content-Type: application/x-safetensors\r\n";
  }

  @Test
  void streamsBodiesInBothDirections() throws Exception {
    int half = 8 << 20;
    var arrived = new CountDownLatch(1);
    var read = new CountDownLatch(1);
    answer =
        exchange -> {
          try (var in = exchange.getRequestBody()) {
            in.readNBytes(1000);
            arrived.countDown();
            in.transferTo(java.io.OutputStream.nullOutputStream());
          }
          exchange.sendResponseHeaders(200, 0);
          try (var out = exchange.getResponseBody()) {
            out.write(new byte[half]);
            out.flush();
            await(read);
            out.write(new byte[half]);
          }
        };

    try (var socket = connect()) {
      var type = "Content-Type: application/octet-stream";
      var length = "Content-Length: " + 2 * half;
      write(
          socket,
          head("PUT /tensors/" + handle("2") + "/data", type, length, "Connection: close")
              + "\r\n");
      socket.getOutputStream().write(new byte[half]);
      arrived.await();
      socket.getOutputStream().write(new byte[half]);
      var in = socket.getInputStream();
      assertThat(in.readNBytes(half)).hasSize(half);
      read.countDown();
      assertThat(in.readAllBytes().length).isBetween(half, half + 100_000);
    }
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void passesEventsOnWhenTheyArrive() throws Exception {
    var read = new CountDownLatch(1);
    var events = List.of("event: token\ndata: {}\n\n", "event: end\ndata: {}\n\n");
    answer =
        exchange -> {
          exchange.getResponseHeaders().set("Content-Type", "text/event-stream");
          exchange.sendResponseHeaders(200, 0);
          try (var out = exchange.getResponseBody()) {
            out.write(events.getFirst().getBytes(ISO_8859_1));
            out.flush();
            await(read);
            out.write(events.getLast().getBytes(ISO_8859_1));
          }
        };

    try (var socket = connect()) {
      var session = handle("2").replace("t_", "s_");
      write(
          socket,
          head("GET /models/llama/sessions/" + session, "Accept: text/event-stream") + "\r\n");
      var in = new BufferedReader(new InputStreamReader(socket.getInputStream(), ISO_8859_1));
      assertThat(in.lines().anyMatch("event: token"::equals)).isTrue();
      read.countDown();
      assertThat(in.lines().anyMatch("event: end"::equals)).isTrue();
    }
  }

  /**
   * The owner rejects the headers without reading the body. The client gets the response instead of
   * a broken pipe.
   */
  @Test
  void returnsAnEarlyRejectionOfALongBody() throws Exception {
    try (var owner = new ServerSocket(OWNER.getAddress().getPort(), 5, address(4));
        var executor = Executors.newVirtualThreadPerTaskExecutor()) {
      var _ =
          executor.submit(() -> {
            try (var socket = owner.accept()) {
              readHead(socket);
              write(socket, "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\n{}");
              return socket.getInputStream().readAllBytes();
            }
          });
      assertThat(
              exchange(
                  head(
                      "PUT /tensors/" + handle("4") + "/data",
                      "Content-Type: application/octet-stream"),
                  "x".repeat(1 << 20)))
          .startsWith("HTTP/1.1 413 ")
          .endsWith("{}");
    }
  }

  private static InetAddress address(int last) throws IOException {
    return InetAddress.getByName("127.0.0." + last);
  }

  private static String readHead(Socket socket) throws IOException {
    var head = new ByteArrayOutputStream();
    while (!head.toString(ISO_8859_1).endsWith("\r\n\r\n")) {
      int next = socket.getInputStream().read();
      if (next < 0) {
        break;
      }
      head.write(next);
    }
    return head.toString(ISO_8859_1);
  }

  @Test
  void reportsAnUnreachableOwner() throws Exception {
    assertThat(exchange(head("GET /tensors/" + handle("3")), ""))
        .startsWith("HTTP/1.1 503 ")
        .contains("Retry-After: 5", "urn:athanor:problem:replica-unavailable")
        .contains(
            "the replica 3 cannot be reached, and nothing was sent to it; its tensors are lost if it does not come back");
    assertThat(exchange(head("GET /tensors/" + handle("999")), ""))
        .startsWith("HTTP/1.1 503 ")
        .contains("replica-unavailable");
    assertThat(exchange(head("GET /metrics"), ""))
        .containsPattern("athanor_forwarded_requests_total\\{.*outcome=\"replica-unavailable\"");
  }

  @Test
  void limitsConcurrentForwardedRequests() throws Exception {
    var busy = new CountDownLatch(2);
    var release = new CountDownLatch(1);
    answer =
        exchange -> {
          busy.countDown();
          await(release);
          send(exchange, 200, "{}");
        };
    String request = head("GET /tensors/" + handle("2"));
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      var first = threads.submit(() -> exchange(request, ""));
      var second = threads.submit(() -> exchange(request, ""));
      busy.await();

      assertThat(exchange(request, ""))
          .startsWith("HTTP/1.1 429 ")
          .contains(
              "urn:athanor:problem:queue-full",
              "Retry-After: 1",
              "Too many requests: 2 of 4 are being forwarded to other replicas (athanor.forward.max-requests), 2 of them for this tenant (athanor.quota.share). Retry after 1 s.");
      answer = exchange -> send(exchange, 200, "{}");
      assertThat(exchange(request.replace(KEY.key(), OTHER.key()), ""))
          .as("another tenant")
          .startsWith("HTTP/1.1 200 ");
      release.countDown();
      assertThat(first.get()).startsWith("HTTP/1.1 200 ");
      assertThat(second.get()).startsWith("HTTP/1.1 200 ");
    }
    assertThat(exchange(request, "")).startsWith("HTTP/1.1 200 ");
  }

  @Test
  @SuppressWarnings("try") // intentionally closed early
  void reportsThatAnAbortedRequestMayHaveRun() throws Exception {
    try (var owner = new ServerSocket(OWNER.getAddress().getPort(), 5, address(4));
        var executor = Executors.newVirtualThreadPerTaskExecutor()) {
      var requests =
          executor.submit(() -> {
            int count = 0;
            try {
              while (true) {
                try (var socket = owner.accept()) {
                  readHead(socket);
                  count++;
                  socket.setSoLinger(true, 0);
                }
              }
            } catch (SocketException e) {
              return count;
            }
          });
      assertThat(exchange(identity("4"), "12345678"))
          .startsWith("HTTP/1.1 503 ")
          .contains("replica-unavailable", "and the request may have been carried out");
      owner.close();
      assertThat(requests.get()).as("sent once").isEqualTo(1);
    }
  }

  @Test
  void reportsThatASlowOwnerExceedsTheDeadline() throws Exception {
    var done = new CountDownLatch(1);
    answer = exchange -> await(done);
    try {
      assertThat(exchange(head("GET /tensors/" + handle("2"), "X-Deadline-Ms: 100"), ""))
          .startsWith("HTTP/1.1 504 ")
          .contains("deadline-exceeded", "within its deadline of 100 ms");
    } finally {
      done.countDown();
    }
  }

  /**
   * If nothing has been sent to the client, it gets a problem; otherwise its response is truncated,
   * too.
   */
  @Test
  void truncatedResponsesAreDetectable() throws Exception {
    for (int length : new int[] {10, 1 << 20}) {
      answer =
          exchange -> {
            exchange.getResponseHeaders().set("ETag", "\"7\"");
            exchange.sendResponseHeaders(200, length + 1);
            exchange.getResponseBody().write(new byte[length]);
            exchange.getResponseBody().flush();
            exchange.close();
          };
      var got = exchange(head("GET /tensors/" + handle("2")), "");
      if (length == 10) {
        assertThat(got)
            .startsWith("HTTP/1.1 503 ")
            .contains("replica-unavailable")
            .doesNotContainIgnoringCase("ETag");
      } else {
        assertThat(got).startsWith("HTTP/1.1 200 ").contains("Content-Length: " + (length + 1));
        assertThat(got.substring(got.indexOf("\r\n\r\n") + 4)).hasSizeLessThanOrEqualTo(length);
      }
    }
  }

  @Test
  @SuppressWarnings("try") // intentionally closed early
  void clientDisconnectCancelsTheRequest() throws Exception {
    try (var owner = new ServerSocket(OWNER.getAddress().getPort(), 5, address(4))) {
      try (var client = connect()) {
        write(client, head("GET /tensors/" + handle("4")) + "\r\n");
        try (var socket = owner.accept()) {
          readHead(socket);
          client.close();
          assertThat(ends(socket)).isTrue();
        }
      }
    }
  }

  private static boolean ends(Socket socket) throws IOException {
    try {
      return socket.getInputStream().read() < 0;
    } catch (SocketException e) {
      return true;
    }
  }

  @Test
  void doesNotForwardUnauthenticatedRequests() throws Exception {
    for (var path : new String[] {"/tensors/" + handle("2"), "/livez?x=" + handle("2")}) {
      assertThat(exchange("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n", ""))
          .matches("(?s)HTTP/1.1 (401|200) .*");
    }
    assertThat(REQUESTS).hasValue(0);
  }

  @Test
  void rejectsHandlesOfTwoReplicas() throws Exception {
    var sentence = "all handles of a request must belong to one replica";
    for (var other : new String[] {"1", "3"}) {
      assertThat(
              exchange(
                  head("POST /ops/add?a=" + handle("2") + "&b=" + handle(other))
                      + "Content-Type: application/x-safetensors\r\n",
                  "x"))
          .startsWith("HTTP/1.1 421 ")
          .contains("wrong-replica", sentence);
    }
    assertThat(REQUESTS).hasValue(0);
  }

  private static String inputs(String id, int padding) {
    return "{\"inputs\": {\"x\": {\"handle\": \"%s\"}}%s}"
        .formatted(handle(id), " ".repeat(padding));
  }

  @Test
  void replaysShortBodiesWithHandles() throws Exception {
    var body = new CompletableFuture<String>();
    answer =
        exchange -> {
          body.complete(new String(exchange.getRequestBody().readAllBytes(), ISO_8859_1));
          send(exchange, 200, "{}");
        };
    var post = head("POST /ops/identity") + "Content-Type: application/json\r\n";

    assertThat(exchange(post, inputs("2", 100))).startsWith("HTTP/1.1 200 ").endsWith("{}");
    assertThat(body.get()).isEqualTo(inputs("2", 100));

    REQUESTS.set(0);
    assertThat(exchange(post, inputs("2", 5000)))
        .startsWith("HTTP/1.1 421 ")
        .contains("wrong-replica", "\"replica\":\"2\"", "\"replicaUrl\":\"http://127.0.0.2:");
    var chunked = post + "Transfer-Encoding: chunked\r\n";
    assertThat(exchange(chunked, chunk(inputs("2", 5000)))).startsWith("HTTP/1.1 421 ");
    assertThat(REQUESTS).hasValue(0);
    assertThat(exchange(chunked, chunk(inputs("2", 0)))).startsWith("HTTP/1.1 200 ");
    assertThat(REQUESTS).hasValue(1);
  }

  private static String chunk(String text) {
    return Integer.toHexString(text.length()) + "\r\n" + text + "\r\n0\r\n\r\n";
  }

  @ParameterizedTest
  @ValueSource(strings = {"2.example", "ABC", "abcdefghijklmnopq", "2%2F", "2@x", "-2", "2:80"})
  void invalidHandlesDetermineNoHost(String id) throws Exception {
    assertThat(exchange(head("GET /tensors/" + handle(id)), "")).matches("(?s)HTTP/1.1 40[04] .*");
    assertThat(REQUESTS).hasValue(0);
  }

  private static String store(String name) {
    return head("PUT /tensors/" + name + "?replicas=2&dtype=f32&shape=2")
        + "Content-Type: application/octet-stream\r\n";
  }

  /**
   * If a replica fails after the upload and before the naming, the problem lists it and the
   * replicas with a copy.
   */
  @Test
  void reportsACopyWithoutAName() throws Exception {
    var seen = new ConcurrentLinkedQueue<String>();
    answer =
        exchange -> {
          var headers = exchange.getRequestHeaders();
          var body = new String(exchange.getRequestBody().readAllBytes(), ISO_8859_1);
          seen.add(
              "%s %s %s %s %s"
                  .formatted(
                      exchange.getRequestMethod(),
                      exchange.getRequestURI(),
                      headers.getFirst("Athanor-Forwarded"),
                      ("Bearer " + KEY.key()).equals(headers.getFirst("Authorization")),
                      body.replaceAll("n\":\\d+", "n\":V")));
          if (exchange.getRequestMethod().equals("POST")) {
            send(exchange, 201, "{\"handle\": \"%s\"}".formatted(handle("2")));
          } else {
            send(
                exchange,
                507,
                "{\"type\": \"urn:athanor:problem:out-of-device-memory\", \"detail\": \"no\"}");
          }
        };

    var got = exchange(store("midway"), "12345678");

    assertThat(got)
        .startsWith("HTTP/1.1 507 ")
        .contains(
            "the tensor is stored under the name midway on 1, but not on all of 1, 2; send the request again: the replica 2: no",
            "\"done\":[\"1\"]",
            "\"failed\":[\"2\"]");
    assertThat(seen)
        .containsExactly(
            "POST /tensors?dtype=f32&shape=2&ttlSeconds=600 1 true 12345678",
            "PUT /tensors/midway/copy 1 true {\"handle\":\"%s\",\"version\":V,\"ttlSeconds\":0,\"replicas\":[\"1\",\"2\"]}"
                .formatted(handle("2")));
  }

  @Test
  void invalidResponsesStoreNothing() throws Exception {
    answer = exchange -> send(exchange, 200, "what?");

    assertThat(exchange(store("nowhere"), "12345678"))
        .startsWith("HTTP/1.1 503 ")
        .contains("Retry-After: 5", "the replica 2 answered with status 200");
    answer = exchange -> send(exchange, 404, "");
    assertThat(exchange(head("GET /tensors/nowhere"), ""))
        .startsWith("HTTP/1.1 404 ")
        .contains("no tensor is stored under the name nowhere");
  }

  /** Names and scopes may look like handles. */
  @Test
  void labelsAreNotHandles() throws Exception {
    assertThat(exchange(head("GET /tensors?scope=" + handle("2")), ""))
        .startsWith("HTTP/1.1 200 ")
        .contains("Athanor-Replica: 1");
    assertThat(REQUESTS).hasValue(0);
  }
}
