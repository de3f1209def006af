package dev.athanor.service.rest;

import static org.hamcrest.Matchers.equalTo;

import dev.athanor.service.run.Drain;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.test.annotation.DirtiesContext;
import org.springframework.test.context.TestPropertySource;

/** In a service of its own, which is of no more use afterwards. */
@DirtiesContext
@TestPropertySource(properties = "athanor.replica=drained")
class DrainTest extends RestTest {

  @Autowired Drain drain;

  @Test
  void aServiceThatShutsDownSaysSo() {
    var x = tensor(1);
    given().get("/readyz").then().statusCode(200);
    drain.stop();
    given().get("/livez").then().statusCode(200);
    given().get("/readyz").then().statusCode(503).body("status", equalTo("OUT_OF_SERVICE"));
    problem(
            json("{\"inputs\": {\"x\": {\"handle\": \"%s\"}}}".formatted(x)).post("/ops/identity"),
            503,
            "draining",
            null,
            "the service is shutting down and takes no new work")
        .header("Retry-After", "5");
    given().contentType("application/json").body("{}").post("/tensors").then().statusCode(503);
    given().get("/tensors/" + x).then().statusCode(200);
  }
}
