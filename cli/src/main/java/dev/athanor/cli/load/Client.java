package dev.athanor.cli.load;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodySubscribers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Sends requests to one service, by REST and its own gRPC, and takes the answers apart. */
public final class Client implements AutoCloseable {

  static {
    // Reads of 16 KiB, the default, would limit what is read from the service.
    if (System.getProperty("jdk.httpclient.bufsize") == null) {
      System.setProperty("jdk.httpclient.bufsize", Integer.toString(1 << 18));
    }
  }

  private static final Duration LONGEST = Duration.ofMinutes(2);
  private static final byte[] NOTHING = {};
  private static final Pattern PROBLEM = Pattern.compile("\"urn:athanor:problem:([a-z-]+)\"");
  private static final Pattern PHASE = Pattern.compile("([a-z]+);dur=([0-9.]+)");

  private final HttpClient http =
      HttpClient.newBuilder()
          .version(HttpClient.Version.HTTP_1_1)
          .executor(Executors.newVirtualThreadPerTaskExecutor())
          .connectTimeout(Duration.ofSeconds(10))
          .build();
  private final URI url;
  private final Map<String, String> headers;
  private final GrpcClient grpc;

  /**
   * @param url where the service is, without a path
   * @param grpc where it speaks gRPC in plain text: host:port
   * @param headers that every request carries
   */
  public Client(URI url, String grpc, Map<String, String> headers) {
    this.url = url;
    this.headers = Map.copyOf(headers);
    this.grpc = new GrpcClient(grpc, this.headers);
  }

  GrpcClient grpc() {
    return grpc;
  }

  /**
   * What the service answered.
   *
   * @param body of a refusal, or of an answer that was to be kept; else empty
   * @param phases how long the parts took of what the service did, in nanoseconds
   * @param retryAfter in seconds
   * @param problem the code of a refusal; empty when it is none
   */
  @SuppressWarnings("ArrayRecordComponent") // read once, never compared
  record Answer(
      byte[] body,
      Map<String, Long> phases,
      Optional<String> retryAfter,
      Optional<String> problem) {}

  /** A request that can be sent many times. */
  HttpRequest request(String method, String path, String type, @Nullable Body body) {
    BodyPublisher publisher = body == null ? BodyPublishers.noBody() : body;
    var builder = HttpRequest.newBuilder(url.resolve(path)).timeout(LONGEST);
    headers.forEach(builder::setHeader);
    if (body != null) {
      builder.setHeader("Content-Type", type);
    } else if (!type.isEmpty()) {
      builder.setHeader("Accept", type);
    }
    return builder.method(method, publisher).build();
  }

  /**
   * Sends a request.
   *
   * @param keep whether the body of the answer is wanted, and not only to be read
   */
  Answer send(HttpRequest request, boolean keep) throws IOException, InterruptedException {
    var response = answer(request, keep);
    return new Answer(
        response.body(),
        response.headers().firstValue("Server-Timing").map(Client::phases).orElse(Map.of()),
        response.headers().firstValue("Retry-After"),
        response.statusCode() < 300 ? Optional.empty() : Optional.of(problem(response)));
  }

  private HttpResponse<byte[]> answer(HttpRequest request, boolean keep)
      throws IOException, InterruptedException {
    return http.send(
        request,
        info ->
            keep || info.statusCode() >= 300
                ? BodySubscribers.ofByteArray()
                : BodySubscribers.replacing(NOTHING));
  }

  /** {@code Server-Timing} is in milliseconds. */
  private static Map<String, Long> phases(String text) {
    return PHASE
        .matcher(text)
        .results()
        .collect(
            Collectors.toMap(
                phase -> phase.group(1),
                phase -> Math.round(Double.parseDouble(phase.group(2)) * 1e6),
                Long::sum));
  }

  private static String problem(HttpResponse<byte[]> response) {
    var code = PROBLEM.matcher(text(response.body()));
    return code.find() ? code.group(1) : "http-" + response.statusCode();
  }

  private static String text(byte[] body) {
    return new String(body, StandardCharsets.UTF_8);
  }

  /**
   * Sends a request that a scenario cannot do without.
   *
   * @throws LoadException when it is refused or nobody answers
   */
  byte[] expect(HttpRequest request) throws InterruptedException {
    try {
      var answer = answer(request, true);
      if (answer.statusCode() >= 300) {
        throw new LoadException(
            "%s %s was answered with %d: %s"
                .formatted(
                    request.method(),
                    request.uri(),
                    answer.statusCode(),
                    text(answer.body()).strip()));
      }
      return answer.body();
    } catch (IOException e) {
      throw new LoadException("%s does not answer: %s".formatted(url, e));
    }
  }

  /**
   * Deletes tensors; what cannot be deleted ends with its lease.
   *
   * @throws InterruptedException when the thread is to stop
   */
  void delete(List<String> handles) throws InterruptedException {
    for (var handle : handles) {
      try {
        var _ = send(request("DELETE", "/tensors/" + handle, "", null), false);
      } catch (IOException e) {
        return;
      }
    }
  }

  @Override
  public void close() {
    http.shutdownNow();
    grpc.close();
  }
}
