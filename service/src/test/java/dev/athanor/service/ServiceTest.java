package dev.athanor.service;

import static io.restassured.RestAssured.given;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.equalTo;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.server.LocalServerPort;

/** The service on a real port. */
@SpringBootTest(
    classes = Athanor.Service.class,
    properties = "server.address=127.0.0.1",
    webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
class ServiceTest {
  @LocalServerPort int port;

  @ParameterizedTest
  @ValueSource(strings = {"/livez", "/readyz"})
  void probesAnswer(String path) {
    given().port(port).get(path).then().statusCode(200).body("status", equalTo("UP"));
  }

  @Test
  void metricsAreInPrometheusForm() {
    given()
        .port(port)
        .get("/actuator/prometheus")
        .then()
        .statusCode(200)
        .body(containsString("# TYPE jvm_memory_used_bytes gauge"));
  }
}
