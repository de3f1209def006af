package dev.athanor.deploy;

import static dev.athanor.deploy.Chart.at;
import static dev.athanor.deploy.Chart.list;
import static dev.athanor.deploy.Chart.render;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests the routes and autoscalers of the chart. */
class TrafficChartTest {

  private static final Map<String, Object> TARGET =
      Map.of("apiVersion", "apps/v1", "kind", "StatefulSet", "name", "kiln-athanor");

  @Test
  void httpRouteIsSticky() throws IOException {
    Map<String, Object> objects =
        render(
            """
            service: {port: 80}
            gateway:
              http:
                enabled: true
                parentRefs: [{name: edge, namespace: infra}]
                hostnames: [gpu.example]
                annotations: {a: b}
                timeouts: {request: 2m}
            """);

    assertThat(objects).doesNotContainKey("GRPCRoute");
    assertThat(at(objects, "HTTPRoute", "apiVersion")).isEqualTo("gateway.networking.k8s.io/v1");
    assertThat(at(objects, "HTTPRoute", "metadata", "annotations")).isEqualTo(Map.of("a", "b"));
    assertThat(at(objects, "HTTPRoute", "spec"))
        .isEqualTo(
            Map.of(
                "parentRefs", List.of(Map.of("name", "edge", "namespace", "infra")),
                "hostnames", List.of("gpu.example"),
                "rules",
                    List.of(
                        Map.of(
                            "backendRefs", List.of(Map.of("name", "kiln-athanor", "port", 80)),
                            "timeouts", Map.of("request", "2m"),
                            "sessionPersistence",
                                Map.of("type", "Cookie", "sessionName", "athanor")))));
  }

  @Test
  void grpcRouteIsStickyByHeader() throws IOException {
    Map<String, Object> objects =
        render("gateway: {grpc: {enabled: true, parentRefs: [{name: edge}]}}");

    assertThat(objects).doesNotContainKey("HTTPRoute");
    assertThat(at(objects, "GRPCRoute", "apiVersion")).isEqualTo("gateway.networking.k8s.io/v1");
    assertThat(at(objects, "GRPCRoute", "spec", "rules", "0"))
        .isEqualTo(
            Map.of(
                "backendRefs", List.of(Map.of("name", "kiln-athanor", "port", 9090)),
                "sessionPersistence",
                    Map.of("type", "Header", "sessionName", "x-athanor-session")));
  }

  /**
   * Tests the successor of sessionName after Gateway API 1.6, and no persistence, for the standard
   * channel.
   */
  @Test
  void copiesOtherFormsOfSessionPersistence() throws IOException {
    String later =
        """
        gateway:
          http:
            enabled: true
            parentRefs: [{name: edge}]
            sessionPersistence: {sessionName: null, cookie: {name: athanor}, absoluteTimeout: 8h}
        """;
    assertThat(at(render(later), "HTTPRoute", "spec", "rules", "0", "sessionPersistence"))
        .isEqualTo(
            Map.of(
                "type", "Cookie",
                "cookie", Map.of("name", "athanor"),
                "absoluteTimeout", "8h"));
    String none =
        "gateway: {http: {enabled: true, parentRefs: [{name: edge}], sessionPersistence: null}}";
    assertThat(list(render(none), "HTTPRoute", "spec", "rules").getFirst())
        .isEqualTo(Map.of("backendRefs", List.of(Map.of("name", "kiln-athanor", "port", 8080))));
  }

  @Test
  void autoscalerFollowsTheQueue() throws IOException {
    Map<String, Object> objects =
        render("autoscaling: {hpa: {enabled: true}, minReplicas: 2, maxReplicas: 6}");

    Object spec = at(objects, "HorizontalPodAutoscaler", "spec");
    assertThat(at(objects, "HorizontalPodAutoscaler", "apiVersion")).isEqualTo("autoscaling/v2");
    assertThat(at(spec, "scaleTargetRef")).isEqualTo(TARGET);
    assertThat(at(spec, "minReplicas")).isEqualTo(2);
    assertThat(at(spec, "maxReplicas")).isEqualTo(6);
    assertThat(at(spec, "metrics"))
        .isEqualTo(
            List.of(pods("athanor_queue_depth", "8"), pods("athanor_queue_seconds_p99", "250m")));
    assertThat(at(spec, "behavior", "scaleDown", "stabilizationWindowSeconds")).isEqualTo(600);
    // The autoscaler controls the number of pods; an upgrade must not reset it.
    assertThat(((Map<?, ?>) at(objects, "StatefulSet", "spec")).containsKey("replicas")).isFalse();
    assertThat(
            list(
                render("autoscaling: {hpa: {enabled: true}, queueMilliseconds: 0}"),
                "HorizontalPodAutoscaler",
                "spec",
                "metrics"))
        .hasSize(1);
  }

