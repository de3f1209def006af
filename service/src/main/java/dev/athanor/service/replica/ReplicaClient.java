package dev.athanor.service.replica;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.metrics.Metrics;
import dev.athanor.service.metrics.Traces;
import dev.athanor.service.schedule.SharedLimit;
import dev.athanor.service.schedule.TenantShares;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLHandshakeException;
import org.jspecify.annotations.Nullable;

/**
 * Sends requests to other replicas. The calling thread streams the body of the request and of the
 * response. No request is sent twice.
 */
public final class ReplicaClient implements AutoCloseable {

  /** The header of a forwarded request: the id of the replica that forwarded it. */
  public static final String FORWARDED = "Athanor-Forwarded";

  /** Bytes of a body that are passed on at once. */
  private static final int PIECE = 1 << 16;

  static {
    // The owner closes idle connections after 20 s; one that is reused then would break.
    if (System.getProperty("jdk.httpclient.keepalive.timeout") == null) {
      System.setProperty("jdk.httpclient.keepalive.timeout", "10");
    }
    // The default of 16 KiB per read would limit the throughput of large tensors.
    if (System.getProperty("jdk.httpclient.bufsize") == null) {
      System.setProperty("jdk.httpclient.bufsize", Integer.toString(PIECE));
    }
  }

  /** Of an answer to a request of this replica's own, in bytes; it is a description. */
  private static final int LONGEST_REPLY = 1 << 16;

  /** A longer body is sent when the owner has agreed to read it, so that refusals come through. */
  private static final int UNASKED = 1 << 16;

  /** Between two looks at whether the client is still there. */
  private static final Duration LOOK = Duration.ofMillis(50);

  /** What the owner gets beyond the deadline to say itself that it has passed. */
  private static final Duration GRACE = Duration.ofSeconds(2);

  private static final Duration RETRY = Duration.ofSeconds(1);

  private final ForwardSettings settings;
  private final String self;
  private final Metrics metrics;
  private final SharedLimit limit;
  private final HttpClient client;

  /**
   * @param tls verifies the certificates of the other replicas
   * @param self the id of this replica
   */
  public ReplicaClient(
      ForwardSettings settings, TenantShares shares, SSLContext tls, String self, Metrics metrics) {
    this.settings = settings;
    this.self = self;
    this.metrics = metrics;
    limit = new SharedLimit(settings.maxRequests(), shares);
    client =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .followRedirects(HttpClient.Redirect.NEVER)
            .connectTimeout(settings.connectTimeout())
            .sslContext(tls)
            .executor(Executors.newVirtualThreadPerTaskExecutor())
            .build();
  }

  /**
   * A request to a replica.
   *
   * @param account who is charged
   * @param method such as {@code GET}
   * @param target path and query
   * @param headers sets the headers that this client does not set
   * @param replica the id of the replica
   * @param url the URL of that replica
   * @param body null for none
   * @param length of the body in bytes; -1 if unknown
   * @param deadline of the client's request
   * @param clientHasGone whether the client has disconnected, which cancels the request
   */
  public record Outgoing(
      String account,
      String method,
      String target,
      Consumer<HttpRequest.Builder> headers,
      String replica,
      String url,
      @Nullable InputStream body,
      long length,
      Deadline deadline,
      BooleanSupplier clientHasGone) {}

  /**
   * The response to a request of this replica's own.
   *
   * @param body as text
   * @param etag empty for none
   */
  public record Reply(int status, String body, String etag) {}

  /** Reads a response. */
  public interface Receiver<T> {
    T take(HttpResponse<ResponseBody> answer) throws IOException, InterruptedException;
  }

  /**
   * Sends a request of this replica's own and reads the response, whatever its status.
   *
   * @throws Failure.Busy with {@code replica-unavailable} or {@code queue-full} if there is none
   * @throws IOException if the body of the request cannot be read
   */
  Reply ask(Outgoing outgoing) throws IOException {
    return send(outgoing, answer -> read(answer, outgoing));
  }

  /**
   * Sends a request and passes the response to a receiver.
   *
   * @throws Failure if there is no response
   * @throws IOException if the body of the request cannot be read or the receiver fails
   */
  public <T> T send(Outgoing outgoing, Receiver<T> receiver) throws IOException {
    try {
      if (!limit.tryAdd(outgoing.account(), 1)) {
        throw new Failure.Busy(
            Code.QUEUE_FULL,
            "Too many requests: %d of %d are being forwarded to other replicas (athanor.forward.max-requests), %d of them for this tenant (athanor.quota.share). Retry after %d s."
                .formatted(
                    limit.used(), limit.total(), limit.held(outgoing.account()), RETRY.toSeconds()),
            RETRY);
      }
      T taken;
      try {
        taken = exchange(outgoing, receiver);
      } finally {
        limit.remove(outgoing.account(), 1);
      }
      metrics.forwarded("answered");
      return taken;
    } catch (Failure e) {
      metrics.forwarded(e.code().text());
      throw e;
    } catch (IOException e) {
      metrics.forwarded(Code.CANCELLED.text());
      throw e;
    }
  }

  private <T> T exchange(Outgoing outgoing, Receiver<T> receiver) throws IOException {
    var body = outgoing.body() == null ? null : new RequestBody(outgoing.length());
    var answer = client.sendAsync(request(outgoing, body), _ -> new ResponseBody());
    boolean done = false;
    try {
      if (outgoing.body() != null && body != null) {
        send(outgoing, body, answer);
      }
      var taken = receiver.take(await(outgoing, answer));
      done = true;
      return taken;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw Failure.Busy.draining();
    } finally {
      if (!done) {
        answer.cancel(true); // which closes the connection, by which the owner learns of it
      }
    }
  }

