package dev.athanor.cli.load;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.athanor.cli.ListOp;
import dev.athanor.ops.Problem;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.json.JsonMapper;

/** Tests that requests of an op with lists have all of its inputs, attributes and outputs. */
class OpScenarioTest {

  private static final String TENSOR =
      "{\"handle\": \"t_1\", \"dtype\": \"f32\", \"shape\": [2], \"bytes\": 8}";

  private final List<String> calls = new CopyOnWriteArrayList<>();

  @Test
  void sendsLists() throws Exception {
    var server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 10);
    server.createContext("/", this::answer);
    server.start();
    var url = URI.create("http://127.0.0.1:" + server.getAddress().getPort());
    try (var target = new Target(url, "127.0.0.1:1", Map.of())) {
      var problem =
          Problem.parse(
              new ListOp(), "x0=f32[2] x1=f32[2] axes=0,2 constants=0.5 expression=\"x0 + c0\"");
      new OpScenario("lists", problem, false, OpScenario.Route.HTTP, 1).prepare(target, 1);
    } finally {
      server.stop(0);
    }
    var json = new JsonMapper();
    assertThat(calls)
        .extracting(json::readTree)
        .containsExactly(
            json.readTree(
                """
                {"inputs": {"x0": {"handle": "t_1"}, "x1": {"handle": "t_1"}},
                 "attributes": {"axes": [0, 2], "constants": [0.5], "expression": "x0 + c0"},
                 "outputs": {"y0": {"as": "handle"}, "y1": {"as": "handle"}}}
                """));
  }

  private void answer(HttpExchange exchange) throws IOException {
    try (exchange) {
      var body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
      byte[] answer = TENSOR.getBytes(StandardCharsets.UTF_8);
      if (exchange.getRequestURI().getPath().startsWith("/ops/")) {
        calls.add(body);
        answer =
            "{\"outputs\": {\"y0\": %s, \"y1\": %1$s}}"
                .formatted(TENSOR)
                .getBytes(StandardCharsets.UTF_8);
      } else if (exchange.getRequestURI().getPath().endsWith("/data")) {
        answer = new byte[8];
      }
      exchange.sendResponseHeaders(200, answer.length);
      exchange.getResponseBody().write(answer);
    }
  }
}
