package dev.athanor.deploy;

import static dev.athanor.deploy.Chart.at;
import static dev.athanor.deploy.Chart.container;
import static dev.athanor.deploy.Chart.env;
import static dev.athanor.deploy.Chart.pod;
import static dev.athanor.deploy.Chart.render;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.LIST;

import com.marcnuri.helm.Helm;
import com.marcnuri.helm.LintResult;
import dev.athanor.service.device.RunSettings;
import dev.athanor.testing.TestTier;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.boot.convert.DurationStyle;
import org.springframework.util.unit.DataSize;

/** Tests the pods of the chart: security, memory, probes and settings. */
@Tag(TestTier.THOROUGH_TAG)
class ChartTest {
  /**
   * {@code spring.grpc.server.shutdown.grace-period}, the maximum time from the end of the drain to
   * the exit.
   */
  private static final Duration GRPC_GRACE = Duration.ofSeconds(10);

  @Test
  void passesStrictLint() {
    LintResult result = new Helm(Chart.FOLDER).lint().strict().call();

    assertThat(result.isFailed()).as(() -> String.join("\n", result.getMessages())).isFalse();
  }

  @Test
  void requestsOneGpuPerPodByDefault() throws IOException {
    Map<String, Object> objects = render("{}");

    assertThat(objects)
        .containsOnlyKeys(
            "ServiceAccount",
            "Service",
            "Service/kiln-athanor-headless",
            "StatefulSet",
            "Secret",
            "NetworkPolicy");
    assertThat(at(container(objects), "resources", "limits"))
        .isEqualTo(Map.of("memory", "4Gi", "nvidia.com/gpu", 1));
    assertThat(at(container(objects), "args"))
        .isEqualTo(
            List.of(
                "serve",
                "--bind",
                "0.0.0.0",
                "--port",
                "8080",
                "--grpc-port",
                "9090",
                "--device",
                "all"));
    assertThat(at(pod(objects), "tolerations", "0", "key")).isEqualTo("nvidia.com/gpu");
    assertThat(pod(objects).containsKey("runtimeClassName")).isFalse();
    // The device plugin selects the GPUs of a pod; a value here would override it.
    assertThat(env(objects)).doesNotContainKey("NVIDIA_VISIBLE_DEVICES");
  }

  @Test
  void supportsOtherGpuResourcesAndRuntimeClasses() throws IOException {
    Map<String, Object> objects =
        render("gpu: {resource: nvidia.com/mig-1g.10gb, count: 2, runtimeClassName: nvidia}");

    assertThat(at(container(objects), "resources", "limits"))
        .isEqualTo(Map.of("memory", "4Gi", "nvidia.com/mig-1g.10gb", 2));
    assertThat(at(pod(objects), "runtimeClassName")).isEqualTo("nvidia");
  }

  @Test
  void cpuModeRequestsNoGpu() throws IOException {
    Map<String, Object> objects = render("{mode: cpu, gpu: {runtimeClassName: nvidia}}");

    assertThat(at(container(objects), "resources", "limits")).isEqualTo(Map.of("memory", "4Gi"));
    assertThat(at(container(objects), "args")).asInstanceOf(LIST).endsWith("--device", "emulator");
    assertThat(pod(objects).keySet().stream().map(String::valueOf))
        .doesNotContain("tolerations", "runtimeClassName");
    assertThat(env(objects)).containsEntry("NVIDIA_VISIBLE_DEVICES", "void");
  }

