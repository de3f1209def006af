package dev.athanor.service.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.hamcrest.Matchers.equalTo;

import dev.athanor.engine.device.DeviceException;
import dev.athanor.testing.TestTier;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import io.restassured.response.Response;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** Tests W3C Trace Context: requests continue the trace of their client, and responses name it. */
@ExtendWith(OutputCaptureExtension.class)
@Tag(TestTier.THOROUGH_TAG)
class TracingTest extends RestTest {

  private static final String CLIENT = "00f067aa0ba902b7";
  private static final AtomicInteger COUNT = new AtomicInteger();

  private final String trace =
      "4bf92f3577b34da6a3ce929d0e0e%04x".formatted(COUNT.incrementAndGet());

  @Autowired InMemorySpanExporter exported;
  @Autowired SdkTracerProvider tracing;
  @Autowired ObjectProvider<SpanExporter> exporters;

  private static String run(String dtype) {
    return "{\"inputs\": {\"x\": {\"dtype\": \"%s\", \"shape\": [2], \"data\": [1, 0]}}}"
        .formatted(dtype);
  }

  /** Posts a request within a trace of the client. */
  private Response post(String path, String body, boolean sampled) {
    return json(body)
        .header("traceparent", "00-%s-%s-%s".formatted(trace, CLIENT, sampled ? "01" : "00"))
        .post(path);
  }

  /**
   * Returns the spans of the trace, after waiting for the request's span, which ends after the
   * response.
   */
  private List<SpanData> spans() {
    await().until(() -> finished().stream().anyMatch(span -> span.getKind() == SpanKind.SERVER));
    return finished();
  }

  private List<SpanData> finished() {
    tracing.forceFlush().join(1, TimeUnit.HOURS);
    return exported.getFinishedSpanItems().stream()
        .filter(span -> span.getTraceId().equals(trace))
        .sorted(Comparator.comparingLong(SpanData::getStartEpochNanos))
        .toList();
  }

  private static SpanData request(List<SpanData> spans) {
    return spans.stream().filter(s -> s.getKind() == SpanKind.SERVER).findAny().orElseThrow();
  }

  /** Returns the phases of a request in order. */
  private static List<SpanData> phases(List<SpanData> spans) {
    var request = request(spans).getSpanId();
    return spans.stream().filter(span -> span.getParentSpanId().equals(request)).toList();
  }

  private static String attribute(SpanData span, String name) {
    return String.valueOf(span.getAttributes().get(AttributeKey.stringKey(name)));
  }

  @Test
  void requestContinuesTheTraceOfItsClientWithASpanPerPhase() {
    var answer = post("/ops/identity", run("u8"), true);
    answer.then().statusCode(200);
    var spans = spans();
    var request = request(spans);
    assertThat(request.getName()).isEqualTo("http post /ops/{op}");
    assertThat(request.getParentSpanId()).isEqualTo(CLIENT);
    assertThat(answer.header("traceresponse"))
        .isEqualTo("00-%s-%s-01".formatted(trace, request.getSpanId()));
    var phases = phases(spans);
    assertThat(phases)
        .extracting(SpanData::getName)
        .containsExactly("prepare", "queue", "upload", "kernel", "download");
    assertThat(spans).hasSize(6);
    assertThat(phases)
        .allSatisfy(phase -> {
          assertThat(attribute(phase, "athanor.op")).isEqualTo("identity");
          assertThat(attribute(phase, "athanor.device")).isEqualTo("fake:0");
        });
    assertThat(phases)
        .extracting(phase -> attribute(phase, "athanor.kernel"))
        .containsExactly("null", "null", "null", "identity_u8", "null");
    for (int i = 1; i < phases.size(); i++) {
      assertThat(phases.get(i).getStartEpochNanos())
          .isEqualTo(phases.get(i - 1).getEndEpochNanos());
    }
    var slack = TimeUnit.MINUTES.toNanos(1); // the spans use two clocks
    assertThat(phases.getFirst().getStartEpochNanos())
        .isBetween(request.getStartEpochNanos() - slack, request.getEndEpochNanos() + slack);
  }

  @Test
  void pipelineHasASpanPerStep() {
    post(
            "/pipelines/run",
            """
            {"inputs": {"x": {"dtype": "u8", "shape": [1], "data": [1]}},
             "steps": [{"op": "identity", "inputs": {"x": "x"}, "outputs": {"y": "h"}},
                       {"op": "concat", "inputs": {"a": "h"}, "outputs": {"c": "z"}}],
             "outputs": {"z": {"as": "inline"}}}\
            """,
            true)
        .then()
        .statusCode(200);
    assertThat(phases(spans()))
        .extracting(span -> span.getName() + " " + attribute(span, "athanor.op"))
        .containsExactly(
            "prepare pipeline",
            "queue pipeline",
            "upload pipeline",
            "kernel identity",
            "kernel concat",
            "download pipeline");
  }

  @Test
  void errorsNameTheTrace(CapturedOutput output) {
    post("/ops/sing", run("u8"), true)
        .then()
        .statusCode(404)
        .header("traceresponse", org.hamcrest.Matchers.startsWith("00-" + trace))
        .body("traceId", equalTo(trace));
    assertThat(request(spans()).getParentSpanId()).isEqualTo(CLIENT);

    device.failWith(new DeviceException.KernelFault("identity_u8", List.of("out of bounds")));
    var id =
        post("/ops/identity", run("u8"), false)
            .then()
            .statusCode(500)
            .body("traceId", equalTo(trace))
            .extract()
            .<String>path("id");
    assertThat(output.getOut().lines())
        .anyMatch(line -> line.contains(" " + trace + " : Internal failure " + id));
  }

