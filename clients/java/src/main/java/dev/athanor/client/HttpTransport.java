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

/** Sends requests over HTTP, with tensors in binary where the service supports it. */
final class HttpTransport implements Transport {

  static final String JSON = "application/json";
  private static final String SAFETENSORS = "application/x-safetensors";
  private static final String BYTES = "application/octet-stream";

  private final String url;
  private final AthanorBuilder settings;
  private final HttpClient http;
  private final ModelTransport models = new HttpModels(this);

  HttpTransport(URI url, AthanorBuilder settings) {
    this.url = url.toString().replaceAll("/+$", "");
    this.settings = settings;
    var builder =
        HttpClient.newBuilder()
            // In plaintext, HTTP/2 would start with an upgrade of the first request.
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
      OpCall call, Map<String, Target> targets, CallContext context) {
    boolean inline = targets.isEmpty();
    var host = Transport.hostInputs(call.inputs());
    boolean binary =
        !host.isEmpty()
            && host.values().stream().allMatch(Safetensors::canHold)
            && call.inputs().values().stream().noneMatch(TensorView.class::isInstance);
    var request =
        binary
            ? request("/ops/" + call.op(), arguments(call, targets), context)
                .header("Content-Type", SAFETENSORS)
                .POST(Bodies.of(Safetensors.encode(host)))
            : request("/ops/" + call.op(), Map.of(), context)
                .header("Content-Type", JSON)
                .POST(Bodies.of(List.of(Json.op(call, targets))));
    request.header("Accept", inline ? SAFETENSORS : JSON);
    addKey(request, context);
    return send(
        request,
        Bodies.toBuffer(),
        response -> {
          Timing.ofHeader(response.headers().firstValue("Server-Timing")).ifPresent(call.timing());
          var receiver = call.execution();
          if (receiver != null) {
            var body = response.body();
            receiver.accept(inline ? Safetensors.execution(body) : Json.execution(body));
          }
          return inline ? values(response.body()) : Json.outputs(response.body());
        });
  }

  /** Returns attributes, handles and targets as query parameters. */
  private static Map<String, String> arguments(OpCall call, Map<String, Target> targets) {
    var arguments = new LinkedHashMap<String, String>();
    call.inputs()
        .forEach((name, operand) -> {
          if (!(operand instanceof HostTensor)) {
            arguments.put(name, Session.handle(operand));
          }
        });
    call.attributes().forEach((name, value) -> arguments.put(name, argument(value)));
    targets.forEach((name, target) ->
        arguments.put(name, target.handle() == null ? "handle" : target.handle()));
    return arguments;
  }

  /** Returns the value of an attribute as a query parameter; a list as {@code 0,2}. */
  private static String argument(Object value) {
    return value instanceof List<?> list
        ? list.stream().map(String::valueOf).collect(Collectors.joining(","))
        : value.toString();
  }

  private static Map<String, Output> values(ByteBuffer answer) {
    var outputs = new LinkedHashMap<String, Output>();
    Safetensors.decode(answer)
        .forEach((name, tensor) -> outputs.put(name, new Output(tensor, null)));
    return outputs;
  }

  @Override
  public RunStream stream(Session session) {
    throw new UnsupportedOperationException(
        "A stream of calls needs gRPC; connect to the service's grpc:// or grpcs:// URL.");
  }

  @Override
  public CompletableFuture<Map<String, Output>> run(Program program, CallContext context) {
    var request =
        request("/pipelines/run", Map.of(), context)
            .header("Content-Type", JSON)
            .POST(Bodies.of(List.of(Json.pipeline(program))));
    addKey(request, context);
    return send(request, Json::outputs);
  }

  @Override
  public CompletableFuture<TensorInfo> create(
      HostTensor values, UploadOptions options, CallContext context) {
    var query = new LinkedHashMap<String, String>();
    query.put("dtype", values.dtype().text());
    query.put("shape", Shapes.text(values.shape()));
    put(query, "name", options.name);
    put(query, "scope", options.scope);
    put(query, "device", options.device);
    put(query, "ttlSeconds", options.lease == null ? null : options.lease.toSeconds());
    var request =
        request("/tensors", query, context)
            .header("Content-Type", BYTES)
            .POST(Bodies.of(List.of(values.buffer())));
    addKey(request, context);
    return send(request, Json::tensor);
  }

  private static void addKey(HttpRequest.Builder request, CallContext context) {
    if (context.idempotencyKey() != null) {
      request.header("Idempotency-Key", context.idempotencyKey());
    }
  }

  @Override
  public CompletableFuture<TensorInfo> store(
      String name, HostTensor values, StoreOptions options, CallContext context) {
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
        request("/tensors/" + name, query, context)
            .header("Content-Type", BYTES)
            .PUT(Bodies.of(List.of(values.buffer())));
    return send(request, Json::tensor);
  }

