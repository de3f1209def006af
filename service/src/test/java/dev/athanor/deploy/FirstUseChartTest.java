package dev.athanor.deploy;

import static dev.athanor.deploy.Chart.at;
import static dev.athanor.deploy.Chart.container;
import static dev.athanor.deploy.Chart.list;
import static dev.athanor.deploy.Chart.pod;
import static dev.athanor.deploy.Chart.render;
import static dev.athanor.deploy.Chart.text;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.LIST;

import com.sun.net.httpserver.HttpServer;
import dev.athanor.testing.Programs;
import dev.athanor.testing.TestTier;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests the installation notes, {@code helm test}, and the KServe runtime. */
@Tag(TestTier.THOROUGH_TAG)
class FirstUseChartTest {

  @Test
  void notesRunAProductInThreeLines() throws IOException {
    String notes = Chart.notes("mode: cpu");
    assertThat(notes)
        .contains("Athanor 0.1.0 starts on the emulator. The first product:")
        .contains("    kubectl -n lab rollout status statefulset/kiln-athanor\n")
        .contains("    kubectl -n lab port-forward service/kiln-athanor 8080:8080 &\n")
        .contains("    curl -H \"Authorization: Bearer $KEY\" http://127.0.0.1:8080/ops/matmul -H")
        .contains("There is no API key yet, so every request is rejected.")
        .doesNotContain("Replicas share");
    assertThat(notes.lines().filter(line -> line.startsWith("    "))).hasSize(3);

    assertThat(Chart.notes("{replicas: 2, security: {mode: none, allowUnauthenticated: true}}"))
        .contains("starts with 1 × nvidia.com/gpu per pod")
        .contains("    curl http://127.0.0.1:8080/ops/matmul")
        .contains("Requests are not authenticated")
        .contains("REST requests for a tensor are forwarded to the replica that has it")
        .doesNotContain("API key");
    assertThat(Chart.notes("{replicas: 2, forwarding: {enabled: false}}"))
        .contains("other replicas answer 421 wrong-replica. Set\nservice.sessionAffinity");
    assertThat(Chart.notes("security: {mode: mtls, tls: {existingSecret: pki}}"))
        .contains(
            "    curl --cert client.crt --key client.key --cacert ca.crt --connect-to"
                + " kiln-athanor:8080:127.0.0.1:8080 https://kiln-athanor:8080/ops/matmul");
  }

  @Test
  void serviceDoesNotSelectTheTestPod() throws IOException {
    Object pod = Chart.testPod("{}");

    assertThat(at(pod, "metadata", "annotations", "hook")).isEqualTo("test");
    Map<?, ?> labels = (Map<?, ?>) at(pod, "metadata", "labels");
    Map<?, ?> selector = (Map<?, ?>) at(render("{}"), "Service", "spec", "selector");
    assertThat(labels.entrySet().containsAll(selector.entrySet())).isFalse();
    assertThat(at(pod, "spec", "securityContext"))
        .isEqualTo(at(pod(render("{}")), "securityContext"));
    assertThat(at(pod, "spec", "containers", "0", "securityContext"))
        .isEqualTo(at(container(render("{}")), "securityContext"));
    assertThat(list(pod, "spec", "containers", "0", "env").getFirst())
        .isEqualTo(Map.of("name", "URL", "value", "http://kiln-athanor.lab:8080"));
  }

  @Test
  void testPodHasCredentialsAndTrustsTheCertificate() throws IOException {
    Object pod =
        Chart.testPod(
            "{security: {tls: {existingSecret: pki}}, test: {credentialsSecret: mine, image: my/curl}}");

    Object container = at(pod, "spec", "containers", "0");
    assertThat(at(container, "image")).isEqualTo("my/curl");
    assertThat(at(container, "env"))
        .asInstanceOf(LIST)
        .contains(
            Map.of("name", "URL", "value", "https://kiln-athanor.lab:8080"),
            Map.of("name", "CURL_CA_BUNDLE", "value", "/tls/ca.crt"),
            Map.of(
                "name",
                "CREDENTIALS",
                "valueFrom",
                Map.of("secretKeyRef", Map.of("name", "mine", "key", "key"))));
    assertThat(at(pod, "spec", "volumes", "0", "secret", "secretName")).isEqualTo("pki");
  }