  @Test
  void podsRunWithoutPrivileges() throws IOException {
    Map<String, Object> objects = render("{}");

    assertThat(at(pod(objects), "securityContext"))
        .isEqualTo(
            Map.of(
                "runAsNonRoot", true,
                "runAsUser", 10001,
                "runAsGroup", 10001,
                "fsGroup", 10001,
                "seccompProfile", Map.of("type", "RuntimeDefault")));
    assertThat(at(container(objects), "securityContext"))
        .isEqualTo(
            Map.of(
                "allowPrivilegeEscalation", false,
                "readOnlyRootFilesystem", true,
                "capabilities", Map.of("drop", List.of("ALL"))));
    assertThat(at(pod(objects), "automountServiceAccountToken")).isEqualTo(false);
    assertThat(at(objects, "ServiceAccount", "automountServiceAccountToken")).isEqualTo(false);
    assertThat(at(pod(objects), "serviceAccountName"))
        .isEqualTo(at(objects, "ServiceAccount", "metadata", "name"));
  }

  /** The root file system is read-only, so every written path needs a volume. */
  @Test
  void temporaryFilesAndCachesHaveVolumes() throws IOException {
    Map<String, Object> objects = render("{}");

    assertThat(at(container(objects), "volumeMounts"))
        .isEqualTo(
            List.of(
                Map.of("name", "tmp", "mountPath", "/tmp"),
                Map.of("name", "cache", "mountPath", "/var/cache/athanor"),
                Map.of("name", "api-keys", "mountPath", "/etc/athanor-keys", "readOnly", true)));
    assertThat(at(pod(objects), "volumes"))
        .isEqualTo(
            List.of(
                Map.of("name", "tmp", "emptyDir", Map.of("sizeLimit", "1Gi")),
                Map.of("name", "cache", "emptyDir", Map.of("sizeLimit", "1Gi")),
                Map.of(
                    "name", "api-keys", "secret", Map.of("secretName", "kiln-athanor-api-keys"))));
    assertThat(env(objects))
        .containsEntry("XDG_CACHE_HOME", "/var/cache")
        .containsEntry("CUDA_CACHE_PATH", "/var/cache/athanor/cuda");
  }

  @Test
  void connectsProbesAndServiceToThePods() throws IOException {
    Map<String, Object> objects = render("{port: 8181, service: {port: 80}}");

    assertThat(at(container(objects), "ports", "0", "containerPort")).isEqualTo(8181);
    assertThat(at(container(objects), "args")).asInstanceOf(LIST).contains("8181");
    assertThat(at(container(objects), "startupProbe", "httpGet"))
        .isEqualTo(
            Map.of("path", "/actuator/health/readiness", "port", "management", "scheme", "HTTP"));
    assertThat(at(container(objects), "readinessProbe", "httpGet"))
        .isEqualTo(
            Map.of("path", "/actuator/health/readiness", "port", "management", "scheme", "HTTP"));
    assertThat(at(container(objects), "livenessProbe", "httpGet"))
        .isEqualTo(
            Map.of("path", "/actuator/health/liveness", "port", "management", "scheme", "HTTP"));
    assertThat(at(objects, "Service", "spec", "ports", "0", "port")).isEqualTo(80);
    assertThat(at(objects, "Service", "spec", "ports", "0", "targetPort")).isEqualTo("http");
    assertThat(at(container(objects), "ports", "1"))
        .isEqualTo(Map.of("name", "grpc", "containerPort", 9090, "protocol", "TCP"));
    assertThat(at(objects, "Service", "spec", "ports", "1"))
        .isEqualTo(
            Map.of(
                "name",
                "grpc",
                "port",
                9090,
                "targetPort",
                "grpc",
                "protocol",
                "TCP",
                "appProtocol",
                "kubernetes.io/h2c"));
    Map<?, ?> selector = (Map<?, ?>) at(objects, "Service", "spec", "selector");
    assertThat(at(objects, "StatefulSet", "spec", "selector", "matchLabels")).isEqualTo(selector);
    Map<?, ?> labels =
        (Map<?, ?>) at(objects, "StatefulSet", "spec", "template", "metadata", "labels");
    assertThat(labels.entrySet().containsAll(selector.entrySet())).isTrue();
  }

