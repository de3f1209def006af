package dev.athanor.service.rest;

import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.equalTo;

import dev.athanor.engine.device.DeviceException;
import dev.athanor.testing.TestTier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.test.annotation.DirtiesContext;
import org.springframework.test.context.TestPropertySource;

/** Tests the service after its device is lost. */
@DirtiesContext
@TestPropertySource(properties = "athanor.replica=lost")
@Tag(TestTier.THOROUGH_TAG)
class LostDeviceTest extends RestTest {

  private static final String DETAIL = "the device is lost, and so are the tensors on it";

  @Test
  void requestsForItsTensorsReportTheLoss() {
    given()
        .get("/actuator/prometheus")
        .then()
        .body(containsString("athanor_device_lost{device=\"fake:0\"} 0.0"))
        .body(containsString("athanor_ready{device=\"fake:0\"} 1.0"));
    var handle = tensor(1, 2);
    device.failWith(new DeviceException.Lost("it fell off the bus"));
    var body = "{\"inputs\": {\"x\": {\"handle\": \"%s\"}}}".formatted(handle);
    for (int i = 0; i < 2; i++) {
      problem(json(body).post("/ops/identity"), 503, "device-lost", null, DETAIL)
          .header("Retry-After", "5");
    }
    given().get("/readyz").then().statusCode(503);
    given()
        .get("/actuator/prometheus")
        .then()
        .body(containsString("athanor_device_lost{device=\"fake:0\"} 1.0"))
        .body(containsString("athanor_ready{device=\"fake:0\"} 0.0"));
    given().get("/livez").then().statusCode(200);
    var path = "/tensors/" + handle;
    problem(given().get(path), 503, "device-lost", null, DETAIL);
    problem(given().get(path + "/data"), 503, "device-lost", null, DETAIL);
    problem(json("{\"ttlSeconds\": 1}").patch(path), 503, "device-lost", null, DETAIL);
    given().head(path).then().statusCode(503);
    given().head(path + "/data").then().statusCode(503);
    json("{\"dtype\": \"f32\", \"shape\": [1], \"data\": [1]}")
        .post("/tensors")
        .then()
        .statusCode(503)
        .body("type", equalTo("urn:athanor:problem:device-lost"));
    given().delete(path).then().statusCode(204);
  }
}