  /** Runs the script of the test pod against a server with correct and incorrect responses. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      nullValues = "-",
      value = {
        // ready, mode, credentials, status, data, passes, output
        "200 | none    | -   | 200 | [19.0,22.0,43.0,50.0] | true  | The product is right.",
        "200 | api-key | key | 200 | [19.0,22.0,43.0,50.0] | true  | The product is right.",
        "200 | none    | -   | 200 | [19.0,22.0,43.0,51.0] | false | The answer is not the product",
        "200 | api-key | key | 401 | []                    | false | The answer is not the product",
        "200 | api-key | -   | 401 | []                    | true  | Set test.credentialsSecret to test a product.",
        "200 | jwt     | -   | 200 | [19.0,22.0,43.0,50.0] | false | must be answered with 401",
        "503 | none    | -   | 200 | [19.0,22.0,43.0,50.0] | false | The service is not ready.",
      })
  void testPodChecksTheResponse(
      int ready,
      String mode,
      @Nullable String credentials,
      int status,
      String data,
      boolean passes,
      String message)
      throws Exception {
    Programs.require("curl", "apt-get install curl");
    Object pod = Chart.testPod("{}");
    AtomicReference<@Nullable String> authorization = new AtomicReference<>();
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          boolean probe = exchange.getRequestURI().getPath().equals("/readyz");
          exchange.getRequestBody().readAllBytes();
          if (!probe) {
            authorization.set(exchange.getRequestHeaders().getFirst("Authorization"));
          }
          byte[] body = ("{\"data\":" + data + "}").getBytes(StandardCharsets.UTF_8);
          exchange.sendResponseHeaders(probe ? ready : status, body.length);
          exchange.getResponseBody().write(body);
          exchange.close();
        });
    server.start();
    try {
      var script = text(pod, "spec", "containers", "0", "args", "0");
      var builder = new ProcessBuilder("sh", "-c", script).redirectErrorStream(true);
      builder.environment().put("URL", "http://127.0.0.1:" + server.getAddress().getPort());
      builder.environment().put("MODE", mode);
      builder.environment().put("no_proxy", "127.0.0.1");
      if (credentials != null) {
        builder.environment().put("CREDENTIALS", credentials);
      }
      var process = builder.start();
      String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertThat(output).contains(message);
      assertThat(process.waitFor() == 0).as(output).isEqualTo(passes);
      if (ready == 200) {
        assertThat(authorization.get())
            .isEqualTo(credentials == null ? null : "Bearer " + credentials);
      }
    } finally {
      server.stop(0);
    }
  }

  @Test
  void servingRuntimeRunsTheSameContainer() throws IOException {
    assertThat(render("{}")).doesNotContainKey("ServingRuntime");
    Map<String, Object> objects = render("{kserve: {enabled: true}, cache: {persistent: true}}");

    Object spec = at(objects, "ServingRuntime", "spec");
    assertThat(at(objects, "ServingRuntime", "apiVersion")).isEqualTo("serving.kserve.io/v1alpha1");
    assertThat(at(spec, "protocolVersions")).isEqualTo(List.of("v2"));
    assertThat(at(spec, "supportedModelFormats", "0", "name")).isEqualTo("athanor");
    Object container = at(spec, "containers", "0");
    assertThat(at(container, "name")).isEqualTo("kserve-container");
    for (String same : List.of("image", "args", "resources", "volumeMounts")) {
      assertThat(at(container, same)).isEqualTo(at(container(objects), same));
    }
    assertThat(at(container, "env"))
        .as("all but forwarding, since the headless Service does not name KServe's pods")
        .isEqualTo(
            list(container(objects), "env").stream()
                .filter(each -> !text(each, "name").startsWith("ATHANOR_FORWARD_"))
                .toList());
    assertThat(at(container, "ports"))
        .isEqualTo(List.of(Map.of("name", "http", "containerPort", 8080, "protocol", "TCP")));
    assertThat(at(container, "readinessProbe", "httpGet"))
        .isEqualTo(Map.of("path", "/readyz", "port", "http", "scheme", "HTTP"));
    assertThat(at(container, "livenessProbe", "httpGet", "path")).isEqualTo("/livez");
    assertThat(at(container, "securityContext"))
        .isEqualTo(
            Map.of(
                "runAsNonRoot",
                true,
                "runAsUser",
                10001,
                "runAsGroup",
                10001,
                "seccompProfile",
                Map.of("type", "RuntimeDefault"),
                "allowPrivilegeEscalation",
                false,
                "readOnlyRootFilesystem",
                true,
                "capabilities",
                Map.of("drop", List.of("ALL"))));
    // A ServingRuntime cannot claim volumes, so the cache is an emptyDir.
    List<Object> volumes =
        list(spec, "volumes").stream()
            .map(volume -> at(volume, "name"))
            .map(Object.class::cast)
            .toList();
    assertThat(volumes).containsExactly("tmp", "cache", "api-keys");
    assertThat(at(spec, "tolerations", "0", "key")).isEqualTo("nvidia.com/gpu");
  }
}