  @Test
  void doesNotRecordUnsampledTraces() {
    var answer = post("/ops/identity", run("u8"), false);
    assertThat(answer.header("traceresponse"))
        .matches("00-" + trace + "-(?!" + CLIENT + ")[0-9a-f]{16}-00");
    post("/ops/identity", run("u8"), true); // ends after the unsampled request
    assertThat(spans()).hasSize(6);
  }

  @Test
  void exportsNothingWithoutAnEndpoint() {
    assertThat(exporters).containsExactly(exported);
  }

  @Test
  void latenciesHaveExemplarsOfRecordedTraces() {
    post("/ops/identity", run("i16"), false).then().statusCode(200);
    post("/ops/identity", run("i32"), true).then().statusCode(200);
    var page =
        given()
            .accept("application/openmetrics-text; version=1.0.0; charset=utf-8")
            .get("/actuator/prometheus")
            .then()
            .statusCode(200)
            .contentType(org.hamcrest.Matchers.startsWith("application/openmetrics-text"))
            .extract()
            .asString();
    for (var phase : List.of("prepare", "queue", "upload", "kernel", "download", "total")) {
      assertThat(bucketsWithExemplars(page, "i32", phase))
          .as(phase)
          .isNotEmpty()
          .allMatch(line ->
              line.matches(".* # \\{span_id=\"[0-9a-f]{16}\",trace_id=\"" + trace + "\"\\} .*"));
      assertThat(bucketsWithExemplars(page, "i16", phase)).as(phase).isEmpty();
    }
  }

  /**
   * OpenMetrics 1.0, Exemplars: prometheus_client rejects the whole response if other series have
   * exemplars.
   */
  @Test
  void onlyBucketsAndCountersHaveExemplars() {
    post("/ops/identity", run("i32"), true).then().statusCode(200);
    var page =
        given()
            .accept("application/openmetrics-text; version=1.0.0; charset=utf-8")
            .get("/actuator/prometheus")
            .asString();
    assertThat(page.lines().filter(line -> line.contains(" # {")))
        .isNotEmpty()
        .allMatch(line -> line.matches("\\w+_(bucket|total)\\{.*"));
    assertThat(page).endsWith("# EOF\n");
  }

  private static List<String> bucketsWithExemplars(String page, String dtype, String phase) {
    return page.lines()
        .filter(line ->
            line.startsWith("athanor_op_seconds_bucket{")
                && line.contains("op=\"identity\"")
                && line.contains("dtype=\"" + dtype + "\"")
                && line.contains("phase=\"" + phase + "\"")
                && line.contains("#"))
        .toList();
  }

  // -- hostile headers

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "00",
        "garbage",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0effff-0000000000000000-01",
        "ff-4bf92f3577b34da6a3ce929d0e0effff-00f067aa0ba902b7-01",
        "00-4BF92F3577B34DA6A3CE929D0E0EFFFF-00F067AA0BA902B7-01",
        "00-4bf92f3577b34da6a3ce929d0e0effff-00f067aa0ba902b7-01-more",
        "00-4bf92f3577b34da6a3ce929d0e0effff-00f067aa0ba902b7-0x",
        "00-4bf92f3577b34da6a3ce929d0e0eff\u001b[-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0effff-00f067aa0ba902b7-01,00-1"
      })
  void invalidTraceparentStartsANewTrace(String traceparent) {
    for (var value : List.of(traceparent, traceparent + "a".repeat(6_000))) {
      assertThat(
              json(run("u8"))
                  .header("traceparent", value)
                  .post("/ops/identity")
                  .then()
                  .statusCode(200)
                  .extract()
                  .header("traceresponse"))
          .matches("00-[0-9a-f]{32}-[0-9a-f]{16}-0[0-3]")
          .doesNotContain("4bf92f3577b34da6a3ce929d0e0effff");
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"=", ",,,,", "a=b=c", "k=\u001b[31m", "%0d%0aX-Evil:%201", "A=B,a@=1", "k=v;p=\""})
  void ignoresHostileTraceHeaders(String value) {
    for (var name : List.of("tracestate", "baggage", "b3")) {
      for (var text : List.of(value, (value + "1,").repeat(500 / value.length() + 1))) {
        var answer =
            json(run("u8"))
                .header("traceparent", "00-%s-%s-01".formatted(trace, CLIENT))
                .header(name, text)
                .post("/ops/identity");
        assertThat(answer.statusCode()).isEqualTo(200);
        assertThat(answer.header("traceresponse")).startsWith("00-" + trace);
        assertThat(answer.headers().getValues("X-Evil")).isEmpty();
      }
    }
    assertThat(spans()).allMatch(span -> !span.getAttributes().toString().contains("Evil"));
  }

  /** As W3C's test suite requires. */
  @Test
  void severalParentsStartANewTrace() {
    var answer =
        given()
            .header(
                "traceparent",
                "00-%s-%s-01".formatted(trace, CLIENT),
                "00-%s-%s-01".formatted("b".repeat(32), CLIENT))
            .get("/ops");
    assertThat(answer.header("traceresponse"))
        .isNotNull()
        .doesNotContain(trace)
        .doesNotContain("b".repeat(32));
  }
}
