package dev.athanor.client;

import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandler;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Sends requests over HTTP, and tensors in binary wherever the service takes them so. */
final class HttpTransport implements Transport {

  private static final String JSON = "application/json";
  private static final String SAFETENSORS = "application/x-safetensors";
  private static final String BYTES = "application/octet-stream";

  private final String url;
  private final AthanorBuilder settings;
  private final HttpClient http;

  HttpTransport(URI url, AthanorBuilder settings) {
    this.url = url.toString().replaceAll("/+$", "");
    this.settings = settings;
    var builder =
        HttpClient.newBuilder()
            // Over plain text, HTTP/2 would begin with an upgrade of every first request.
            .version(
                "https".equals(url.getScheme())
                    ? HttpClient.Version.HTTP_2
                    : HttpClient.Version.HTTP_1_1)
            .connectTimeout(settings.connectTimeout);
    if (settings.sslContext != null) {
      builder.sslContext(settings.sslContext);
    }
    http = builder.build();
  }

  @Override
  public CompletableFuture<Map<String, Output>> run(
      OpCall call, Map<String, Target> targets, Terms terms) {
    boolean inline = targets.isEmpty();
    var host = Transport.hostInputs(call.inputs());
    boolean binary =
        !host.isEmpty()
            && host.values().stream().allMatch(Safetensors::canHold)
            && call.inputs().values().stream().noneMatch(Reshaped.class::isInstance);
    var request =
        binary
            ? request("/ops/" + call.op(), arguments(call, targets), terms)
                .header("Content-Type", SAFETENSORS)
                .POST(Bodies.of(Safetensors.encode(host)))
            : request("/ops/" + call.op(), Map.of(), terms)
                .header("Content-Type", JSON)
                .POST(Bodies.of(List.of(Json.op(call, targets))));
    request.header("Accept", inline ? SAFETENSORS : JSON);
    addKey(request, terms);
    return send(
        request,
        Bodies.toBuffer(),
        response -> {
          Timing.ofHeader(response.headers().firstValue("Server-Timing")).ifPresent(call.timing());
          return inline ? values(response.body()) : Json.outputs(response.body());
        });
  }

  /** Attributes, handles and targets as query parameters. */
  private static Map<String, String> arguments(OpCall call, Map<String, Target> targets) {
    var arguments = new LinkedHashMap<String, String>();
    call.inputs()
        .forEach((name, operand) -> {
          if (!(operand instanceof HostTensor)) {
            arguments.put(name, Session.handle(operand));
          }
        });
    call.attributes().forEach((name, value) -> arguments.put(name, value.toString()));
    targets.forEach((name, target) ->
        arguments.put(name, target.handle() == null ? "handle" : target.handle()));
    return arguments;
  }

  private static Map<String, Output> values(ByteBuffer answer) {
    var outputs = new LinkedHashMap<String, Output>();
    Safetensors.decode(answer)
        .forEach((name, tensor) -> outputs.put(name, new Output(tensor, null)));
    return outputs;
  }

  @Override
  public CompletableFuture<Map<String, Output>> run(Program program, Terms terms) {
    var request =
        request("/pipelines/run", Map.of(), terms)
            .header("Content-Type", JSON)
            .POST(Bodies.of(List.of(Json.pipeline(program))));
    return send(request, Json::outputs);
  }

  @Override
  public CompletableFuture<TensorInfo> create(
      HostTensor values, UploadOptions options, Terms terms) {
    var query = new LinkedHashMap<String, String>();
    query.put("dtype", values.dtype().text());
    query.put("shape", Shapes.text(values.shape()));
    put(query, "name", options.name);
    put(query, "scope", options.scope);
    put(query, "device", options.device);
    put(query, "ttlSeconds", options.lease == null ? null : options.lease.toSeconds());
    var request =
        request("/tensors", query, terms)
            .header("Content-Type", BYTES)
            .POST(Bodies.of(List.of(values.buffer())));
    addKey(request, terms);
    return send(request, Json::tensor);
  }

  private static void addKey(HttpRequest.Builder request, Terms terms) {
    if (terms.idempotencyKey() != null) {
      request.header("Idempotency-Key", terms.idempotencyKey());
    }
  }

  @Override
  public CompletableFuture<TensorInfo> store(
      String name, HostTensor values, StoreOptions options, Terms terms) {
    var query = new LinkedHashMap<String, String>();
    query.put("dtype", values.dtype().text());
    query.put("shape", Shapes.text(values.shape()));
    query.put(
        "replicas",
        options.replicas == StoreOptions.ALL ? "all" : Integer.toString(options.replicas));
    put(query, "scope", options.scope);
    put(query, "device", options.device);
    put(query, "ttlSeconds", options.lease == null ? null : options.lease.toSeconds());
    var request =
        request("/tensors/" + name, query, terms)
            .header("Content-Type", BYTES)
            .PUT(Bodies.of(List.of(values.buffer())));
    return send(request, Json::tensor);
  }