  static void put(Map<String, String> query, String name, @Nullable Object value) {
    if (value != null) {
      query.put(name, value.toString());
    }
  }

  @Override
  public CompletableFuture<TensorInfo> replace(
      String handle, HostTensor values, @Nullable Long version, CallContext context) {
    var request =
        request("/tensors/" + handle + "/data", Map.of(), context)
            .header("Content-Type", BYTES)
            .PUT(Bodies.of(List.of(values.buffer())));
    if (version != null) {
      request.header("If-Match", "\"%d\"".formatted(version));
    }
    return send(request, Json::tensor);
  }

  @Override
  public CompletableFuture<ByteBuffer> read(
      String handle, long offset, ByteBuffer target, CallContext context) {
    var request =
        request("/tensors/" + handle + "/data", Map.of(), context)
            .header("Accept", BYTES)
            .header("Range", "bytes=%d-%d".formatted(offset, offset + target.remaining() - 1));
    return send(request, Bodies.into(target), response -> target);
  }

  @Override
  public CompletableFuture<TensorInfo> describe(String handle, CallContext context) {
    return send(request("/tensors/" + handle, Map.of(), context), Json::tensor);
  }

  @Override
  public CompletableFuture<TensorInfo> renew(String handle, long seconds, CallContext context) {
    var request =
        request("/tensors/" + handle, Map.of(), context)
            .header("Content-Type", JSON)
            .method("PATCH", Bodies.of(List.of(Json.lease(seconds))));
    return send(request, Json::tensor);
  }

  @Override
  public CompletableFuture<String> delete(String handle, CallContext context) {
    return send(request("/tensors/" + handle, Map.of(), context).DELETE(), answer -> handle);
  }

  @Override
  public ModelTransport models() {
    return models;
  }

  @Override
  public CompletableFuture<String> deleteScope(String scope, CallContext context) {
    return send(request("/tensors", Map.of("scope", scope), context).DELETE(), answer -> scope);
  }

  @Override
  public CompletableFuture<Page> list(
      @Nullable String after, @Nullable String scope, CallContext context) {
    var query = new LinkedHashMap<String, String>();
    put(query, "after", after);
    put(query, "scope", scope);
    return send(request("/tensors", query, context), Json::page);
  }

  @Override
  public CompletableFuture<List<OpDescription>> ops(CallContext context) {
    return send(request("/ops", Map.of(), context), Json::ops);
  }

  @Override
  public CompletableFuture<List<DeviceInfo>> devices(CallContext context) {
    return send(request("/devices", Map.of(), context), Json::devices);
  }

  @Override
  public CompletableFuture<String> metrics(CallContext context) {
    var request = request("/metrics", Map.of(), context).header("Accept", "text/plain");
    return send(request, answer -> StandardCharsets.UTF_8.decode(answer).toString());
  }

  @Override
  public CompletableFuture<String> version(CallContext context) {
    return send(request("/v2", Map.of(), context), Json::version);
  }

  @Override
  public String url() {
    return url;
  }

  @Override
  public CompletableFuture<Boolean> ready(CallContext context) {
    var sent = http.sendAsync(request("/readyz", Map.of(), context).build(), Bodies.toBuffer());
    return Futures.map(sent, response -> response.statusCode() == 200);
  }

  HttpRequest.Builder request(String path, Map<String, String> query, CallContext context) {
    var text =
        query.entrySet().stream()
            .map(entry -> encode(entry.getKey()) + "=" + encode(entry.getValue()))
            .collect(Collectors.joining("&"));
    var request =
        HttpRequest.newBuilder(URI.create(url + path + (text.isEmpty() ? "" : "?" + text)))
            .header("X-Deadline-Ms", Long.toString(context.remainingMillis()));
    settings.headers().forEach(request::header);
    if (context.priority() != 0) {
      request.header("X-Priority", Integer.toString(context.priority()));
    }
    return request;
  }

  private static String encode(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }

  <R> CompletableFuture<R> send(HttpRequest.Builder request, Function<ByteBuffer, R> answer) {
    return send(request, Bodies.toBuffer(), response -> answer.apply(response.body()));
  }

  <R> CompletableFuture<R> send(
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

  /** Parses the delay in seconds; the service does not send dates. */
  private static @Nullable Duration retryAfter(HttpResponse<?> response) {
    return response
        .headers()
        .firstValue("Retry-After")
        .filter(text -> text.matches("\\d{1,9}"))
        .map(text -> Duration.ofSeconds(Long.parseLong(text)))
        .orElse(null);
  }

  /** Closes the HttpClient; before Java 21, it stops once it is unreachable. */
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
