package dev.athanor.service.forward;

import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.http.Connections;
import dev.athanor.service.http.HttpRequests;
import dev.athanor.service.http.PacedOutput;
import dev.athanor.service.replica.ReplicaClient;
import dev.athanor.service.replica.ReplicaClient.Outgoing;
import dev.athanor.service.replica.ResponseBody;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.InputStream;
import java.net.http.HttpHeaders;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Forwards a client's request to another replica, and streams its response to the client. */
final class Forwarder {

  private final ReplicaClient client;

  Forwarder(ReplicaClient client) {
    this.client = client;
  }

  /**
   * Forwards a request.
   *
   * @param replica the id of the replica
   * @param url the URL of that replica
   * @param body null for none
   * @param length of the body in bytes; -1 if unknown
   * @throws Failure if there is no response; nothing was written to the client then
   * @throws IOException if the client has disconnected, or the replica breaks off its response
   */
  void forward(
      HttpServletRequest request,
      String replica,
      String url,
      @Nullable InputStream body,
      long length,
      Deadline deadline,
      HttpServletResponse response)
      throws IOException {
    var query = request.getQueryString();
    var outgoing =
        new Outgoing(
            HttpRequests.account(request),
            request.getMethod(),
            request.getRequestURI() + (query == null ? "" : "?" + query),
            builder -> ForwardedHeaders.copy(request, builder),
            replica,
            url,
            body,
            length,
            deadline,
            Connections.clientHasGone());
    var _ =
        client.send(
            outgoing,
            answer -> {
              answer(answer, outgoing, response);
              return true;
            });
  }

  private void answer(
      HttpResponse<ResponseBody> answer, Outgoing outgoing, HttpServletResponse response)
      throws IOException, InterruptedException {
    response.setStatus(answer.statusCode());
    var copied = ForwardedHeaders.copy(answer.headers(), response);
    try (var body = answer.body()) {
      if (outgoing.method().equals("HEAD")) {
        return;
      }
      var out = PacedOutput.of(response);
      boolean streams = streams(answer.headers());
      while (true) {
        var buffers = next(body, outgoing, response, copied);
        if (buffers.isEmpty()) {
          return;
        }
        for (var buffer : buffers) {
          out.write(buffer);
        }
        if (streams) {
          out.flush();
        }
      }
    }
  }

  /** Whether each part of a body is for the client at once. */
  private static boolean streams(HttpHeaders headers) {
    return headers
        .firstValue("Content-Type")
        .filter(type -> type.startsWith("text/event-stream"))
        .isPresent();
  }

  private List<ByteBuffer> next(
      ResponseBody body, Outgoing outgoing, HttpServletResponse response, List<String> copied)
      throws InterruptedException {
    try {
      return client.next(body, outgoing);
    } catch (Failure e) {
      if (!response.isCommitted()) {
        copied.forEach(name -> response.setHeader(name, null));
      }
      throw e;
    }
  }
}
