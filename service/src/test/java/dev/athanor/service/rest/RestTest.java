package dev.athanor.service.rest;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.athanor.service.AthanorApplication;
import dev.athanor.service.TestClock;
import dev.athanor.service.run.FakeDevice;
import dev.athanor.service.run.Fakes;
import dev.athanor.service.tensor.TensorStore;
import io.restassured.builder.RequestSpecBuilder;
import io.restassured.response.Response;
import io.restassured.response.ValidatableResponse;
import io.restassured.specification.RequestSpecification;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.server.LocalServerPort;

/**
 * Base class of tests that call REST on a real port, with a fake device in host memory. All tests
 * share one context, and every response is checked against openapi.yaml.
 */
@SpringBootTest(
    classes = {AthanorApplication.class, Fakes.class},
    properties = {
      "athanor.device=emulator",
      "athanor.replica=test",
      "athanor.run.streams=2",
      "athanor.run.queue=2",
      "athanor.quota.share=1",
      "athanor.run.queue-time=1h",
      "athanor.run.drain-linger=0s",
      "athanor.run.inline-bytes=48MB",
      "athanor.tensors.max-bytes=67108864",
      "athanor.tensors.max-count=50",
      "athanor.rest.max-body-bytes=33554432"
    },
    webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
public abstract class RestTest {

  public @LocalServerPort int port;
  @Autowired TestClock clock;
  @Autowired FakeDevice device;
  @Autowired TensorStore store;
  RequestSpecification spec = new RequestSpecBuilder().build();

  @BeforeEach
  void connect() {
    spec = OpenApiFilter.client(port);
  }

  /**
   * Returns the number of open buffers, one per tensor, once expired tensors are gone and earlier
   * requests have freed theirs.
   */
  int settledBuffers() {
    store.sweep();
    await().until(() -> device.openBuffers() == store.count());
    return store.count();
  }

  RequestSpecification given() {
    return io.restassured.RestAssured.given().spec(spec);
  }

  RequestSpecification json(String body) {
    return given().contentType("application/json").body(body.getBytes(UTF_8));
  }

  /** Creates an f32 tensor and returns its handle. */
  String tensor(float... values) {
    var body =
        "{\"dtype\": \"f32\", \"shape\": [%d], \"data\": %s}"
            .formatted(values.length, Arrays.toString(values));
    var created = json(body).post("/tensors").then().statusCode(201).extract().response();
    return String.valueOf(OpenApiFilter.json(created).get("handle"));
  }

  /** Returns f32 numbers as little-endian bytes. */
  static byte[] f32Bytes(float... values) {
    var bytes = ByteBuffer.allocate(4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
    bytes.asFloatBuffer().put(values);
    return bytes.array();
  }

  /** Returns a body of the Open Inference Protocol: JSON followed by binary tensors. */
  static byte[] joined(String json, byte[]... tensors) {
    var body = new ByteArrayOutputStream();
    body.writeBytes(json.getBytes(UTF_8));
    Arrays.stream(tensors).forEach(body::writeBytes);
    return body.toByteArray();
  }

  static ValidatableResponse problem(
      Response response, int status, String code, @Nullable String field, String detail) {
    // not with paths of REST Assured, which compiles a Groovy class for each
    var problem = OpenApiFilter.json(response);
    assertThat(problem)
        .containsEntry("type", "urn:athanor:problem:" + code)
        .containsEntry("status", status)
        .containsEntry("detail", detail)
        .containsEntry("error", detail);
    assertThat(problem.get("field")).as("field").isEqualTo(field);
    return response.then().statusCode(status).contentType("application/problem+json");
  }
}