  private HttpRequest request(Outgoing outgoing, @Nullable RequestBody body) {
    if (host(outgoing.url()) == null) { // such as 127.0.0.999, by a handle that nobody has made
      throw unavailable(outgoing, new ConnectException());
    }
    try {
      var builder = HttpRequest.newBuilder(URI.create(outgoing.url() + outgoing.target()));
      outgoing.headers().accept(builder);
      builder.setHeader(FORWARDED, self);
      var trace = Traces.response();
      if (trace != null) {
        builder.setHeader("traceparent", trace);
      }
      if (outgoing.deadline().isSet()) {
        outgoing.deadline().check();
        long left = TimeUnit.NANOSECONDS.toMillis(outgoing.deadline().remainingNanos());
        builder.setHeader("X-Deadline-Ms", Long.toString(Math.max(left, 1)));
      }
      if (body == null) {
        return builder.method(outgoing.method(), BodyPublishers.noBody()).build();
      }
      builder.expectContinue(outgoing.length() < 0 || outgoing.length() > UNASKED);
      return builder.method(outgoing.method(), body).build();
    } catch (IllegalArgumentException e) {
      throw new Failure.Refused(Code.MALFORMED_BODY, "the request is malformed");
    }
  }

  private static @Nullable String host(String url) {
    try {
      return URI.create(url).getHost();
    } catch (IllegalArgumentException e) {
      return null;
    }
  }

  /** Sends the body, unless the owner answers before its end. */
  private void send(
      Outgoing outgoing, RequestBody body, CompletableFuture<HttpResponse<ResponseBody>> answer)
      throws IOException, InterruptedException {
    var in = outgoing.body();
    var piece = new byte[PIECE];
    long idleSince = System.nanoTime();
    while (in != null && !answer.isDone()) {
      if (!body.isWanted(LOOK)) {
        checkTime(outgoing, idleSince, settings.idleTimeout());
        continue;
      }
      int count = in.read(piece, 0, PIECE);
      if (count < 0) {
        body.end();
        return;
      }
      body.send(Arrays.copyOf(piece, count));
      idleSince = System.nanoTime();
    }
  }

  /** Waits for the head of the answer while the client waits. */
  private HttpResponse<ResponseBody> await(
      Outgoing outgoing, CompletableFuture<HttpResponse<ResponseBody>> answer)
      throws InterruptedException {
    long since = System.nanoTime();
    while (true) {
      try {
        return answer.get(LOOK.toMillis(), TimeUnit.MILLISECONDS);
      } catch (TimeoutException _) {
        if (outgoing.clientHasGone().getAsBoolean()) {
          throw Failure.clientGone();
        }
        checkTime(outgoing, since, settings.answerTimeout());
      } catch (ExecutionException e) {
        throw unavailable(outgoing, e.getCause());
      }
    }
  }

  private static void checkTime(Outgoing outgoing, long since, Duration longest) {
    if (outgoing.deadline().remainingNanos() < -GRACE.toNanos()) {
      throw new Failure.DeadlineExceeded(outgoing.deadline());
    }
    if (System.nanoTime() - since > longest.toNanos()) {
      throw Failure.Busy.replicaUnavailable(
          outgoing.replica(),
          "did not answer for %d ms, and the request may have been carried out"
              .formatted(longest.toMillis()));
    }
  }

  private static Failure unavailable(Outgoing outgoing, @Nullable Throwable cause) {
    if (cause instanceof SSLHandshakeException) {
      return Failure.Busy.replicaUnavailable(
          outgoing.replica(),
          "failed the TLS handshake, and nothing was sent to it (athanor.forward.ssl-bundle must trust its certificate, which must name its host)");
    }
    boolean unsent =
        cause instanceof ConnectException || cause instanceof HttpConnectTimeoutException;
    return Failure.Busy.replicaUnavailable(
        outgoing.replica(),
        unsent
            ? "cannot be reached, and nothing was sent to it"
            : "broke the connection off before it answered, and the request may have been carried out");
  }

  /**
   * Returns the next piece of a response's body; empty at the end.
   *
   * @throws Failure.Busy with {@code replica-unavailable} if the replica sends no more
   */
  public List<ByteBuffer> next(ResponseBody body, Outgoing outgoing) throws InterruptedException {
    try {
      return body.next(settings.idleTimeout());
    } catch (IOException _) {
      throw Failure.Busy.replicaUnavailable(
          outgoing.replica(), "broke its answer off, and the request may have been carried out");
    }
  }

  private Reply read(HttpResponse<ResponseBody> answer, Outgoing outgoing)
      throws InterruptedException {
    var text = new ByteArrayOutputStream();
    try (var body = answer.body()) {
      if (!outgoing.method().equals("HEAD")) {
        var buffers = next(body, outgoing);
        while (!buffers.isEmpty() && text.size() <= LONGEST_REPLY) {
          for (var buffer : buffers) {
            var bytes = new byte[buffer.remaining()];
            buffer.get(bytes);
            text.writeBytes(bytes);
          }
          buffers = next(body, outgoing);
        }
      }
    }
    return new Reply(
        answer.statusCode(), text.toString(UTF_8), answer.headers().firstValue("ETag").orElse(""));
  }

  @Override
  public void close() {
    client.shutdownNow();
  }
}
