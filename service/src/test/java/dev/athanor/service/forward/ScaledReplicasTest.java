package dev.athanor.service.forward;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.nio.file.StandardOpenOption.APPEND;
import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.testing.LoopbackBlock;
import dev.athanor.testing.ServiceProcess;
import dev.athanor.testing.TestTier;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Tests replicas that come and go while others run. A file of hosts, which the test changes, takes
 * the place of the headless Service's DNS records.
 */
@Tag(TestTier.THOROUGH_TAG)
class ScaledReplicasTest {

  private static final JsonMapper JSON = new JsonMapper();
  private static final byte[] TENSOR =
      "{\"dtype\": \"f32\", \"shape\": [2], \"data\": [1, 2]}".getBytes(UTF_8);

  private final HttpClient client = HttpClient.newHttpClient();
  private final Map<Integer, ServiceProcess> processes = new HashMap<>();

  @TempDir private Path folder;

  @SuppressWarnings("NullAway.Init") // before each test
  private LoopbackBlock addresses;

  @BeforeEach
  void reserveAddresses() throws IOException {
    addresses = new LoopbackBlock();
    Files.writeString(
        folder.resolve("security"),
        "networkaddress.cache.ttl=0\nnetworkaddress.cache.negative.ttl=0\n");
  }

  @AfterEach
  void stop() throws IOException {
    processes.values().forEach(ServiceProcess::close);
    addresses.close();
  }

  private String host(int ordinal) {
    return addresses.host(Integer.toString(10 + ordinal));
  }

  /** Publishes the addresses of these replicas and of no others. */
  private void publish(int... ordinals) throws IOException {
    var lines = new ArrayList<String>();
    for (int ordinal : ordinals) {
      lines.add("%s lab.localhost lab-%d.localhost".formatted(host(ordinal), ordinal));
    }
    var next = Files.write(folder.resolve("hosts.next"), lines);
    Files.move(next, folder.resolve("hosts"), StandardCopyOption.ATOMIC_MOVE);
  }

  private void start(int... ordinals) throws Exception {
    for (int ordinal : ordinals) {
      processes.put(
          ordinal,
          new ServiceProcess(
              folder,
              List.of(
                  "-Xmx256m",
                  "-Djdk.net.hosts.file=" + folder.resolve("hosts"),
                  "-Djava.security.properties=" + folder.resolve("security")),
              List.of(
                  "server.address=" + host(ordinal),
                  "server.port=" + addresses.port(),
                  "athanor.replica=lab-" + ordinal,
                  "athanor.forward.url=http://lab-{replica}.localhost:" + addresses.port(),
                  "athanor.forward.discovery=lab.localhost",
                  "athanor.forward.connect-timeout=1h",
                  "athanor.forward.idle-timeout=1h",
                  "athanor.tuning.cache=" + folder.resolve(ordinal + ".json"))));
    }
    for (int ordinal : ordinals) {
      process(ordinal).awaitReady();
    }
  }

  private ServiceProcess process(int ordinal) {
    return Objects.requireNonNull(processes.get(ordinal));
  }

  private record Answer(int status, JsonNode body, String replica) {
    String text(String member) {
      return body.path(member).asString("");
    }

    List<String> replicas() {
      assertThat(status).as(body.toString()).isBetween(200, 201);
      assertThat(body.path("unreachable").isEmpty()).as(body.toString()).isTrue();
      return body.path("replicas").valueStream().map(JsonNode::asString).toList();
    }
  }

  private Answer send(int ordinal, String method, String path) throws Exception {
    var request =
        HttpRequest.newBuilder(
            URI.create("http://%s:%d%s".formatted(host(ordinal), addresses.port(), path)));
    if (method.startsWith("P")) {
      request.header("Content-Type", "application/json");
    }
    var body =
        method.startsWith("P") ? BodyPublishers.ofByteArray(TENSOR) : BodyPublishers.noBody();
    var response = client.send(request.method(method, body).build(), BodyHandlers.ofString());
    return new Answer(
        response.statusCode(),
        response.body().startsWith("{") ? JSON.readTree(response.body()) : JSON.createObjectNode(),
        response.headers().firstValue("Athanor-Replica").orElse(""));
  }

