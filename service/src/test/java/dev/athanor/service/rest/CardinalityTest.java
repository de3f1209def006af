package dev.athanor.service.rest;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

import dev.athanor.api.v1.OpsGrpc;
import dev.athanor.api.v1.RunRequest;
import dev.athanor.testing.TestTier;
import io.grpc.CallOptions;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.grpc.server.lifecycle.GrpcServerLifecycle;
import org.springframework.test.context.TestPropertySource;

/** Tests that requests cannot increase the number of metric series without bound. */
@TestPropertySource(properties = "athanor.metrics.triton=true")
@Tag(TestTier.THOROUGH_TAG)
class CardinalityTest extends RestTest {

  private static final int ROUNDS = 250;

  /** Requests with values that could become labels; %d is a new number each time. */
  private static final List<String> REQUESTS =
      List.of(
          "GET /nowhere-%d/a-%d",
          "GET /ops/op-%d",
          "POST /ops/op-%d",
          "POST /ops/identity?attribute-%d=%d",
          "GET /tensors/t_%d",
          "DELETE /tensors/t_test%d",
          "DELETE /tensors?scope=job-%d",
          "POST /v2/models/model-%d/infer",
          "GET /v2/models/identity/versions/%d",
          "VERB%d /ops",
          "GET /ops;a=%d",
          "GET /actuator/metrics-%d",
          "GET /console/file-%d.js",
          "OPTIONS /ops/op-%d");

  private static final String HEADERS =
      """
      Host: host-%d.localhost
      User-Agent: agent-%d
      Accept: type/x-%d
      X-API-Key: key-%d
      X-Deadline-Ms: 1%d000
      traceparent: 00-4bf92f3577b34da6a3ce9200%08x-00f067aa0ba902b7-01
      Content-Length: 0

      """
          .replace("\n", "\r\n");

  @Autowired GrpcServerLifecycle grpc;

  private static final Pattern LENGTH = Pattern.compile("(?i)content-length: (\\d+)");

  private static void send(Socket socket, String line, int number) throws IOException {
    var request =
        line.replace("%d", Integer.toString(number))
            + " HTTP/1.1\r\n"
            + HEADERS
                .replace("%d", Integer.toString(number))
                .replace("%08x", "%08x".formatted(number));
    socket.getOutputStream().write(request.getBytes(US_ASCII));
  }

  /** Reads a response; returns false if the connection closes after it. */
  private static boolean skip(InputStream in) throws IOException {
    var head = new StringBuilder();
    while (head.indexOf("\r\n\r\n") < 0) {
      int c = in.read();
      if (c < 0) {
        return false;
      }
      head.append((char) c);
    }
    var length = LENGTH.matcher(head);
    if (length.find()) {
      in.skipNBytes(Long.parseLong(length.group(1)));
    } else if (head.indexOf("Transfer-Encoding: chunked") >= 0) {
      chunks(in);
    }
    return head.indexOf("Connection: close") < 0;
  }

  private static void chunks(InputStream in) throws IOException {
    long size;
    do {
      var line = new StringBuilder();
      for (int c = in.read(); c != '\n' && c >= 0; c = in.read()) {
        line.append((char) c);
      }
      size = Long.parseLong(line.toString().strip(), 16);
      in.skipNBytes(size + 2);
    } while (size > 0);
  }

  private void round(int from, int to) throws IOException {
    for (var line : REQUESTS) {
      int number = from;
      while (number < to) {
        try (var socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
          var in = new BufferedInputStream(socket.getInputStream());
          boolean open = true;
          while (open && number < to) {
            send(socket, line, number++);
            open = skip(in);
          }
        }
      }
    }
  }

  /** Calls unknown methods and ops over gRPC. */
  private void calls(int from, int to) {
    var channel =
        Grpc.newChannelBuilderForAddress(
                "127.0.0.1", grpc.getPort(), InsecureChannelCredentials.create())
            .build();
    try {
      for (int i = from; i < to; i++) {
        var request = RunRequest.newBuilder().setOp("op-" + i).build();
        var method =
            OpsGrpc.getRunMethod().toBuilder().setFullMethodName("athanor.v1.Ops/Run" + i).build();
        assertThatExceptionOfType(StatusRuntimeException.class)
            .isThrownBy(() -> OpsGrpc.newBlockingStub(channel).run(request));
        assertThatExceptionOfType(StatusRuntimeException.class)
            .isThrownBy(
                () -> ClientCalls.blockingUnaryCall(channel, method, CallOptions.DEFAULT, request));
      }
    } finally {
      channel.shutdownNow();
    }
  }

  /** Returns the names and labels of all series. */
  private Set<String> series() {
    var page = given().get("/actuator/prometheus").then().statusCode(200).extract().asString();
    var series = new TreeSet<String>();
    page.lines()
        .filter(line -> !line.startsWith("#"))
        .forEach(line -> series.add(line.substring(0, line.lastIndexOf(' '))));
    return series;
  }

  @Test
  void numberOfSeriesIsBounded() throws IOException {
    round(0, 3);
    calls(0, 3);
    // a request may be counted after its response
    await().until(() -> series().stream().anyMatch(s -> s.contains("OPTIONS")));
    series();
    var before = series();
    round(3, ROUNDS);
    calls(3, ROUNDS / 3);
    var after = series();
    after.removeAll(before);
    after.removeIf(s -> s.startsWith("jvm_") || s.startsWith("tomcat_"));
    assertThat(after).as("after %d requests", ROUNDS * REQUESTS.size()).isEmpty();
    assertThat(before).hasSizeLessThan(2_000);
  }
}