  private static Map<String, Object> pods(String metric, String average) {
    return Map.of(
        "type",
        "Pods",
        "pods",
        Map.of(
            "metric", Map.of("name", metric),
            "target", Map.of("type", "AverageValue", "averageValue", average)));
  }

  @Test
  void kedaQueriesPrometheusForTheQueue() throws IOException {
    Map<String, Object> objects =
        render("{replicas: 3, autoscaling: {keda: {enabled: true, authenticationRef: {name: p}}}}");

    Object spec = at(objects, "ScaledObject", "spec");
    assertThat(objects).doesNotContainKey("HorizontalPodAutoscaler");
    assertThat(at(spec, "scaleTargetRef")).isEqualTo(TARGET);
    assertThat(at(spec, "minReplicaCount")).isEqualTo(1);
    assertThat(at(spec, "maxReplicaCount")).isEqualTo(4);
    assertThat(at(spec, "fallback")).isEqualTo(Map.of("failureThreshold", 5, "replicas", 3));
    // KEDA rejects a fallback if all triggers have the type Value.
    Object withoutDepth =
        at(render("autoscaling: {keda: {enabled: true}, queueDepth: 0}"), "ScaledObject", "spec");
    assertThat(list(withoutDepth, "triggers")).hasSize(1);
    assertThat(((Map<?, ?>) withoutDepth).containsKey("fallback")).isFalse();
    assertThat(at(spec, "triggers", "0", "metricType")).isEqualTo("AverageValue");
    assertThat(at(spec, "triggers", "0", "authenticationRef")).isEqualTo(Map.of("name", "p"));
    assertThat(at(spec, "triggers", "0", "metadata"))
        .isEqualTo(
            Map.of(
                "serverAddress", "http://prometheus-operated.monitoring:9090",
                "query", "sum(athanor_queue_depth{namespace=\"lab\",pod=~\"kiln-athanor-[0-9]+\"})",
                "threshold", "8"));
    assertThat(at(spec, "triggers", "1", "metricType")).isEqualTo("Value");
    assertThat(at(spec, "triggers", "1", "metadata", "threshold")).isEqualTo("250");
    assertThat(
            at(
                spec,
                "advanced",
                "horizontalPodAutoscalerConfig",
                "behavior",
                "scaleDown",
                "policies"))
        .isEqualTo(List.of(Map.of("type", "Pods", "value", 1, "periodSeconds", 60)));
    assertThat(((Map<?, ?>) at(objects, "StatefulSet", "spec")).containsKey("replicas")).isFalse();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "autoscaling: {hpa: {enabled: true}, keda: {enabled: true}} | autoscaling.hpa.enabled and autoscaling.keda.enabled are both true: enable one, since KEDA creates an autoscaler itself.",
        "autoscaling: {hpa: {enabled: true}, queueDepth: 0, queueMilliseconds: 0} | autoscaling.queueDepth and autoscaling.queueMilliseconds are both 0: set at least one, or disable autoscaling.",
        "autoscaling: {keda: {enabled: true}, minReplicas: 5} | autoscaling.minReplicas is 5 and autoscaling.maxReplicas is 4: the minimum must not exceed the maximum.",
        "autoscaling: {keda: {enabled: true}, minReplicas: 0} | /autoscaling/minReplicas",
        "gateway: {http: {enabled: true}} | gateway.http.enabled is true, which needs gateway.http.parentRefs: name the Gateway to attach to",
        "{gateway: {grpc: {enabled: true, parentRefs: [{name: edge}]}}, security: {mode: mtls, tls: {existingSecret: pki}}} | a Gateway terminates TLS, so client certificates do not reach the pods.",
        "gateway: {http: {sessionPersistence: {cookies: {}}}} | 'cookies' not allowed",
      })
  void rejectsContradictoryValues(String values, String reason) {
    assertThatThrownBy(() -> render(values)).hasMessageContaining(reason);
  }
}
