package dev.athanor.service.forward;

import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.equalTo;

import com.sun.net.httpserver.HttpServer;
import dev.athanor.service.rest.RestTest;
import dev.athanor.testing.TestTier;
import io.restassured.RestAssured;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;
import org.springframework.test.context.TestPropertySource;

/** Tests replica 1 with an HTTP server at 127.0.0.2 that does not answer. */
@TestPropertySource(
    properties = {
      "athanor.replica=test-1",
      "athanor.forward.connect-timeout=1h",
      "athanor.forward.answer-timeout=200ms",
      "athanor.forward.replicas=1,2"
    })
@Tag(TestTier.THOROUGH_TAG)
class AnswerTimeoutTest extends RestTest {

  private static final CountDownLatch DONE = new CountDownLatch(1);
  private static final HttpServer OWNER = owner();

  private static HttpServer owner() {
    try {
      var server = HttpServer.create(new InetSocketAddress("127.0.0.2", 0), 0);
      server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
      server.createContext(
          "/",
          exchange -> {
            try (exchange) {
              DONE.await();
            } catch (InterruptedException e) {
              Thread.currentThread().interrupt();
            }
          });
      server.start();
      return server;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @DynamicPropertySource
  static void settings(DynamicPropertyRegistry properties) {
    properties.add(
        "athanor.forward.url", () -> "http://127.0.0.{replica}:" + OWNER.getAddress().getPort());
  }

  @AfterAll
  static void stop() {
    DONE.countDown();
    OWNER.stop(0);
  }

  @Test
  void timesOutOnASlowOwner() {
    RestAssured.get(
            "http://127.0.0.1:%d/tensors/t_0123456789abcdef0123456789abcdef_2".formatted(port))
        .then()
        .statusCode(503)
        .body("type", equalTo("urn:athanor:problem:replica-unavailable"))
        .body("detail", containsString("did not answer for 200 ms"));
  }
}
