package dev.athanor.service.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.hamcrest.Matchers.equalTo;

import dev.athanor.service.stream.Drain;
import dev.athanor.testing.TestTier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.test.annotation.DirtiesContext;
import org.springframework.test.context.TestPropertySource;

/** Uses a separate service, which cannot be used afterwards. */
@DirtiesContext
@TestPropertySource(properties = {"athanor.replica=drained", "athanor.run.drain-linger=1h"})
@Tag(TestTier.THOROUGH_TAG)
class DrainTest extends RestTest {

  @Autowired Drain drain;

  @Test
  void reportsDraining() throws InterruptedException {
    var x = tensor(1);
    given().get("/readyz").then().statusCode(200);
    var ending = Thread.startVirtualThread(drain::stop);
    await().until(() -> given().get("/readyz").statusCode() == 503);
    given().get("/livez").then().statusCode(200);
    given().get("/readyz").then().statusCode(503).body("status", equalTo("OUT_OF_SERVICE"));
    problem(
            json("{\"inputs\": {\"x\": {\"handle\": \"%s\"}}}".formatted(x)).post("/ops/identity"),
            503,
            "draining",
            null,
            "the service is shutting down and accepts no new work")
        .header("Retry-After", "5");
    given().contentType("application/json").body("{}").post("/tensors").then().statusCode(503);
    given().get("/tensors/" + x).then().statusCode(200);
    // no requests are pending, but the service lingers for late ones
    assertThat(ending.isAlive()).isTrue();
    ending.interrupt();
    ending.join();
    assertThat(drain.isRunning()).isFalse();
  }
}
