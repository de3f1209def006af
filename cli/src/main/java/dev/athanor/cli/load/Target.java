package dev.athanor.cli.load;

import dev.athanor.client.Athanor;
import dev.athanor.client.OpStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** The service under load. Closing it deletes the tensors that were uploaded. */
public final class Target implements AutoCloseable {

  static {
    // The default of 16 KiB per read would limit download throughput.
    if (System.getProperty("jdk.httpclient.bufsize") == null) {
      System.setProperty("jdk.httpclient.bufsize", Integer.toString(1 << 18));
    }
  }

  private static final Duration DEADLINE = Duration.ofMinutes(2);

  private final URI url;
  private final String grpcAddress;
  private final Map<String, String> headers;
  private final Athanor http;
  private @Nullable Athanor grpc;
  private @Nullable OpStream stream;
  private @Nullable HttpClient documents;

  /**
   * Creates a target without connecting to it.
   *
   * @param url the URL of the service, without a path
   * @param grpcAddress the plaintext gRPC address, as host:port
   * @param headers headers of every request
   */
  public Target(URI url, String grpcAddress, Map<String, String> headers) {
    this.url = url;
    this.grpcAddress = grpcAddress;
    this.headers = Map.copyOf(headers);
    http = client(url.toString());
  }

  /** Returns a client without retries, so that each request is measured. */
  private Athanor client(String address) {
    var builder = Athanor.builder(address).deadline(DEADLINE).maxRetries(0);
    headers.forEach(builder::header);
    return builder.build();
  }

  URI url() {
    return url;
  }

  /** The HTTP client. */
  public Athanor http() {
    return http;
  }

  /** The gRPC client. */
  synchronized Athanor grpc() {
    var client = grpc;
    if (client == null) {
      client = client("grpc://" + grpcAddress);
      grpc = client;
    }
    return client;
  }

  /** The stream of calls of the gRPC client. */
  synchronized OpStream stream() {
    var open = stream;
    if (open == null) {
      open = grpc().stream();
      stream = open;
    }
    return open;
  }

  private synchronized HttpClient documents() {
    var client = documents;
    if (client == null) {
      client =
          HttpClient.newBuilder()
              .version(HttpClient.Version.HTTP_1_1)
              .executor(Executors.newVirtualThreadPerTaskExecutor())
              .connectTimeout(Duration.ofSeconds(10))
              .build();
      documents = client;
    }
    return client;
  }

  /**
   * Prepares a request that accepts JSON.
   *
   * @param body a JSON document; null for none
   */
  JsonRequest json(String method, String path, byte @Nullable [] body) {
    var builder = HttpRequest.newBuilder(url.resolve(path)).timeout(DEADLINE);
    headers.forEach(builder::setHeader);
    builder.setHeader("Accept", JsonRequest.MEDIA);
    if (body != null) {
      builder.setHeader("Content-Type", JsonRequest.MEDIA);
    }
    var publisher = body == null ? BodyPublishers.noBody() : BodyPublishers.ofByteArray(body);
    return new JsonRequest(documents(), builder.method(method, publisher).build());
  }

  /**
   * Posts a JSON document and returns the response's.
   *
   * @throws LoadException if the request fails
   */
  public JsonNode post(String path, byte[] body) throws InterruptedException {
    return json("POST", path, body).expect();
  }

  @Override
  public synchronized void close() {
    if (stream != null) {
      stream.close();
    }
    if (grpc != null) {
      grpc.close();
    }
    if (documents != null) {
      documents.shutdownNow();
    }
    http.close();
  }
}