  private static void put(Map<String, String> query, String name, @Nullable Object value) {
    if (value != null) {
      query.put(name, value.toString());
    }
  }

  @Override
  public CompletableFuture<TensorInfo> replace(
      String handle, HostTensor values, @Nullable Long version, Terms terms) {
    var request =
        request("/tensors/" + handle + "/data", Map.of(), terms)
            .header("Content-Type", BYTES)
            .PUT(Bodies.of(List.of(values.buffer())));
    if (version != null) {
      request.header("If-Match", "\"%d\"".formatted(version));
    }
    return send(request, Json::tensor);
  }

  @Override
  public CompletableFuture<ByteBuffer> read(
      String handle, long offset, ByteBuffer target, Terms terms) {
    var request =
        request("/tensors/" + handle + "/data", Map.of(), terms)
            .header("Accept", BYTES)
            .header("Range", "bytes=%d-%d".formatted(offset, offset + target.remaining() - 1));
    return send(request, Bodies.into(target), response -> target);
  }

  @Override
  public CompletableFuture<TensorInfo> describe(String handle, Terms terms) {
    return send(request("/tensors/" + handle, Map.of(), terms), Json::tensor);
  }

  @Override
  public CompletableFuture<TensorInfo> renew(String handle, long seconds, Terms terms) {
    var request =
        request("/tensors/" + handle, Map.of(), terms)
            .header("Content-Type", JSON)
            .method("PATCH", Bodies.of(List.of(Json.lease(seconds))));
    return send(request, Json::tensor);
  }

  @Override
  public CompletableFuture<String> delete(String handle, Terms terms) {
    return send(request("/tensors/" + handle, Map.of(), terms).DELETE(), answer -> handle);
  }

  @Override
  public CompletableFuture<String> deleteScope(String scope, Terms terms) {
    return send(request("/tensors", Map.of("scope", scope), terms).DELETE(), answer -> scope);
  }

  @Override
  public CompletableFuture<Page> list(@Nullable String after, @Nullable String scope, Terms terms) {
    var query = new LinkedHashMap<String, String>();
    put(query, "after", after);
    put(query, "scope", scope);
    return send(request("/tensors", query, terms), Json::page);
  }

  @Override
  public CompletableFuture<List<OpDescription>> ops(Terms terms) {
    return send(request("/ops", Map.of(), terms), Json::ops);
  }

  @Override
  public CompletableFuture<Boolean> ready(Terms terms) {
    var sent = http.sendAsync(request("/readyz", Map.of(), terms).build(), Bodies.toBuffer());
    return Futures.map(sent, response -> response.statusCode() == 200);
  }

  private HttpRequest.Builder request(String path, Map<String, String> query, Terms terms) {
    var text =
        query.entrySet().stream()
            .map(entry -> encode(entry.getKey()) + "=" + encode(entry.getValue()))
            .collect(Collectors.joining("&"));
    var request =
        HttpRequest.newBuilder(URI.create(url + path + (text.isEmpty() ? "" : "?" + text)))
            .header("X-Deadline-Ms", Long.toString(terms.remainingMillis()));
    settings.headers().forEach(request::header);
    if (terms.priority() != 0) {
      request.header("X-Priority", Integer.toString(terms.priority()));
    }
    return request;
  }

  private static String encode(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }

  private <R> CompletableFuture<R> send(
      HttpRequest.Builder request, Function<ByteBuffer, R> answer) {
    return send(request, Bodies.toBuffer(), response -> answer.apply(response.body()));
  }

  private <R> CompletableFuture<R> send(
      HttpRequest.Builder request,
      BodyHandler<ByteBuffer> handler,
      Function<HttpResponse<ByteBuffer>, R> answer) {
    return Futures.map(
        http.sendAsync(request.build(), handler),
        response -> {
          if (response.statusCode() >= 300) {
            throw new AthanorException(
                Json.problem(response.statusCode(), response.body(), retryAfter(response)), null);
          }
          return answer.apply(response);
        });
  }

  /** Reads seconds; the other form, a date, is for caches. */
  private static @Nullable Duration retryAfter(HttpResponse<?> response) {
    return response
        .headers()
        .firstValue("Retry-After")
        .filter(text -> text.matches("\\d{1,9}"))
        .map(text -> Duration.ofSeconds(Long.parseLong(text)))
        .orElse(null);
  }

  /** Before Java 21, an unreachable HttpClient ends by itself. */
  @Override
  public void close() {
    if (http instanceof AutoCloseable closeable) {
      try {
        closeable.close();
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    }
  }
}