  /**
   * The termination grace period covers the drain delay, the drain timeout and the gRPC shutdown.
   */
  @Test
  void terminatingPodsHaveTimeToDrain() throws IOException {
    for (var values : List.of("{}", "{drainDelaySeconds: 7, drainTimeoutSeconds: 600}")) {
      Map<String, Object> objects = render(values);

      Duration delay = duration(objects, "ATHANOR_RUN_DRAINDELAY");
      Duration timeout = duration(objects, "ATHANOR_RUN_DRAINTIMEOUT");
      Duration phase = duration(objects, "SPRING_LIFECYCLE_TIMEOUTPERSHUTDOWNPHASE");
      Duration limit = Duration.ofSeconds((int) at(pod(objects), "terminationGracePeriodSeconds"));
      assertThat(phase).isGreaterThan(delay.plus(timeout));
      assertThat(limit).isGreaterThan(delay.plus(timeout).plus(GRPC_GRACE));
      assertThat(container(objects).containsKey("lifecycle")).isFalse();
    }
    Map<String, Object> custom = render("{drainDelaySeconds: 7, drainTimeoutSeconds: 600}");
    assertThat(duration(custom, "ATHANOR_RUN_DRAINDELAY")).hasSeconds(7);
    assertThat(duration(custom, "ATHANOR_RUN_DRAINTIMEOUT")).hasSeconds(600);
    assertThat(at(pod(custom), "terminationGracePeriodSeconds")).isEqualTo(622);
  }

  private static Duration duration(Map<String, Object> objects, String variable) {
    return DurationStyle.detectAndParse(String.valueOf(env(objects).get(variable)));
  }

  @Test
  void composeWaitsForTheDrain() throws IOException {
    Object compose =
        Chart.yaml().load(Files.readString(Chart.FOLDER.resolve("../../docker/compose.yaml")));
    RunSettings settings =
        new Binder(new MapConfigurationPropertySource(Map.of()))
            .bindOrCreate("athanor.run", RunSettings.class);

    for (var service : List.of("gpu", "cpu")) {
      var period = (String) at(compose, "services", service, "stop_grace_period");
      assertThat(DurationStyle.detectAndParse(period))
          .isGreaterThan(settings.drainDelay().plus(settings.drainTimeout()).plus(GRPC_GRACE));
    }
  }

