package dev.athanor.client;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/** Sends single requests about stored models to one replica, as {@link Transport} does. */
interface ModelTransport {

  CompletableFuture<ModelInfo> store(String name, ModelFile file, CallContext context);

  CompletableFuture<List<ModelInfo>> list(CallContext context);

  /**
   * Runs a model.
   *
   * @param session the session whose state the call reads and updates; null for none
   */
  CompletableFuture<Map<String, Transport.Output>> run(
      String name,
      @Nullable String session,
      Map<String, Operand> inputs,
      Map<String, Transport.Target> targets,
      CallContext context);

  /** Deletes a model and returns its name. */
  CompletableFuture<String> delete(String name, CallContext context);

  /**
   * Creates a session.
   *
   * @param seconds the lease; 0 for none, null for the service's default
   */
  CompletableFuture<SessionInfo> createSession(
      String model, @Nullable Long seconds, CallContext context);

  CompletableFuture<SessionInfo> forkSession(String model, String session, CallContext context);

  CompletableFuture<List<SessionInfo>> sessions(String model, CallContext context);

  /** Deletes a session and returns its ID. */
  CompletableFuture<String> deleteSession(String model, String session, CallContext context);

  /** Generates tokens; the receiver gets each as it arrives. */
  CompletableFuture<Generation> generate(
      String model, GenerateRequest request, LongConsumer receiver, CallContext context);
}