  private Answer putEverywhere(int ordinal) throws Exception {
    return send(ordinal, "PUT", "/tensors/w?replicas=all");
  }

  @Test
  void replicasComeAndGoWhileOthersRun() throws Exception {
    publish(0, 1, 2);
    start(0, 1, 2);
    assertThat(putEverywhere(0).replicas()).containsExactly("0", "1", "2");
    var handle = send(0, "POST", "/tensors").text("handle");

    publish(0, 1, 2, 3); // the new replica has an address, but does not respond yet
    var unknown = send(0, "GET", "/tensors/unknown");
    assertThat(unknown.status()).isEqualTo(503);
    assertThat(unknown.text("detail")).startsWith("the replica 3 cannot be reached");
    assertThat(putEverywhere(0).status()).isEqualTo(503);

    start(3);
    Files.writeString(folder.resolve("hosts"), host(9) + " lab.localhost", APPEND);
    var unnamed = putEverywhere(0);
    assertThat(unnamed.status()).isEqualTo(503);
    assertThat(unnamed.text("detail"))
        .startsWith(
            host(9) + " is an address of lab.localhost (athanor.forward.discovery), but of");
    assertThat(send(0, "GET", "/tensors/unknown").status()).isEqualTo(503);
    var forwarded = send(3, "GET", "/tensors/w");
    assertThat(forwarded.status()).isEqualTo(200);
    assertThat(forwarded.replica()).isEqualTo("0");

    publish(0, 1, 2, 3);
    assertThat(send(0, "GET", "/tensors/unknown").status()).isEqualTo(404);
    assertThat(putEverywhere(1).replicas()).containsExactly("1", "2", "3", "0");
    assertThat(send(3, "GET", "/tensors/w").replica()).isEqualTo("3");
    var lost = send(3, "POST", "/tensors").text("handle");

    publish(0, 1);
    process(2).close();
    process(3).close();
    for (int ordinal : List.of(0, 1)) {
      assertThat(send(ordinal, "GET", "/tensors/w").status()).isEqualTo(200);
      assertThat(send(ordinal, "GET", "/tensors/unknown").status()).isEqualTo(404);
      assertThat(send(ordinal, "GET", "/tensors/" + handle).status()).isEqualTo(200);
      var gone = send(ordinal, "GET", "/tensors/" + lost);
      assertThat(gone.status()).isEqualTo(503);
      assertThat(gone.text("detail")).startsWith("the replica 3 cannot be reached");
    }
    assertThat(putEverywhere(1).replicas()).containsExactly("1", "0");
    var many = send(0, "PUT", "/tensors/w?replicas=3");
    assertThat(many.status()).isEqualTo(503);
    assertThat(many.text("detail"))
        .isEqualTo("3 copies of the tensor w need as many replicas, but 2 exist; retry after 5 s");
    assertThat(send(0, "DELETE", "/tensors/w").status()).isEqualTo(204);
    assertThat(send(1, "GET", "/tensors/w").status()).isEqualTo(404);
  }

  @Test
  void aSingleReplicaTellsOthersFromAFailedLookup() throws Exception {
    publish(0);
    start(0);
    assertThat(putEverywhere(0).replicas()).containsExactly("0");
    assertThat(send(0, "GET", "/tensors/unknown").status()).isEqualTo(404);

    publish();
    assertThat(send(0, "GET", "/tensors/w").status()).isEqualTo(200);
    for (var failed :
        List.of(send(0, "GET", "/tensors/unknown"), send(0, "DELETE", "/tensors/w"))) {
      assertThat(failed.status()).isEqualTo(503);
      assertThat(failed.text("detail"))
          .isEqualTo(
              "the host lab.localhost (athanor.forward.discovery) has no address; retry after 5 s");
    }

    publish(0);
    assertThat(send(0, "DELETE", "/tensors/w").status()).isEqualTo(204);
  }
}
