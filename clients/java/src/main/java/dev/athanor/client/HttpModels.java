package dev.athanor.client;

import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/** Sends requests about stored models over HTTP. */
final class HttpModels implements ModelTransport {

  private final HttpTransport http;

  HttpModels(HttpTransport http) {
    this.http = http;
  }

  private HttpRequest.Builder request(String path, CallContext context) {
    return http.request("/models" + path, Map.of(), context);
  }

  @Override
  public CompletableFuture<ModelInfo> store(String name, ModelFile file, CallContext context) {
    var body = BodyPublishers.ofInputStream(file::open);
    var request =
        request("/" + name, context)
            .header("Content-Type", file.contentType())
            .PUT(file.bytes() > 0 ? BodyPublishers.fromPublisher(body, file.bytes()) : body);
    return http.send(request, Json::model);
  }

  @Override
  public CompletableFuture<List<ModelInfo>> list(CallContext context) {
    return http.send(request("", context), Json::models);
  }

  @Override
  public CompletableFuture<Map<String, Transport.Output>> run(
      String name,
      @Nullable String session,
      Map<String, Operand> inputs,
      Map<String, Transport.Target> targets,
      CallContext context) {
    var request =
        request("/%s/run".formatted(name), context)
            .header("Content-Type", HttpTransport.JSON)
            .POST(Bodies.of(List.of(Json.model(session, inputs, targets))));
    return http.send(request, Json::outputs);
  }

  @Override
  public CompletableFuture<String> delete(String name, CallContext context) {
    return http.send(request("/" + name, context).DELETE(), answer -> name);
  }

  @Override
  public CompletableFuture<SessionInfo> createSession(
      String model, @Nullable Long seconds, CallContext context) {
    var query = new LinkedHashMap<String, String>();
    HttpTransport.put(query, "ttlSeconds", seconds);
    var request = http.request("/models/%s/sessions".formatted(model), query, context);
    return http.send(request.POST(BodyPublishers.noBody()), Json::session);
  }

  @Override
  public CompletableFuture<SessionInfo> forkSession(
      String model, String session, CallContext context) {
    var request = request("/%s/sessions/%s/fork".formatted(model, session), context);
    return http.send(request.POST(BodyPublishers.noBody()), Json::session);
  }

  @Override
  public CompletableFuture<List<SessionInfo>> sessions(String model, CallContext context) {
    return http.send(request("/%s/sessions".formatted(model), context), Json::sessions);
  }

  @Override
  public CompletableFuture<String> deleteSession(
      String model, String session, CallContext context) {
    var request = request("/%s/sessions/%s".formatted(model, session), context);
    return http.send(request.DELETE(), answer -> session);
  }

  /** Always asks for events: after the first, a failure is not retried. */
  @Override
  public CompletableFuture<Generation> generate(
      String model, GenerateRequest request, LongConsumer receiver, CallContext context) {
    var events = new TokenEvents(receiver);
    var sent =
        request("/%s/generate".formatted(model), context)
            .header("Content-Type", HttpTransport.JSON)
            .header("Accept", "text/event-stream")
            .POST(Bodies.of(List.of(Json.generate(request))));
    return http.send(
        sent,
        info -> info.statusCode() < 300 ? events : Bodies.toBuffer().apply(info),
        response -> Json.generation(events.tokens(), response.body()));
  }
}
