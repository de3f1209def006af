package dev.athanor.service.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.athanor.deploy.ChartQueries;
import dev.athanor.deploy.PromQl;
import dev.athanor.service.metrics.Meters;
import dev.athanor.testing.TestTier;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthGrpc;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.grpc.server.lifecycle.GrpcServerLifecycle;

/**
 * Checks that the alerts, dashboards and autoscalers of the chart query only metrics that the
 * service exports.
 */
@Tag(TestTier.THOROUGH_TAG)
class ChartMetricsTest extends RestTest {

  /** Labels that the Prometheus operator adds to each series of a PodMonitor. */
  private static final Set<String> TARGET_LABELS =
      Set.of("namespace", "pod", "container", "endpoint", "instance", "job");

  /** Labels with a fixed set of values. */
  private static final Set<String> ENUM_LABELS =
      Set.of("phase", "state", "outcome", "kind", "area");

  private static final Pattern SERIES = Pattern.compile("(?m)^(\\w+)(?:\\{(.*)})? \\S+$");
  private static final Pattern LABEL = Pattern.compile("(\\w+)=\"([^\"]*)\"");

  @Autowired GrpcServerLifecycle grpc;

  /** The values of each label of each metric. */
  private final Map<String, Map<String, Set<String>>> exported = new HashMap<>();

  private void read(String page) {
    SERIES
        .matcher(page)
        .results()
        .forEach(series -> {
          var labels = exported.computeIfAbsent(series.group(1), _ -> new HashMap<>());
          if (series.group(2) != null) {
            LABEL
                .matcher(series.group(2))
                .results()
                .forEach(label ->
                    labels
                        .computeIfAbsent(label.group(1), _ -> new TreeSet<>())
                        .add(label.group(2)));
          }
        });
    // Test ops load no kernels, the emulator creates no graphs, and there is no GPU. Other tests
    // check that these meters are exported as declared.
    Arrays.stream(Meters.values())
        .filter(meter -> meter.name().matches("GPU_.*|KERNEL_LOADS|GRAPH_LAUNCHES"))
        .forEach(meter -> {
          var labels = exported.computeIfAbsent(meter.exposed(), _ -> new HashMap<>());
          labels.putIfAbsent("device", Set.of());
          meter.labels().forEach(label -> labels.putIfAbsent(label, Set.of()));
        });
  }

  private void work() {
    json("{\"inputs\": {\"x\": {\"dtype\": \"u8\", \"shape\": [1], \"data\": [1]}}}")
        .post("/ops/identity")
        .then()
        .statusCode(200);
    var channel =
        Grpc.newChannelBuilderForAddress(
                "127.0.0.1", grpc.getPort(), InsecureChannelCredentials.create())
            .build();
    try {
      HealthGrpc.newBlockingStub(channel).check(HealthCheckRequest.getDefaultInstance());
    } finally {
      channel.shutdownNow();
    }
  }

  private String page() {
    return given().get("/actuator/prometheus").then().statusCode(200).extract().asString();
  }

  @Test
  void queriesReadExportedMetrics() throws Exception {
    work();
    // A request may be counted after its response.
    await()
        .until(
            this::page,
            page ->
                page.contains("grpc_server_seconds_count")
                    && page.contains("http_server_requests_seconds_count"));
    read(page());
    // Every error code may occur as an outcome.
    Set<String> codes = new TreeSet<>(Set.of("ok"));
    Pattern.compile("urn:athanor:problem:([a-z-]+)")
        .matcher(given().get("/openapi.yaml").then().extract().asString())
        .results()
        .forEach(code -> codes.add(code.group(1)));

    List<String> errors = new ArrayList<>();
    var queries = ChartQueries.all();
    queries.forEach((source, query) -> errors.addAll(check(query, codes, source)));
    assertThat(errors).isEmpty();
    assertThat(queries).hasSizeGreaterThan(40);
  }

  private List<String> check(String query, Set<String> codes, String source) {
    List<String> errors = new ArrayList<>();
    Set<String> known = new TreeSet<>(TARGET_LABELS);
    var promQl = PromQl.of(query);
    if (promQl.selectors().isEmpty()) {
      errors.add(source + ": no series");
    }
    for (var selector : promQl.selectors()) {
      // Prometheus itself creates this metric.
      var labels =
          selector.metric().equals("up")
              ? Map.<String, Set<String>>of()
              : exported.get(selector.metric());
      if (labels == null) {
        errors.add("%s: no metric %s".formatted(source, selector.metric()));
        continue;
      }
      known.addAll(labels.keySet());
      selector
          .labels()
          .forEach((label, text) -> {
            if (!labels.containsKey(label) && !TARGET_LABELS.contains(label)) {
              errors.add("%s: %s has no label %s".formatted(source, selector.metric(), label));
            } else if (ENUM_LABELS.contains(label)) {
              var values = label.equals("outcome") ? codes : labels.getOrDefault(label, Set.of());
              for (var value : text.split("\\|", -1)) {
                if (!values.isEmpty() && !values.contains(value)) {
                  errors.add("%s: %s is never %s".formatted(source, label, value));
                }
              }
            }
          });
    }
    for (var label : promQl.groupings()) {
      if (!known.contains(label)) {
        errors.add("%s: grouped by %s, which no series has".formatted(source, label));
      }
    }
    return errors;
  }

  /** Tests {@link #check} itself. */
  @Test
  void findsMetricsThatAreNotExported() {
    work();
    read(page());
    var codes = Set.of("ok", "internal");
    assertThat(check("rate(athanor_op_second_bucket[5m])", codes, "a"))
        .containsExactly("a: no metric athanor_op_second_bucket");
    assertThat(
            check("sum by (pod, tenant) (athanor_tensors{handle=\"t\"}) / on (pod) up", codes, "b"))
        .containsExactly(
            "b: athanor_tensors has no label handle", "b: grouped by tenant, which no series has");
    assertThat(check("athanor_op_requests_total{outcome=~\"internal|broken\"} > 0.5", codes, "c"))
        .containsExactly("c: outcome is never broken");
    assertThat(check("athanor_op_seconds_count{phase=\"wait\"} offset 5m", codes, "d"))
        .containsExactly("d: phase is never wait");
    assertThat(check("vector(0)", codes, "e")).containsExactly("e: no series");
  }
}
