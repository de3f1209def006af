package dev.athanor.client;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongConsumer;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The calls of a client about stored models. */
final class ModelCalls {

  /** A name, or with its version. */
  private static final Pattern MODEL =
      Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,63}(@\\d{1,18})?");

  private static final Pattern SESSION = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]*");

  /** Calls that change a session, or create one. */
  private static final Session.Call ONCE = new Session.Call(false, null, 0, null);

  private final Session client;

  ModelCalls(Session client) {
    this.client = client;
  }

  private static void requireModel(String name) {
    if (!MODEL.matcher(name).matches()) {
      throw new IllegalArgumentException(
          "The name is \"%s\"; a model's has 1 to 64 letters, digits, periods, hyphens and underscores, and begins with a letter or a digit."
              .formatted(name));
    }
  }

  private static void requireSession(String model, String id) {
    requireModel(model);
    if (!SESSION.matcher(id).matches()) {
      throw new IllegalArgumentException(
          "Invalid session ID \"%s\": IDs have letters, digits, periods, hyphens and underscores, and start with a letter or digit."
              .formatted(id));
    }
  }

  CompletableFuture<ModelInfo> store(String name, ModelFile file) {
    requireModel(name);
    return client.call(
        "storeModel",
        Session.Call.REPEATABLE,
        (to, context) -> to.models().store(name, file, context));
  }

  CompletableFuture<List<ModelInfo>> list() {
    return client.call(
        "models", Session.Call.REPEATABLE, (to, context) -> to.models().list(context));
  }

  CompletableFuture<Map<String, Tensor>> run(
      String name, @Nullable String session, Map<String, Operand> inputs, List<String> outputs) {
    requireModel(name);
    var targets = new LinkedHashMap<String, Transport.Target>();
    outputs.forEach(output -> targets.put(output, Transport.Target.KEEP));
    var run =
        client.call(
            "runModel",
            session == null ? Session.Call.REPEATABLE : ONCE,
            (to, context) -> to.models().run(name, session, inputs, targets, context));
    return Futures.map(
        Futures.keeping(inputs, run),
        results -> {
          var tensors = new LinkedHashMap<String, Tensor>();
          results.forEach(
              (output, kept) -> tensors.put(output, client.adopt(kept.onDevice(), null)));
          return tensors;
        });
  }

  CompletableFuture<String> delete(String name) {
    requireModel(name);
    return client.call(
        "deleteModel", Session.Call.REPEATABLE, (to, context) -> to.models().delete(name, context));
  }

  CompletableFuture<SessionInfo> createSession(String model, @Nullable Long seconds) {
    requireModel(model);
    return client.call(
        "createSession", ONCE, (to, context) -> to.models().createSession(model, seconds, context));
  }

  CompletableFuture<SessionInfo> forkSession(String model, String session) {
    requireSession(model, session);
    return client.call(
        "forkSession", ONCE, (to, context) -> to.models().forkSession(model, session, context));
  }

  CompletableFuture<List<SessionInfo>> sessions(String model) {
    requireModel(model);
    return client.call(
        "sessions", Session.Call.REPEATABLE, (to, context) -> to.models().sessions(model, context));
  }

  CompletableFuture<String> deleteSession(String model, String session) {
    requireSession(model, session);
    return client.call(
        "deleteSession",
        Session.Call.REPEATABLE,
        (to, context) -> to.models().deleteSession(model, session, context));
  }

  CompletableFuture<Generation> generate(
      String model, GenerateRequest request, LongConsumer receiver) {
    requireModel(model);
    return client.call(
        "generate",
        new Session.Call(false, request.deadline(), 0, null),
        (to, context) -> to.models().generate(model, request, receiver, context));
  }
}