  /** All sizes are in MiB. The emulator's memory is twice the heap. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{} | 2176 | 4096",
        "mode: cpu | 725 | 4096",
        "gpu: {count: 8} | 1280 | 4096",
        "resources: {limits: {memory: 16G}} | 13338 | 15258",
        "resources: {limits: {memory: 8589934592}} | 6272 | 8192",
        "{resources: {limits: {memory: 1.5Gi}}, memory: {requests: 64Mi, staging: 16Mi, buffers: 64Mi}} | 608 | 1536",
        "memory: {spill: 1Gi} | 1152 | 4096",
      })
  void memoryOfAPodFitsItsLimit(String values, int heap, int limit) throws IOException {
    Map<String, Object> objects = render(values);

    var options = String.valueOf(env(objects).get("JDK_JAVA_OPTIONS"));
    assertThat(options).startsWith("-Xmx" + heap + "m -XX:MaxDirectMemorySize=");
    boolean emulated = values.equals("mode: cpu");
    int devices = values.contains("count: 8") ? 8 : 1;
    long direct = mebibytes(options.replaceFirst(".*MaxDirectMemorySize=(\\d+)m.*", "$1MB"));
    long sum =
        (emulated ? 3L : 1L) * heap
            + direct
            + mebibytes(objects, "ATHANOR_RUN_INLINEBYTES")
            + 2L * devices * mebibytes(objects, "ATHANOR_RUN_STAGINGBYTES")
            + mebibytes(objects, "ATHANOR_TENSORS_SPILLBYTES")
            + 768;
    assertThat(sum).isBetween(limit - 2L, (long) limit);
  }

  private static long mebibytes(Map<String, Object> objects, String variable) {
    return mebibytes(String.valueOf(env(objects).get(variable)));
  }

  private static long mebibytes(String size) {
    return DataSize.parse(size).toMegabytes();
  }

  @Test
  void jvmChoosesItsHeapWithoutAMemoryLimit() throws IOException {
    Map<String, Object> objects = render("resources: {limits: {memory: null}}");

    assertThat(String.valueOf(env(objects).get("JDK_JAVA_OPTIONS")))
        .startsWith("-XX:MaxDirectMemorySize=512m ");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "resources: {limits: {memory: 2Gi}} | resources.limits.memory is 2Gi: it must be at least 2432Mi, for a Java heap of 512Mi, memory.requests 512Mi, twice memory.staging 64Mi for each of 1 devices, memory.spill 0, memory.buffers 512Mi and memory.native 768Mi.",
        "{mode: cpu, resources: {limits: {memory: 3Gi}}} | it must be at least 3456Mi, for a Java heap of 512Mi and the emulator's memory, which is twice the heap,",
        "memory: {requests: 3Gi} | resources.limits.memory is 4Gi: it must be at least 4992Mi",
        "jvmOptions: -Xmx3g | jvmOptions has -Xmx: set resources.limits.memory and memory instead",
        "jvmOptions: -XX:MaxRAMPercentage=50 | jvmOptions has -XX:MaxRAMPercentage: set",
      })
  void rejectsMemoryThatDoesNotFit(String values, String reason) {
    assertThatThrownBy(() -> render(values)).hasMessageContaining(reason);
  }

  @Test
  void changedSettingsRestartThePods() throws IOException {
    Map<String, Object> objects = render("config: {athanor: {quota: 5}}");

    assertThat(at(objects, "ConfigMap", "data", "application.yaml"))
        .isEqualTo("athanor:\n  quota: 5\n");
    assertThat(at(pod(objects), "volumes", "2", "configMap", "name"))
        .isEqualTo(at(objects, "ConfigMap", "metadata", "name"));
    assertThat(at(container(objects), "volumeMounts", "2", "mountPath")).isEqualTo("/etc/athanor");
    assertThat(env(objects)).containsEntry("SPRING_CONFIG_ADDITIONAL_LOCATION", "/etc/athanor/");
    assertThat(checksum(objects)).isNotEqualTo(checksum(render("config: {athanor: {quota: 6}}")));
  }

  private static Object checksum(Map<String, Object> objects) {
    return at(
        objects, "StatefulSet", "spec", "template", "metadata", "annotations", "checksum/config");
  }

  @Test
  void podMonitorScrapesTheManagementPort() throws IOException {
    Map<String, Object> objects =
        render("podMonitor: {enabled: true, labels: {release: prometheus}}");

    assertThat(at(objects, "PodMonitor", "spec", "podMetricsEndpoints"))
        .isEqualTo(
            List.of(
                Map.of(
                    "port", "management",
                    "path", "/actuator/prometheus",
                    "scheme", "http",
                    "interval", "15s",
                    "scrapeTimeout", "10s")));
    assertThat(at(objects, "PodMonitor", "spec", "selector", "matchLabels"))
        .isEqualTo(at(objects, "Service", "spec", "selector"));
    assertThat(at(objects, "PodMonitor", "metadata", "labels", "release")).isEqualTo("prometheus");

    Object custom =
        at(
            render(
                """
                security: {tls: {existingSecret: pki}}
                podMonitor:
                  enabled: true
                  authorization: {credentials: {name: scraper, key: token}}
                  tlsConfig: {insecureSkipVerify: true}
                """),
            "PodMonitor",
            "spec",
            "podMetricsEndpoints",
            "0");
    assertThat(at(custom, "scheme")).isEqualTo("https");
    assertThat(at(custom, "authorization", "credentials", "name")).isEqualTo("scraper");
    assertThat(at(custom, "tlsConfig", "insecureSkipVerify")).isEqualTo(true);
  }

  private static final String LINE = "0a1b2c3d lab ops:run sha256:" + "0123456789abcdef".repeat(4);

  @Test
  void requiresApiKeysByDefault() throws IOException {
    Map<String, Object> objects = render("security: {apiKeys: {lines: [\"" + LINE + "\"]}}");

    assertThat(env(objects))
        .containsEntry("ATHANOR_SECURITY_MODE", "api-key")
        .containsEntry("ATHANOR_SECURITY_APIKEYS_FILE", "/etc/athanor-keys/api-keys")
        .containsEntry("MANAGEMENT_SERVER_PORT", "8081")
        .doesNotContainKeys(
            "ATHANOR_SECURITY_ALLOWUNAUTHENTICATED", "ATHANOR_SECURITY_UNAUTHENTICATEDMANAGEMENT");
    assertThat(at(objects, "Secret", "stringData", "api-keys")).isEqualTo(LINE + "\n");
    assertThat(at(objects, "Secret", "metadata", "name")).isEqualTo("kiln-athanor-api-keys");
    assertThat(at(container(objects), "ports", "2", "containerPort")).isEqualTo(8081);
    assertThat(at(objects, "Service", "spec", "ports")).asInstanceOf(LIST).hasSize(2);

    Map<String, Object> own = render("security: {apiKeys: {existingSecret: mine}}");

    assertThat(own).doesNotContainKey("Secret");
    assertThat(at(pod(own), "volumes", "2", "secret", "secretName")).isEqualTo("mine");
  }

  @Test
  void supportsTokensAndCertificates() throws IOException {
    Map<String, Object> jwt =
        render(
            """
            security:
              mode: jwt
              jwt: {issuerUri: "https://issuer.example", audiences: [athanor, kiln]}
            management: {open: true, port: 9000}
            """);

    String boot = "SPRING_SECURITY_OAUTH2_RESOURCESERVER_JWT_";
    assertThat(env(jwt))
        .containsEntry("ATHANOR_SECURITY_MODE", "jwt")
        .containsEntry(boot + "ISSUERURI", "https://issuer.example")
        .containsEntry(boot + "AUDIENCES", "athanor,kiln")
        .containsEntry("ATHANOR_SECURITY_UNAUTHENTICATEDMANAGEMENT", "true")
        .containsEntry("MANAGEMENT_SERVER_PORT", "9000")
        .doesNotContainKey(boot + "JWKSETURI");
    assertThat(jwt).doesNotContainKey("Secret");
    assertThat(egress(jwt)).containsExactly(53, 53, 443);

    Map<String, Object> mtls = render("security: {mode: mtls, tls: {existingSecret: pki}}");

    assertThat(env(mtls))
        .containsEntry("ATHANOR_SECURITY_MODE", "mtls")
        .containsEntry("SERVER_SSL_BUNDLE", "web")
        .containsEntry("SERVER_SSL_CLIENTAUTH", "want")
        .containsEntry(
            "SPRING_SSL_BUNDLE_PEM_WEB_TRUSTSTORE_CERTIFICATE", "file:/etc/athanor-tls/ca.crt");
    assertThat(at(pod(mtls), "volumes", "2", "secret", "secretName")).isEqualTo("pki");
    for (String probe : List.of("startupProbe", "livenessProbe", "readinessProbe")) {
      assertThat(at(container(mtls), probe, "httpGet", "scheme")).isEqualTo("HTTPS");
    }
    assertThat(at(mtls, "Service", "spec", "ports", "0", "appProtocol")).isEqualTo("https");
    assertThat(at(mtls, "Service", "spec", "ports", "1"))
        .asInstanceOf(InstanceOfAssertFactories.MAP)
        .doesNotContainKey("appProtocol");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "issuerUri: http://keycloak:8080/realms/lab | 8080",
        "issuerUri: http://dex/realms/lab | 80",
        "issuerUri: https://issuer.example:8443 | 8443",
        "{issuerUri: https://issuer.example, jwkSetUri: https://keys.example:9443/jwks} | 443 9443",
        "jwkSetUri: https://[2001:db8::1]/jwks | 443",
        "jwkSetUri: https://[2001:db8::1]:444/jwks | 444",
      })
  void allowsEgressToThePortOfTheIssuer(String jwt, String ports) throws IOException {
    String values =
        "{security: {mode: jwt, jwt: {audiences: [lab], %s}}, networkPolicy: {egressPorts: [3128]}}"
            .formatted(jwt.replaceAll("[{}]", "").replaceAll("(\\w+): ([^,]+)", "$1: \"$2\""));

    List<Object> expected = new ArrayList<>(List.of(53, 53));
    for (String port : ports.split(" ", -1)) {
      expected.add(Integer.valueOf(port));
    }
    expected.add(3128);
    assertThat(egress(render(values))).isEqualTo(expected);
  }

  private static List<Object> egress(Map<String, Object> objects) {
    List<Object> ports = new ArrayList<>();
    for (Object port : (List<?>) at(objects, "NetworkPolicy", "spec", "egress", "0", "ports")) {
      ports.add(at(port, "port"));
    }
    return ports;
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "security: {mode: none} | security.mode is none, which admits everyone who reaches the pods",
        "security: {mode: jwt} | security.jwt.audiences and security.jwt.issuerUri or jwkSetUri",
        "security: {mode: mtls} | needs security.tls.existingSecret",
        "management: {port: 8080} | port and management.port are both 8080",
        "grpcPort: 8080 | port and grpcPort are both 8080",
        "grpcPort: 8081 | management.port and grpcPort are both 8081",
      })
  void rejectsIncompleteSecurityAndPortConflicts(String values, String reason) {
    assertThatThrownBy(() -> render(values)).hasMessageContaining(reason);
  }

  @Test
  void unauthenticatedServiceNeedsTwoSettings() throws IOException {
    assertThat(env(render("security: {mode: none, allowUnauthenticated: true}")))
        .containsEntry("ATHANOR_SECURITY_MODE", "none")
        .containsEntry("ATHANOR_SECURITY_ALLOWUNAUTHENTICATED", "true");
  }

  @Test
  void networkPolicyRestrictsManagementAndEgress() throws IOException {
    Map<String, Object> objects = render("forwarding: {enabled: false}");

    Object spec = at(objects, "NetworkPolicy", "spec");
    assertThat(at(spec, "podSelector")).isEqualTo(at(objects, "StatefulSet", "spec", "selector"));
    assertThat(at(spec, "policyTypes")).isEqualTo(List.of("Ingress", "Egress"));
    assertThat(at(spec, "egress")).isEqualTo(List.of());
    Map<?, ?> api = (Map<?, ?>) at(spec, "ingress", "0");
    assertThat(at(api, "ports", "0", "port")).isEqualTo("http");
    assertThat(at(api, "ports", "1", "port")).isEqualTo("grpc");
    assertThat(api.containsKey("from")).isFalse();
    assertThat(at(spec, "ingress", "1", "ports", "0", "port")).isEqualTo("management");
    assertThat(at(spec, "ingress", "1", "from"))
        .isEqualTo(List.of(Map.of("podSelector", Map.of())));

    Object custom =
        at(
            render(
                """
                networkPolicy:
                  from: [{podSelector: {matchLabels: {app: kiln}}}]
                  monitoringFrom: [{namespaceSelector: {matchLabels: {name: monitoring}}}]
                """),
            "NetworkPolicy",
            "spec",
            "ingress");
    assertThat(at(custom, "0", "from", "0", "podSelector", "matchLabels", "app")).isEqualTo("kiln");
    assertThat(at(custom, "1", "from", "0", "namespaceSelector", "matchLabels", "name"))
        .isEqualTo("monitoring");
    assertThat(render("networkPolicy: {enabled: false}")).doesNotContainKey("NetworkPolicy");
  }

  @Test
  void exportsSpansToTheConfiguredCollector() throws IOException {
    assertThat(env(render("")).keySet())
        .noneMatch(name -> String.valueOf(name).contains("TRACING"));

    Map<String, Object> traced =
        render("tracing: {endpoint: \"http://collector:4318/v1/traces\", probability: 0.01}");

    assertThat(env(traced))
        .containsEntry(
            "MANAGEMENT_OPENTELEMETRY_TRACING_EXPORT_OTLP_ENDPOINT",
            "http://collector:4318/v1/traces")
        .containsEntry("MANAGEMENT_TRACING_SAMPLING_PROBABILITY", "0.01");
    assertThat(at(traced, "NetworkPolicy", "spec", "egress", "0", "ports", "2", "port"))
        .isEqualTo(4318);
    assertThat(
            at(
                render("tracing: {endpoint: \"https://collector.example/v1/traces\"}"),
                "NetworkPolicy",
                "spec",
                "egress",
                "0",
                "ports",
                "2",
                "port"))
        .isEqualTo(443);
  }

  @Test
  void appliesExtraArgumentsAndScheduling() throws IOException {
    Map<String, Object> objects =
        render(
            """
            extraArgs: [--plugins, /plugins]
            extraEnv: [{name: LOGGING_LEVEL_ROOT, value: debug}]
            nodeSelector: {nvidia.com/gpu.present: "true"}
            tolerations: [{key: lab, operator: Exists}]
            topologySpreadConstraints:
              - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule}
            image: {repository: registry.example/athanor, tag: "7"}
            """);

    assertThat(at(container(objects), "args")).asInstanceOf(LIST).endsWith("--plugins", "/plugins");
    assertThat(env(objects)).containsEntry("LOGGING_LEVEL_ROOT", "debug");
    assertThat(at(pod(objects), "nodeSelector"))
        .isEqualTo(Map.of("nvidia.com/gpu.present", "true"));
    assertThat(at(pod(objects), "tolerations", "1", "key")).isEqualTo("lab");
    assertThat(at(pod(objects), "topologySpreadConstraints", "0", "maxSkew")).isEqualTo(1);
    assertThat(at(container(objects), "image")).isEqualTo("registry.example/athanor:7");
  }

  @Test
  void digestOverridesTag() throws IOException {
    String digest = "sha256:" + "0123456789abcdef".repeat(4);

    Map<String, Object> objects = render("image: {tag: \"7\", digest: \"" + digest + "\"}");

    assertThat(at(container(objects), "image")).isEqualTo("athanor@" + digest);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "mode: banana                     | /mode             | must be one of 'gpu', 'cpu'",
        "port: 99999                      | /port             | got 99,999, want 65,535",
        "port: web                        | /port             | want integer",
        "replicas: -1                     | /replicas         | 0",
        "gpu: {count: 0}                  | /gpu/count        | 1",
        "service: {type: Loadbalancer}    | /service/type     | 'LoadBalancer'",
        "image: {digest: latest}          | /image/digest     | sha256",
        "podMonitor: {interval: soon}     | /podMonitor       | does not match pattern",
        "probes: {startup: {period: 3}}   | /probes/startup   | 'period' not allowed",
        "security: {mode: password}       | /security/mode    | must be one of 'none', 'api-key'",
        "security: {apiKeys: {lines: [ath_x]}} | /security/apiKeys/lines/0 | does not match pattern",
        "replicaz: 2                      | ``                | 'replicaz' not allowed",
      })
  void rejectsInvalidValuesWithPathAndReason(String values, String path, String reason) {
    assertThatThrownBy(() -> render(values))
        .hasMessageContaining("don't meet the specifications of the schema")
        .hasMessageContaining(path)
        .hasMessageContaining(reason);
  }
}
