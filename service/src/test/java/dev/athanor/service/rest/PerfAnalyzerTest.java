package dev.athanor.service.rest;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.service.AthanorApplication;
import dev.athanor.testing.TestTier;
import io.restassured.path.json.JsonPath;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Locale;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.server.LocalServerPort;

/**
 * Sends the requests of Triton's load tool, {@code perf_analyzer -m matmul --shape a:4,4 --shape
 * b:4,4 --shape bias:4}, byte by byte, and checks what it reads.
 */
@SpringBootTest(
    classes = AthanorApplication.class,
    properties = "athanor.device=emulator",
    webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
@Tag(TestTier.THOROUGH_TAG)
class PerfAnalyzerTest {

  @LocalServerPort int port;

  private record Answer(String head, ByteBuffer body) {
    int header(String name) {
      return head.lines()
          .filter(
              line -> line.toLowerCase(Locale.ROOT).startsWith(name.toLowerCase(Locale.ROOT) + ":"))
          .map(line -> Integer.parseInt(line.substring(name.length() + 1).strip()))
          .findFirst()
          .orElse(0);
    }

    JsonPath json() {
      int header = header("Inference-Header-Content-Length");
      int length = header == 0 ? body.limit() : header;
      return JsonPath.from(US_ASCII.decode(body.slice(0, length)).toString());
    }
  }

  /** Sends a request with the lines of its head. */
  private Answer send(byte[] body, String... head) throws IOException {
    try (var socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      var out = socket.getOutputStream();
      for (var line : head) {
        out.write((line + "\r\n").getBytes(US_ASCII));
      }
      out.write("Connection: close\r\n\r\n".getBytes(US_ASCII));
      out.write(body);
      out.flush();
      var answer = socket.getInputStream().readAllBytes();
      int end = new String(answer, US_ASCII).indexOf("\r\n\r\n");
      var text = new String(answer, 0, end, US_ASCII);
      assertThat(text).startsWith("HTTP/1.1 200 ");
      var rest = Arrays.copyOfRange(answer, end + 4, answer.length);
      return new Answer(text, ByteBuffer.wrap(text.contains("chunked") ? dechunk(rest) : rest));
    }
  }

  private static byte[] dechunk(byte[] chunks) {
    var body = new ByteArrayOutputStream();
    int at = 0;
    while (true) {
      int end = at;
      while (chunks[end] != '\r') {
        end++;
      }
      int size = Integer.parseInt(new String(chunks, at, end - at, US_ASCII), 16);
      if (size == 0) {
        return body.toByteArray();
      }
      body.write(chunks, end + 2, size);
      at = end + 2 + size + 2;
    }
  }

  private JsonPath get(String path) throws IOException {
    return send(
            new byte[0],
            "GET " + path + " HTTP/1.1",
            "Host: localhost:" + port,
            "User-Agent: libcurl-agent/1.0",
            "Accept: */*")
        .json();
  }

  private Answer infer(int id, float[] a, float[] b, float[] bias) throws IOException {
    var json =
        ("{\"id\":\"%d\",\"inputs\":[{\"name\":\"a\",\"shape\":[4,4],\"datatype\":\"FP32\","
                + "\"parameters\":{\"binary_data_size\":64}},{\"name\":\"b\",\"shape\":[4,4],"
                + "\"datatype\":\"FP32\",\"parameters\":{\"binary_data_size\":64}},"
                + "{\"name\":\"bias\",\"shape\":[4],\"datatype\":\"FP32\","
                + "\"parameters\":{\"binary_data_size\":16}}],"
                + "\"outputs\":[{\"name\":\"c\",\"parameters\":{\"binary_data\":true}}]}")
            .formatted(id);
    var body = new ByteArrayOutputStream();
    body.writeBytes(json.getBytes(US_ASCII));
    for (var tensor : new float[][] {a, b, bias}) {
      var bytes = ByteBuffer.allocate(4 * tensor.length).order(ByteOrder.LITTLE_ENDIAN);
      bytes.asFloatBuffer().put(tensor);
      body.writeBytes(bytes.array());
    }
    return send(
        body.toByteArray(),
        "POST /v2/models/matmul/infer HTTP/1.1",
        "Host: localhost:" + port,
        "User-Agent: libcurl-agent/1.0",
        "Accept: */*",
        "Inference-Header-Content-Length: " + json.length(),
        "Content-Type: application/octet-stream",
        "Content-Length: " + body.size());
  }

  @Test
  void measuresMatmul() throws IOException {
    var metadata = get("/v2/models/matmul");
    assertThat(metadata.getString("name")).isEqualTo("matmul");
    assertThat(metadata.getList("inputs.name")).containsExactly("a", "b", "bias");
    assertThat(metadata.getList("inputs[0].shape"))
        .containsExactly(-1, -1); // so perf_analyzer uses --shape
    var config = get("/v2/models/matmul/config");
    assertThat(config.getInt("max_batch_size")).isZero();
    assertThat(config.getList("input.name")).isEqualTo(metadata.getList("inputs.name"));
    assertThat(config.getList("input.optional")).containsExactly(false, false, true);
    assertThat(config.<Object>get("sequence_batching")).isNull();
    assertThat(get("/v2").getList("extensions")).contains("statistics");
    long before = get("/v2/models/matmul/stats").getLong("model_stats[0].inference_count");
    var a = new float[16];
    var b = new float[16];
    for (int i = 0; i < 16; i++) {
      a[i] = i % 5 == 0 ? 2 : 0; // twice the identity
      b[i] = i;
    }
    int calls = 3;
    for (int id = 0; id < calls; id++) {
      var answer = infer(id, a, b, new float[] {100, 200, 300, 400});
      assertThat(answer.json().getString("id")).isEqualTo(Integer.toString(id));
      assertThat(answer.json().getInt("outputs[0].parameters.binary_data_size")).isEqualTo(64);
      int header = answer.header("Inference-Header-Content-Length");
      assertThat(answer.body.limit()).isEqualTo(header + 64);
      var c = answer.body.slice(header, 64).order(ByteOrder.LITTLE_ENDIAN);
      for (int i = 0; i < 16; i++) {
        assertThat(c.getFloat()).isEqualTo(2f * i + 100 * (i % 4 + 1));
      }
    }
    var stats = get("/v2/models/matmul/stats");
    assertThat(stats.<Object>get("model_stats[0].version")).isEqualTo("1");
    assertThat(stats.getLong("model_stats[0].inference_count") - before).isEqualTo(calls);
    for (var phase :
        new String[] {
          "success",
          "queue",
          "compute_input",
          "compute_infer",
          "compute_output",
          "cache_hit",
          "fail"
        }) {
      assertThat(stats.<Object>get("model_stats[0].inference_stats." + phase + ".count"))
          .as(phase)
          .isInstanceOf(Integer.class);
    }
    assertThat(stats.getLong("model_stats[0].inference_stats.compute_infer.ns")).isPositive();
  }
}
