package dev.athanor.service.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.contains;
import static org.hamcrest.Matchers.equalTo;

import dev.athanor.service.AthanorApplication;
import dev.athanor.testing.TestTier;
import io.restassured.RestAssured;
import io.restassured.specification.RequestSpecification;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.server.LocalServerPort;

/** Tests one service with two devices. */
@SpringBootTest(
    classes = AthanorApplication.class,
    properties = "athanor.device=emulator:0,emulator:1",
    webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
@Tag(TestTier.THOROUGH_TAG)
class SeveralDevicesTest {

  @LocalServerPort int port;

  @Value("${athanor.device}")
  String devices;

  private RequestSpecification given() {
    return RestAssured.given().spec(OpenApiFilter.client(port));
  }

  private RequestSpecification json(String body) {
    return given().contentType("application/json").body(body);
  }

  private String first() {
    return devices.split(",", -1)[0];
  }

  private String second() {
    return devices.split(",", -1)[1];
  }

  private String tensor(String device) {
    return json("{\"dtype\": \"f32\", \"shape\": [2], \"data\": [1, 2]}")
        .post("/tensors?device=" + device)
        .then()
        .statusCode(201)
        .body("device", equalTo(device))
        .extract()
        .path("handle");
  }

  @Test
  void testsAndShowsBothDevices() {
    given().get("/readyz").then().statusCode(200);
    given()
        .get("/devices")
        .then()
        .body("devices.id", contains(first(), second()))
        .body("devices.health", contains("ready", "ready"));
    given().get("/actuator/info").then().body("device", equalTo(devices));
  }

  @Test
  void opRunsAndIsCountedOnTheDeviceOfItsTensor() {
    var handle = tensor(second());
    json("""
    {"inputs": {"a": {"handle": "%s"}, "b": {"dtype": "f32", "shape": [2], "data": [3, 4]}}}\
    """
            .formatted(handle))
        .post("/ops/add")
        .then()
        .statusCode(200)
        .body("device", equalTo(second()))
        .body("outputs.y.data", contains(4.0f, 6.0f));
    var metrics = given().get("/actuator/prometheus").asString();
    assertThat(metrics)
        .contains(
            "athanor_op_seconds_count{device=\"%s\",dtype=\"f32\",op=\"add\",phase=\"kernel\"}"
                .formatted(second()))
        .contains("athanor_op_requests_total{device=\"all\",op=\"add\",outcome=\"ok\"}")
        .contains("athanor_tensors{device=\"%s\"} 1".formatted(second()))
        .contains("athanor_tensors{device=\"%s\"} 0".formatted(first()));
    given().delete("/tensors/" + handle).then().statusCode(204);
  }

  @Test
  void combinesTensorsOfBothDevices() {
    var a = tensor(first());
    var b = tensor(second());
    json("{\"inputs\": {\"a\": {\"handle\": \"%s\"}, \"b\": {\"handle\": \"%s\"}}}".formatted(a, b))
        .post("/ops/add")
        .then()
        .statusCode(200)
        .body("outputs.y.data", contains(2.0f, 4.0f));
    given().delete("/tensors/" + a).then().statusCode(204);
    given().delete("/tensors/" + b).then().statusCode(204);
  }
}
