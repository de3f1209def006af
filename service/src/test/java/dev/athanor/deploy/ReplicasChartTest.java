package dev.athanor.deploy;

import static dev.athanor.deploy.Chart.at;
import static dev.athanor.deploy.Chart.container;
import static dev.athanor.deploy.Chart.env;
import static dev.athanor.deploy.Chart.list;
import static dev.athanor.deploy.Chart.pod;
import static dev.athanor.deploy.Chart.render;
import static dev.athanor.deploy.Chart.text;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the replicas of the chart: names, update order, topology spread and volumes. */
class ReplicasChartTest {

  private static final Map<String, Object> SELECTOR =
      Map.of("app.kubernetes.io/name", "athanor", "app.kubernetes.io/instance", "kiln");

  @Test
  void podsStartInParallelAndUpdateOneByOne() throws IOException {
    Map<String, Object> objects = render("replicas: 3");

    Object spec = at(objects, "StatefulSet", "spec");
    assertThat(at(objects, "StatefulSet", "apiVersion")).isEqualTo("apps/v1");
    assertThat(at(spec, "replicas")).isEqualTo(3);
    assertThat(at(spec, "podManagementPolicy")).isEqualTo("Parallel");
    assertThat(at(spec, "updateStrategy"))
        .isEqualTo(Map.of("type", "RollingUpdate", "rollingUpdate", Map.of("partition", 0)));
    assertThat(at(spec, "serviceName")).isEqualTo("kiln-athanor-headless");
    assertThat(
            at(render("updateStrategy: {type: OnDelete}"), "StatefulSet", "spec", "updateStrategy"))
        .isEqualTo(Map.of("type", "OnDelete"));
  }

  /** The service appends the ordinal, the part of its name after the last hyphen, to handles. */
  @Test
  void podNameIsTheReplicaName() throws IOException {
    assertThat(env(render("replicas: 3")))
        .containsEntry("ATHANOR_REPLICA", Map.of("fieldRef", Map.of("fieldPath", "metadata.name")));
  }

  @Test
  void podsForwardRequestsToEachOther() throws IOException {
    Map<String, Object> objects =
        render("{port: 8181, networkPolicy: {from: [{podSelector: {}}]}}");

    assertThat(env(objects))
        .containsEntry(
            "ATHANOR_FORWARD_URL",
            "http://kiln-athanor-{replica}.kiln-athanor-headless.lab.svc:8181")
        .containsEntry("ATHANOR_FORWARD_DISCOVERY", "kiln-athanor-headless.lab.svc")
        .doesNotContainKey("ATHANOR_FORWARD_SSLBUNDLE");
    Object policy = at(objects, "NetworkPolicy", "spec");
    Map<String, Object> pods = Map.of("podSelector", Map.of("matchLabels", SELECTOR));
    assertThat(at(policy, "ingress", "0", "from"))
        .isEqualTo(List.of(Map.of("podSelector", Map.of()), pods));
    assertThat(at(policy, "egress", "1"))
        .isEqualTo(
            Map.of(
                "to", List.of(pods), "ports", List.of(Map.of("port", "http", "protocol", "TCP"))));
    assertThat(at(policy, "egress", "0", "ports", "0", "port")).isEqualTo(53);
    assertThat(String.valueOf(env(objects).get("JDK_JAVA_OPTIONS")))
        .contains("-Dsun.net.inetaddr.ttl=5");
  }

  /** A changed pod template would restart all pods, and they would lose their tensors. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "replicas: 0",
        "replicas: 2",
        "replicas: 3",
        "autoscaling: {hpa: {enabled: true}, maxReplicas: 9}",
        "{replicas: 2, autoscaling: {keda: {enabled: true}}}"
      })
  void numberOfReplicasDoesNotChangeThePods(String values) throws IOException {
    assertThat(at(render(values), "StatefulSet", "spec", "template"))
        .isEqualTo(at(render("replicas: 1"), "StatefulSet", "spec", "template"));
  }

  @ParameterizedTest
  @CsvSource({
    "'replicas: 257',replicas is 257",
    "'autoscaling: {hpa: {enabled: true}, maxReplicas: 300}',autoscaling.maxReplicas is 300"
  })
  void rejectsMorePodsThanCanFindEachOther(String values, String reason) throws IOException {
    assertThatThrownBy(() -> render(values))
        .hasMessageContaining(
            reason
                + ": at most 256 pods forward requests to each other. Install several releases, or set forwarding.enabled to false.");
    assertThat(render("{replicas: 257, forwarding: {enabled: false}}")).containsKey("StatefulSet");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "forwarding: {enabled: false}",
        "security: {tls: {existingSecret: pki}}",
        "{security: {mode: mtls, tls: {existingSecret: pki}}, forwarding: {tls: true}}"
      })
  void withoutForwardingPodsCannotReachEachOther(String values) throws IOException {
    Map<String, Object> objects = render(values);

    assertThat(env(objects)).doesNotContainKeys("ATHANOR_FORWARD_URL", "ATHANOR_FORWARD_DISCOVERY");
    assertThat(at(objects, "NetworkPolicy", "spec", "egress")).isEqualTo(List.of());
  }

  @Test
  void podsVerifyEachOthersCertificates() throws IOException {
    assertThat(env(render("{security: {tls: {existingSecret: pki}}, forwarding: {tls: true}}")))
        .containsEntry(
            "ATHANOR_FORWARD_URL",
            "https://kiln-athanor-{replica}.kiln-athanor-headless.lab.svc:8080")
        .containsEntry("ATHANOR_FORWARD_SSLBUNDLE", "pods")
        .containsEntry(
            "SPRING_SSL_BUNDLE_PEM_PODS_TRUSTSTORE_CERTIFICATE", "file:/etc/athanor-tls/ca.crt");
  }

  @Test
  void headlessServiceNamesEveryPod() throws IOException {
    Map<String, Object> objects = render("{port: 8181, grpcPort: 9191, service: {port: 80}}");

    Object spec = at(objects, "Service/kiln-athanor-headless", "spec");
    assertThat(at(spec, "clusterIP")).isEqualTo("None");
    assertThat(at(spec, "publishNotReadyAddresses")).isEqualTo(true);
    assertThat(at(spec, "selector")).isEqualTo(SELECTOR);
    // A headless Service does not translate ports.
    assertThat(at(spec, "ports", "0", "port")).isEqualTo(8181);
    assertThat(at(spec, "ports", "1", "port")).isEqualTo(9191);
  }

  /** The label controller-revision-hash of pods is the name, a hyphen and up to ten characters. */
  @Test
  void namesLeaveRoomForTheHashOfARevision() throws IOException {
    String long52 = "a".repeat(52);
    assertThat(at(render("fullnameOverride: " + long52), "StatefulSet", "metadata", "name"))
        .isEqualTo(long52);
    assertThatThrownBy(() -> render("fullnameOverride: a" + long52))
        .hasMessageContaining("/fullnameOverride");
    String derived =
        text(render("nameOverride: " + "b".repeat(60)), "StatefulSet", "metadata", "name");
    assertThat(derived).startsWith("kiln-b").hasSize(52);
  }

