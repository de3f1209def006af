package dev.athanor.service.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.athanor.deploy.ChartQueries;
import dev.athanor.deploy.PromQl;
import dev.athanor.service.metrics.Meters;
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
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.grpc.server.lifecycle.GrpcServerLifecycle;

/** The alerts, dashboards and autoscalers of the chart read what the service exports. */
class ChartMetricsTest extends RestTest {

  /** Labels that the Prometheus operator adds to each series of a PodMonitor. */
  private static final Set<String> TARGET =
      Set.of("namespace", "pod", "container", "endpoint", "instance", "job");

  /** Labels that take few values, all of which are known. */
  private static final Set<String> CLOSED = Set.of("phase", "state", "outcome", "kind", "area");

  private static final Pattern SERIES = Pattern.compile("(?m)^(\\w+)(?:\\{(.*)})? \\S+$");
  private static final Pattern LABEL = Pattern.compile("(\\w+)=\"([^\"]*)\"");

  @Autowired GrpcServerLifecycle grpc;

  /** The labels of each metric, and the values of each label. */
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
    // No test op loads a kernel, the emulator makes no graphs and there is no GPU: the meters' own
    // tests show that these are exported as the table says.
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
  void everyQueryReadsWhatTheServiceExports() throws Exception {
    work();
    // What a request counts under may come after its answer.
    await()
        .until(
            this::page,
            page ->
                page.contains("grpc_server_seconds_count")
                    && page.contains("http_server_requests_seconds_count"));
    read(page());
    // Codes of failures, as outcomes: any of them may occur.
    Set<String> codes = new TreeSet<>(Set.of("ok"));
    Pattern.compile("urn:athanor:problem:([a-z-]+)")
        .matcher(given().get("/openapi.yaml").then().extract().asString())
        .results()
        .forEach(code -> codes.add(code.group(1)));

    List<String> wrong = new ArrayList<>();
    var queries = ChartQueries.all();
    queries.forEach((place, query) -> wrong.addAll(check(query, codes, place)));
    assertThat(wrong).isEmpty();
    assertThat(queries).hasSizeGreaterThan(40);
  }

  private List<String> check(String query, Set<String> codes, String place) {
    List<String> wrong = new ArrayList<>();
    Set<String> known = new TreeSet<>(TARGET);
    var promQl = PromQl.of(query);
    if (promQl.selectors().isEmpty()) {
      wrong.add(place + ": no series");
    }
    for (var selector : promQl.selectors()) {
      // Prometheus makes this one itself.
      var labels =
          selector.metric().equals("up")
              ? Map.<String, Set<String>>of()
              : exported.get(selector.metric());
      if (labels == null) {
        wrong.add("%s: no metric %s".formatted(place, selector.metric()));
        continue;
      }
      known.addAll(labels.keySet());
      selector
          .labels()
          .forEach((label, text) -> {
            if (!labels.containsKey(label) && !TARGET.contains(label)) {
              wrong.add("%s: %s has no label %s".formatted(place, selector.metric(), label));
            } else if (CLOSED.contains(label)) {
              var values = label.equals("outcome") ? codes : labels.getOrDefault(label, Set.of());
              for (var value : text.split("\\|", -1)) {
                if (!values.isEmpty() && !values.contains(value)) {
                  wrong.add("%s: %s is never %s".formatted(place, label, value));
                }
              }
            }
          });
    }
    for (var label : promQl.groupings()) {
      if (!known.contains(label)) {
        wrong.add("%s: grouped by %s, which no series has".formatted(place, label));
      }
    }
    return wrong;
  }

  /** The check would be worth nothing if it found nothing. */
  @Test
  void whatIsNotExportedIsFound() {
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
