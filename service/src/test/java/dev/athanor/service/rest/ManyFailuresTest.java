package dev.athanor.service.rest;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.athanor.testing.TestTier;
import java.io.IOException;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/** Sends thousands of failing requests, to find small leaks. */
@Tag(TestTier.THOROUGH_TAG)
class ManyFailuresTest extends RestTest {

  private static final int CLIENTS = 8;

  private static final String JSON = "application/json";
  private static final String RAW = "application/octet-stream";

  private static final List<String> INVALID =
      List.of(
          request("POST", "/ops/identity", JSON, "{"),
          request("POST", "/ops/sing", JSON, "{\"inputs\": {}}"),
          request("POST", "/ops/identity", JSON, "{\"inputs\": {\"x\": {\"handle\": \"t_1\"}}}"),
          request(
              "POST",
              "/ops/identity",
              JSON,
              "{\"inputs\": {\"x\": {\"dtype\": \"f32\", \"shape\": [3], \"data\": [1]}}}"),
          request(
              "POST",
              "/ops/concat",
              JSON,
              "{\"inputs\": {\"a\": {\"dtype\": \"f64\", \"shape\": [1], \"data\": [1]}}}"),
          request("POST", "/tensors?dtype=f32&shape=3", RAW, "abc"),
          request("POST", "/tensors?dtype=u8&shape=100000000", RAW, "abc"),
          request("POST", "/tensors", "application/x-npy", "\u0093NUMPY and no more"),
          request("POST", "/tensors", "application/x-safetensors", "\1\0\0\0\0\0\0\0{"),
          request("POST", "/pipelines/run", JSON, "{\"steps\": [], \"inputs\": {}}"),
          request("POST", "/v2/models/identity/infer", JSON, "{\"inputs\": [{}]}"),
          request("PUT", "/tensors/t_00/data", RAW, "abc"),
          request("GET", "/tensors/t_00/data", JSON, ""),
          request("GET", "/nothing/here", JSON, ""),
          request("BREW", "/ops", JSON, ""));

  private static String request(String method, String path, String type, String body) {
    return "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s"
        .formatted(method, path, type, body.length(), body);
  }

  private String answer(String request) throws IOException {
    try (var socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      socket.getOutputStream().write(request.getBytes(ISO_8859_1));
      return new String(socket.getInputStream().readAllBytes(), ISO_8859_1);
    }
  }

  /** Sends invalid requests and checks that all are rejected. */
  private void send(int count) throws Exception {
    try (var clients = Executors.newVirtualThreadPerTaskExecutor()) {
      var each = new ArrayList<Future<?>>();
      for (int c = 0; c < CLIENTS; c++) {
        int first = c;
        each.add(
            clients.submit(() -> {
              for (int i = first; i < count; i += CLIENTS) {
                var request = INVALID.get(i % INVALID.size());
                assertThat(answer(request)).as(request).startsWith("HTTP/1.1 4");
              }
              return true;
            }));
      }
      for (var client : each) {
        client.get();
      }
    }
  }

  /** Resources of the process outside of its heap. */
  private record Resources(long files, long mappings, long direct, int tensors) {
    boolean isNear(Resources before) {
      return files <= before.files + 2
          && mappings <= before.mappings + 50
          && direct <= before.direct + (2L << 20)
          && tensors == before.tensors;
    }
  }

  private Resources resources() throws IOException {
    long direct =
        ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
            .mapToLong(BufferPoolMXBean::getMemoryUsed)
            .sum();
    try (var files = Files.list(Path.of("/proc/self/fd"));
        var mappings = Files.lines(Path.of("/proc/self/maps"))) {
      return new Resources(files.count(), mappings.count(), direct, device.openBuffers());
    }
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void thousandsOfFailuresLeakNothing() throws Exception {
    send(1000);
    var before = resources();
    send(4_000);
    await()
        .untilAsserted(
            () -> assertThat(resources()).matches(now -> now.isNear(before), "near " + before));
  }

  private List<String> series() {
    return given()
        .get("/actuator/prometheus")
        .then()
        .extract()
        .asString()
        .lines()
        .filter(line -> !line.startsWith("#"))
        .map(line -> line.replaceAll(" \\S+$", ""))
        .toList();
  }

  @Test
  void namesFromClientsAreNotLabels() throws Exception {
    send(INVALID.size());
    for (var path : List.of("/ops/%s", "/v2/models/%s/infer")) {
      assertThat(answer(request("POST", path.formatted("first"), JSON, "{}")))
          .contains("unknown-op");
    }
    int before = series().size();
    for (int i = 0; i < 300; i++) {
      var name = "made-up-" + i;
      answer(
          switch (i % 5) {
            case 0 -> request("POST", "/ops/" + name, JSON, "{}");
            case 1 -> request("GET", "/tensors/" + name, JSON, "");
            case 2 -> request("GET", "/" + name + "?" + name, JSON, "");
            case 3 -> request("M" + i, "/ops", JSON, "");
            default -> request("POST", "/v2/models/%s/infer".formatted(name), JSON, "{}");
          });
    }
    assertThat(series())
        .noneMatch(line -> line.contains("made-up") || line.contains("\"M1"))
        .hasSizeLessThan(before + 100);
  }
}
