package dev.athanor.service.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.greaterThanOrEqualTo;
import static org.hamcrest.Matchers.lessThanOrEqualTo;

import dev.athanor.service.metrics.LoadHistory;
import io.restassured.response.ValidatableResponse;
import java.util.Comparator;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;

/** Tests {@code GET /recent}. */
class RecentTest extends RestTest {

  private static final String TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";

  @Autowired private LoadHistory history;

  private void run(String second, int status) {
    json("""
    {"inputs": {"x": {"dtype": "f32", "shape": [2], "data": [271828, %s]}}}
    """
            .formatted(second))
        .header("traceparent", "00-" + TRACE + "-00f067aa0ba902b7-00")
        .post("/ops/identity")
        .then()
        .statusCode(status);
  }

  private ValidatableResponse recent() {
    return given().get("/recent").then().statusCode(200);
  }

  @Test
  void listsTheSlowestRequests() {
    run("1", 200);
    var answer = recent().body("slowest.size()", lessThanOrEqualTo(10)).extract();
    List<Float> totals = answer.path("slowest.timing.totalMicros");
    assertThat(totals).isNotEmpty().isSortedAccordingTo(Comparator.reverseOrder());
    assertThat(answer.<String>path("slowest[0].device")).isEqualTo("fake:0");
    assertThat(answer.asString()).doesNotContain("271828");
  }

  @Test
  void listsTheLastFailures() {
    run("true", 400);
    recent()
        .body("failures.size()", lessThanOrEqualTo(50))
        .body("failures[0].op", equalTo("identity"))
        .body("failures[0].code", equalTo("invalid-tensor"))
        .body("failures[0].detail", equalTo("inputs.x.data[1] is true, which does not fit f32"))
        .body("failures[0].traceId", equalTo(TRACE));
    json("{}").post("/ops/nothing").then().statusCode(404);
    json("{\"steps\": []}").post("/pipelines/run").then().statusCode(400);
    recent()
        .body("failures[0].op", equalTo("pipeline"))
        .body("failures[1].op", equalTo("unknown"))
        .body("failures[1].code", equalTo("unknown-op"));
  }

  @Test
  void hasSamplesOfTheLoad() {
    run("1", 200);
    run("true", 400);
    history.sample();
    recent()
        .body("load.size()", lessThanOrEqualTo(120))
        .body("load[-1].requests", greaterThanOrEqualTo(2))
        .body("load[-1].errors", greaterThanOrEqualTo(1))
        .body("load[-1].queueDepth", equalTo(0));
    problem(
        given().get("/recent?op=x"),
        400,
        "unknown-field",
        "op",
        "Unknown query parameter \"op\"; this path has none");
  }
}
