package dev.athanor.client;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** A server that replies with a test's answers in order; the last one repeats. */
final class FakeServer implements AutoCloseable {

  static final String TENSOR =
      """
      {"handle": "t_00_0", "name": null, "scope": null, "dtype": "f32", "shape": [2], "bytes": 8,
       "device": "emulator:0", "version": 1, "createdAt": "2026-01-01T00:00:00Z", "expiresAt": null}
      """;

  /** An answer to one request. */
  interface Answer {
    void send(HttpExchange exchange) throws IOException;
  }

  /**
   * A request.
   *
   * @param headers the received headers, with names in lower case
   */
  record Request(String method, String path, Map<String, String> headers) {}

  final List<Request> requests = new CopyOnWriteArrayList<>();
  private final Deque<Answer> answers = new ConcurrentLinkedDeque<>();
  private final HttpServer server;

  FakeServer(Answer... answers) {
    this.answers.addAll(List.of(answers));
    try {
      server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
    server.setExecutor(Executors.newCachedThreadPool());
    server.createContext("/", this::handle);
    server.start();
  }

  String url() {
    return "http://127.0.0.1:" + server.getAddress().getPort();
  }

  private void handle(HttpExchange exchange) throws IOException {
    var headers = new HashMap<String, String>();
    exchange
        .getRequestHeaders()
        .forEach((name, values) -> headers.put(name.toLowerCase(Locale.ROOT), values.get(0)));
    requests.add(
        new Request(exchange.getRequestMethod(), exchange.getRequestURI().toString(), headers));
    exchange.getRequestBody().readAllBytes();
    var answer = answers.size() > 1 ? answers.remove() : answers.getFirst();
    answer.send(exchange);
  }

  /** Answers with JSON; {@code headers} are alternating names and values. */
  static Answer json(int status, String body, String... headers) {
    return exchange -> {
      for (int i = 0; i < headers.length; i += 2) {
        exchange.getResponseHeaders().add(headers[i], headers[i + 1]);
      }
      var bytes = body.getBytes(StandardCharsets.UTF_8);
      exchange.sendResponseHeaders(status, status == 204 ? -1 : bytes.length);
      if (status != 204) {
        exchange.getResponseBody().write(bytes);
      }
      exchange.close();
    };
  }

  static Answer problem(int status, String code, String more, String... headers) {
    return json(
        status,
        "{\"type\": \"urn:athanor:problem:%s\", \"detail\": \"Said so.\"%s}".formatted(code, more),
        headers);
  }

  /** Closes the connection without an answer. */
  static Answer disconnect() {
    return HttpExchange::close;
  }

  /** Does not answer until the server closes; counts down on arrival. */
  static Answer silence(CountDownLatch received) {
    return exchange -> {
      received.countDown();
      try {
        new CountDownLatch(1).await();
      } catch (InterruptedException e) {
        exchange.close();
      }
    };
  }

  @Override
  public void close() {
    server.stop(0);
    ((ExecutorService) server.getExecutor()).shutdownNow();
  }
}