  @Test
  void multiplePodsHaveADisruptionBudget() throws IOException {
    assertThat(render("{}")).doesNotContainKey("PodDisruptionBudget");
    Map<String, Object> objects = render("replicas: 2");
    assertThat(at(objects, "PodDisruptionBudget", "spec"))
        .isEqualTo(Map.of("maxUnavailable", 1, "selector", Map.of("matchLabels", SELECTOR)));
    assertThat(render("autoscaling: {hpa: {enabled: true}}")).containsKey("PodDisruptionBudget");
    assertThat(render("{replicas: 2, podDisruptionBudget: {enabled: false}}"))
        .doesNotContainKey("PodDisruptionBudget");
  }

  @Test
  void spreadsPodsOverNodesIfPossible() throws IOException {
    assertThat(at(pod(render("{}")), "topologySpreadConstraints"))
        .isEqualTo(
            List.of(
                Map.of(
                    "maxSkew",
                    1,
                    "topologyKey",
                    "kubernetes.io/hostname",
                    "whenUnsatisfiable",
                    "ScheduleAnyway",
                    "labelSelector",
                    Map.of("matchLabels", SELECTOR))));
    String own =
        """
        topologySpreadConstraints:
          - {maxSkew: 2, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {a: b}}}
        """;
    assertThat(at(pod(render(own)), "topologySpreadConstraints", "0", "labelSelector"))
        .isEqualTo(Map.of("matchLabels", Map.of("a", "b")));
    assertThat(
            pod(render("topologySpreadConstraints: []")).containsKey("topologySpreadConstraints"))
        .isFalse();
  }

  @Test
  void supportsAPersistentCache() throws IOException {
    Map<String, Object> objects =
        render("cache: {persistent: true, sizeLimit: 5Gi, storageClassName: fast}");

    assertThat(at(objects, "StatefulSet", "spec", "volumeClaimTemplates"))
        .isEqualTo(
            List.of(
                Map.of(
                    "metadata",
                    Map.of("name", "cache"),
                    "spec",
                    Map.of(
                        "accessModes", List.of("ReadWriteOnce"),
                        "storageClassName", "fast",
                        "resources", Map.of("requests", Map.of("storage", "5Gi"))))));
    assertThat(at(objects, "StatefulSet", "spec", "persistentVolumeClaimRetentionPolicy"))
        .isEqualTo(Map.of("whenDeleted", "Delete", "whenScaled", "Retain"));
    assertThat(list(pod(objects), "volumes"))
        .noneMatch(volume -> at(volume, "name").equals("cache"));
    assertThat(list(container(objects), "volumeMounts"))
        .anyMatch(Map.of("name", "cache", "mountPath", "/var/cache/athanor")::equals);
    assertThat(
            ((Map<?, ?>) at(render("{}"), "StatefulSet", "spec"))
                .containsKey("volumeClaimTemplates"))
        .isFalse();
  }

  @Test
  void addsExtraVolumesAndVariables() throws IOException {
    Map<String, Object> objects =
        render(
            """
            extraVolumes: [{name: plugins, configMap: {name: jars}}]
            extraVolumeMounts: [{name: plugins, mountPath: /plugins, readOnly: true}]
            extraEnv: [{name: ATHANOR_PLUGINS, value: /plugins}]
            """);

    assertThat(list(pod(objects), "volumes").getLast())
        .isEqualTo(Map.of("name", "plugins", "configMap", Map.of("name", "jars")));
    assertThat(list(container(objects), "volumeMounts").getLast())
        .isEqualTo(Map.of("name", "plugins", "mountPath", "/plugins", "readOnly", true));
    assertThat(env(objects)).containsEntry("ATHANOR_PLUGINS", "/plugins");
  }
}
