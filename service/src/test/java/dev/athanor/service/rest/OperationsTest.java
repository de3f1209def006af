package dev.athanor.service.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.contains;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.notNullValue;

import dev.athanor.service.metrics.Meters;
import dev.athanor.service.stream.Drain;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.annotation.Autowired;

/** Tests the index, probes, information and metrics. */
class OperationsTest extends RestTest {

  /** Tests the Accept headers of curl, of Chromium, and of a client that accepts neither format. */
  @Test
  void rootRedirectsBrowsersAndListsPaths() {
    for (var path : List.of("openapi", "ops", "tensors", "ready")) {
      String found =
          given().accept("*/*").get("/").then().statusCode(200).extract().jsonPath().get(path);
      given().get(found).then().statusCode(200);
    }
    given()
        .redirects()
        .follow(false)
        .accept("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
        .get("/")
        .then()
        .statusCode(302)
        .header("Location", "/console/")
        .header("Vary", containsString("Accept"));
    problem(
        given().accept("image/png").get("/"),
        406,
        "not-acceptable",
        "Accept",
        "Accept is image/png; it must be application/json");
  }

  @Autowired Drain drain;

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/livez",
        "/readyz",
        "/actuator/health",
        "/actuator/health/liveness",
        "/actuator/health/readiness"
      })
  void probesRespond(String path) {
    given().get(path).then().statusCode(200).body("status", equalTo("UP"));
  }

  @Test
  void infoNamesVersionAndDevice() {
    given()
        .get("/actuator/info")
        .then()
        .statusCode(200)
        .body("version", notNullValue())
        .body("device", equalTo("fake:0"))
        .body("target", equalTo("sm_80"));
  }

  @Test
  void describesDevices() {
    long before =
        given().get("/devices").then().extract().jsonPath().getLong("devices[0].memory.used");
    tensor(1, 2, 3, 4);
    given()
        .get("/devices")
        .then()
        .statusCode(200)
        .body("devices.id", contains("fake:0"))
        .body("devices[0].name", equalTo("Host memory"))
        .body("devices[0].target", equalTo("sm_80"))
        .body("devices[0].health", equalTo("ready"))
        .body("devices[0].memory.used", equalTo((int) before + 16))
        .body("devices[0].queueDepth", equalTo(0))
        .body("devices[0].streams", equalTo(2))
        .body("devices[0].streamsBusy", equalTo(0));
    problem(
        given().get("/devices?id=0"),
        400,
        "unknown-field",
        "id",
        "Unknown query parameter \"id\"; this path has none");
  }

  @ParameterizedTest
  @EnumSource(
      value = Meters.class,
      mode = EnumSource.Mode.MATCH_NONE,
      // test ops load no kernels, the device creates no graphs, nothing is forwarded, no GPU
      names = {"KERNEL_LOADS", "GRAPH_LAUNCHES", "FORWARDED_REQUESTS", "GPU_.*"})
  void exportsEveryMeter(Meters meter) {
    json("{\"inputs\": {\"x\": {\"dtype\": \"u8\", \"shape\": [1], \"data\": [1]}}}")
        .post("/ops/identity")
        .then()
        .statusCode(200);
    var page = given().get("/actuator/prometheus").then().extract().asString();
    var kind =
        switch (meter.type()) {
          case TIMER, DISTRIBUTION_SUMMARY -> "histogram";
          case COUNTER -> "counter";
          default -> "gauge";
        };
    assertThat(page)
        .contains("# HELP " + meter.exposed() + " " + meter.description())
        .contains("# TYPE " + meter.exposed() + " " + kind);
    var labels = new java.util.TreeSet<>(meter.labels());
    labels.add("device");
    var series =
        page.lines()
            .filter(l -> l.matches(meter.exposed() + "(_count)?\\{.*"))
            .findFirst()
            .orElseThrow();
    assertThat(series.replaceAll("\"[^\"]*\"", "").replaceAll("^[^{]*\\{|}.*", ""))
        .isEqualTo(String.join("=,", labels) + "=");
  }

  /** By default, Spring returns 500 here and logs a stack trace. */
  @Test
  void rejectsUnsupportedMediaTypes() {
    for (var path : List.of("/livez", "/readyz", "/actuator/health", "/actuator/info")) {
      problem(
          given().accept("application/json;charset=utf-16").get(path),
          406,
          "not-acceptable",
          "Accept",
          "this path cannot produce any media type in Accept");
    }
  }

  /** An empty header means no preference (RFC 9110, section 12.5.1). */
  @ParameterizedTest
  @ValueSource(strings = {"", " ", ","})
  void acceptsAnEmptyAccept(String accept) throws IOException {
    for (var path : List.of("/actuator/prometheus", "/actuator/health", "/actuator/info")) {
      var request =
          "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAccept:%s\r\n\r\n"
              .formatted(path, accept);
      try (var socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
        socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
        assertThat(new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
            .startsWith("HTTP/1.1 200");
      }
    }
  }
}
