package dev.athanor.client;

import com.google.protobuf.Duration;
import dev.athanor.api.v1.CreateSessionRequest;
import dev.athanor.api.v1.DeleteModelRequest;
import dev.athanor.api.v1.DeleteSessionRequest;
import dev.athanor.api.v1.ForkSessionRequest;
import dev.athanor.api.v1.ListModelsRequest;
import dev.athanor.api.v1.ListSessionsRequest;
import dev.athanor.api.v1.ModelsGrpc;
import dev.athanor.api.v1.PutModelHeader;
import dev.athanor.api.v1.PutModelRequest;
import dev.athanor.api.v1.PutModelResponse;
import io.grpc.ManagedChannel;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/** Sends requests about stored models over gRPC. */
final class GrpcModels implements ModelTransport {

  private final GrpcTransport grpc;
  private final ManagedChannel channel;

  GrpcModels(GrpcTransport grpc, ManagedChannel channel) {
    this.grpc = grpc;
    this.channel = channel;
  }

  private ModelsGrpc.ModelsFutureStub stub(CallContext context) {
    return grpc.stub(ModelsGrpc.newFutureStub(channel), context);
  }

  /** Reads the whole file first; at most 2 GiB. */
  @Override
  public CompletableFuture<ModelInfo> store(String name, ModelFile file, CallContext context) {
    var header = PutModelHeader.newBuilder().setName(name).setContentType(file.contentType());
    var upload =
        new GrpcFutures.Upload<PutModelRequest, PutModelResponse, ModelInfo>(
            PutModelRequest.newBuilder().setHeader(header).build(),
            content(file),
            chunk -> PutModelRequest.newBuilder().setChunk(chunk).build(),
            answer -> Protos.model(answer.getModel()));
    Object unused = grpc.stub(ModelsGrpc.newStub(channel), context).put(upload);
    return upload.result;
  }

  private static ByteBuffer content(ModelFile file) {
    try (var body = file.open()) {
      return ByteBuffer.wrap(body.readAllBytes());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public CompletableFuture<List<ModelInfo>> list(CallContext context) {
    return GrpcFutures.unary(
        stub(context).list(ListModelsRequest.getDefaultInstance()),
        answer -> answer.getModelsList().stream().map(Protos::model).toList());
  }

  @Override
  public CompletableFuture<Map<String, Transport.Output>> run(
      String name,
      @Nullable String session,
      Map<String, Operand> inputs,
      Map<String, Transport.Target> targets,
      CallContext context) {
    return GrpcFutures.unary(
        stub(context).run(Protos.model(name, session, inputs, targets)),
        answer -> Protos.outputs(answer.getOutputsMap()));
  }

  @Override
  public CompletableFuture<String> delete(String name, CallContext context) {
    var request = DeleteModelRequest.newBuilder().setName(name).build();
    return GrpcFutures.unary(stub(context).delete(request), answer -> name);
  }

  @Override
  public CompletableFuture<SessionInfo> createSession(
      String model, @Nullable Long seconds, CallContext context) {
    var request = CreateSessionRequest.newBuilder().setModel(model);
    if (seconds != null) {
      request.setLease(Duration.newBuilder().setSeconds(seconds));
    }
    return GrpcFutures.unary(
        stub(context).createSession(request.build()),
        answer -> Protos.session(answer.getSession()));
  }

  @Override
  public CompletableFuture<SessionInfo> forkSession(
      String model, String session, CallContext context) {
    var request = ForkSessionRequest.newBuilder().setModel(model).setSession(session).build();
    return GrpcFutures.unary(
        stub(context).forkSession(request), answer -> Protos.session(answer.getSession()));
  }

  @Override
  public CompletableFuture<List<SessionInfo>> sessions(String model, CallContext context) {
    var request = ListSessionsRequest.newBuilder().setModel(model).build();
    return GrpcFutures.unary(
        stub(context).listSessions(request),
        answer -> answer.getSessionsList().stream().map(Protos::session).toList());
  }

  @Override
  public CompletableFuture<String> deleteSession(
      String model, String session, CallContext context) {
    var request = DeleteSessionRequest.newBuilder().setModel(model).setSession(session).build();
    return GrpcFutures.unary(stub(context).deleteSession(request), answer -> session);
  }

  @Override
  public CompletableFuture<Generation> generate(
      String model, GenerateRequest request, LongConsumer receiver, CallContext context) {
    var tokens = new GrpcTokens(receiver, grpc.url());
    grpc.stub(ModelsGrpc.newStub(channel), context)
        .generate(Protos.generate(model, request), tokens);
    return tokens.result;
  }
}
