package dev.athanor.client;

import com.google.protobuf.Duration;
import dev.athanor.api.inference.GRPCInferenceServiceGrpc;
import dev.athanor.api.inference.ServerMetadataRequest;
import dev.athanor.api.inference.ServerMetadataResponse;
import dev.athanor.api.v1.DeleteRequest;
import dev.athanor.api.v1.DescribeRequest;
import dev.athanor.api.v1.GetRequest;
import dev.athanor.api.v1.ListOpsRequest;
import dev.athanor.api.v1.ListRequest;
import dev.athanor.api.v1.NamedTensor;
import dev.athanor.api.v1.NewTensor;
import dev.athanor.api.v1.OpsGrpc;
import dev.athanor.api.v1.PutHeader;
import dev.athanor.api.v1.PutRequest;
import dev.athanor.api.v1.PutResponse;
import dev.athanor.api.v1.RenewRequest;
import dev.athanor.api.v1.Replacement;
import dev.athanor.api.v1.RunResponse;
import dev.athanor.api.v1.TensorsGrpc;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.AbstractStub;
import io.grpc.stub.MetadataUtils;
import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.ApplicationProtocolConfig.Protocol;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectedListenerFailureBehavior;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectorFailureBehavior;
import io.netty.handler.ssl.ApplicationProtocolNames;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.IdentityCipherSuiteFilter;
import io.netty.handler.ssl.JdkSslContext;
import java.net.URI;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/** Sends requests over gRPC. Tensors are uploaded and downloaded as streams of chunks. */
final class GrpcTransport implements Transport {

  private static final int DEFAULT_PORT = 9090;

  private final String url;
  private final AthanorBuilder settings;
  private final ManagedChannel channel;
  private final ModelTransport models;

  GrpcTransport(URI url, AthanorBuilder settings) {
    this.url = url.toString();
    this.settings = settings;
    int port = url.getPort() < 0 ? DEFAULT_PORT : url.getPort();
    var builder =
        NettyChannelBuilder.forAddress(url.getHost(), port)
            .maxInboundMessageSize(Integer.MAX_VALUE)
            // Finds lost connections of streams, which have no deadline; servers permit a ping
            // every 5 minutes.
            .keepAliveTime(6, TimeUnit.MINUTES)
            // Attempts retries calls; it knows which ones are safe to repeat.
            .disableRetry();
    if ("grpc".equals(url.getScheme())) {
      builder.usePlaintext();
    } else if (settings.sslContext != null) {
      builder.sslContext(netty(settings.sslContext));
    }
    channel = builder.build();
    models = new GrpcModels(this, channel);
  }

  @Override
  public String url() {
    return url;
  }

  private static JdkSslContext netty(SSLContext context) {
    return new JdkSslContext(
        context,
        true,
        null,
        IdentityCipherSuiteFilter.INSTANCE,
        new ApplicationProtocolConfig(
            Protocol.ALPN,
            SelectorFailureBehavior.NO_ADVERTISE,
            SelectedListenerFailureBehavior.ACCEPT,
            ApplicationProtocolNames.HTTP_2),
        ClientAuth.NONE,
        null,
        false);
  }

  @Override
  public CompletableFuture<Map<String, Output>> run(
      OpCall call, Map<String, Target> targets, CallContext context) {
    return GrpcFutures.unary(
        operations(context).run(Protos.run(call, targets, context.idempotencyKey())),
        answer -> outputs(call, answer));
  }

  /** Returns the outputs of a call, after its receivers were told of its timing and execution. */
  static Map<String, Output> outputs(OpCall call, RunResponse answer) {
    if (answer.hasTiming()) {
      call.timing().accept(Protos.timing(answer.getTiming()));
    }
    var receiver = call.execution();
    if (receiver != null) {
      receiver.accept(new Execution(answer.getDevice(), answer.getKernel()));
    }
    return Protos.outputs(answer.getOutputsMap());
  }

  @Override
  public RunStream stream(Session session) {
    var stream = new RunStream(session, url);
    Object unused = stub(OpsGrpc.newStub(channel), 0).runStream(stream);
    return stream;
  }

  @Override
  public CompletableFuture<Map<String, Output>> run(Program program, CallContext context) {
    return GrpcFutures.unary(
        operations(context).runPipeline(Protos.pipeline(program, context.idempotencyKey())),
        answer -> Protos.outputs(answer.getOutputsMap()));
  }

  @Override
  public CompletableFuture<TensorInfo> create(
      HostTensor values, UploadOptions options, CallContext context) {
    var tensor = NewTensor.newBuilder();
    if (options.name != null) {
      tensor.setName(options.name);
    }
    if (options.scope != null) {
      tensor.setScope(options.scope);
    }
    if (options.device != null) {
      tensor.setDevice(options.device);
    }
    if (options.lease != null) {
      tensor.setLease(Duration.newBuilder().setSeconds(options.lease.toSeconds()));
    }
    if (context.idempotencyKey() != null) {
      tensor.setIdempotencyKey(context.idempotencyKey());
    }
    return put(header(values).setCreate(tensor), values, context);
  }

  @Override
  public CompletableFuture<TensorInfo> store(
      String name, HostTensor values, StoreOptions options, CallContext context) {
    var tensor = NamedTensor.newBuilder().setName(name);
    if (options.replicas == StoreOptions.ALL) {
      tensor.setAllReplicas(true);
    } else {
      tensor.setReplicas(options.replicas);
    }
    if (options.scope != null) {
      tensor.setScope(options.scope);
    }
    if (options.device != null) {
      tensor.setDevice(options.device);
    }
    if (options.lease != null) {
      tensor.setLease(Duration.newBuilder().setSeconds(options.lease.toSeconds()));
    }
    return put(header(values).setStore(tensor), values, context);
  }

  @Override
  public CompletableFuture<TensorInfo> replace(
      String handle, HostTensor values, @Nullable Long version, CallContext context) {
    var replacement = Replacement.newBuilder().setHandle(handle);
    if (version != null) {
      replacement.setVersion(version);
    }
    return put(header(values).setReplace(replacement), values, context);
  }

  private static PutHeader.Builder header(HostTensor values) {
    return PutHeader.newBuilder().setDtype(values.dtype().text()).addAllShape(values.shape());
  }

  private CompletableFuture<TensorInfo> put(
      PutHeader.Builder header, HostTensor values, CallContext context) {
    var upload =
        new GrpcFutures.Upload<PutRequest, PutResponse, TensorInfo>(
            PutRequest.newBuilder().setHeader(header).build(),
            values.buffer(),
            chunk -> PutRequest.newBuilder().setChunk(chunk).build(),
            answer -> Protos.tensor(answer.getTensor()));
    Object unused = stub(TensorsGrpc.newStub(channel), context).put(upload);
    return upload.result;
  }

  @Override
  public CompletableFuture<ByteBuffer> read(
      String handle, long offset, ByteBuffer target, CallContext context) {
    var request =
        GetRequest.newBuilder()
            .setHandle(handle)
            .setOffset(offset)
            .setLength(target.remaining())
            .build();
    var download = new GrpcFutures.Download(target);
    stub(TensorsGrpc.newStub(channel), context).get(request, download);
    return download.result;
  }

  @Override
  public CompletableFuture<TensorInfo> describe(String handle, CallContext context) {
    var request = DescribeRequest.newBuilder().setHandle(handle).build();
    return GrpcFutures.unary(
        tensors(context).describe(request), answer -> Protos.tensor(answer.getTensor()));
  }

  @Override
  public CompletableFuture<TensorInfo> renew(String handle, long seconds, CallContext context) {
    var request =
        RenewRequest.newBuilder()
            .setHandle(handle)
            .setLease(Duration.newBuilder().setSeconds(seconds))
            .build();
    return GrpcFutures.unary(
        tensors(context).renew(request), answer -> Protos.tensor(answer.getTensor()));
  }

  @Override
  public CompletableFuture<String> delete(String handle, CallContext context) {
    var request = DeleteRequest.newBuilder().setHandle(handle).build();
    return GrpcFutures.unary(tensors(context).delete(request), answer -> handle);
  }

  @Override
  public CompletableFuture<String> deleteScope(String scope, CallContext context) {
    var request = DeleteRequest.newBuilder().setScope(scope).build();
    return GrpcFutures.unary(tensors(context).delete(request), answer -> scope);
  }

  @Override
  public CompletableFuture<Page> list(
      @Nullable String after, @Nullable String scope, CallContext context) {
    var request = ListRequest.newBuilder();
    if (after != null) {
      request.setAfter(after);
    }
    if (scope != null) {
      request.setScope(scope);
    }
    return GrpcFutures.unary(
        tensors(context).list(request.build()),
        answer ->
            new Page(
                answer.getTensorsList().stream().map(Protos::tensor).toList(),
                answer.hasNext() ? Optional.of(answer.getNext()) : Optional.empty()));
  }

  @Override
  public CompletableFuture<List<OpDescription>> ops(CallContext context) {
    return GrpcFutures.unary(
        operations(context).list(ListOpsRequest.getDefaultInstance()),
        answer -> answer.getOpsList().stream().map(Protos::op).toList());
  }

  @Override
  public ModelTransport models() {
    return models;
  }

  @Override
  public CompletableFuture<List<DeviceInfo>> devices(CallContext context) {
    throw needsHttp("devices");
  }

  @Override
  public CompletableFuture<String> metrics(CallContext context) {
    throw needsHttp("metrics");
  }

  private static UnsupportedOperationException needsHttp(String what) {
    return new UnsupportedOperationException(
        "The service reports its %s over HTTP only; connect to its http:// or https:// URL."
            .formatted(what));
  }

  @Override
  public CompletableFuture<String> version(CallContext context) {
    var inference = stub(GRPCInferenceServiceGrpc.newFutureStub(channel), context);
    return GrpcFutures.unary(
        inference.serverMetadata(ServerMetadataRequest.getDefaultInstance()),
        ServerMetadataResponse::getVersion);
  }

  @Override
  public CompletableFuture<Boolean> ready(CallContext context) {
    var health = stub(HealthGrpc.newFutureStub(channel), context);
    return GrpcFutures.unary(
        health.check(HealthCheckRequest.getDefaultInstance()),
        answer -> answer.getStatus() == ServingStatus.SERVING);
  }

  private OpsGrpc.OpsFutureStub operations(CallContext context) {
    return stub(OpsGrpc.newFutureStub(channel), context);
  }

  private TensorsGrpc.TensorsFutureStub tensors(CallContext context) {
    return stub(TensorsGrpc.newFutureStub(channel), context);
  }

  <S extends AbstractStub<S>> S stub(S stub, CallContext context) {
    return stub(stub, context.priority())
        .withDeadlineAfter(Math.max(1, context.remainingNanos()), TimeUnit.NANOSECONDS);
  }

  private <S extends AbstractStub<S>> S stub(S stub, int priority) {
    var metadata = new Metadata();
    settings.headers().forEach((name, value) -> put(metadata, name, value));
    if (priority != 0) {
      put(metadata, "x-priority", Integer.toString(priority));
    }
    return stub.withInterceptors(MetadataUtils.newAttachHeadersInterceptor(metadata));
  }

  private static void put(Metadata metadata, String name, String value) {
    var key = Metadata.Key.of(name.toLowerCase(Locale.ROOT), Metadata.ASCII_STRING_MARSHALLER);
    metadata.put(key, value);
  }

  @Override
  public void close() {
    channel.shutdown();
    try {
      if (!channel.awaitTermination(1, TimeUnit.SECONDS)) {
        channel.shutdownNow();
      }
    } catch (InterruptedException e) {
      channel.shutdownNow();
      Thread.currentThread().interrupt();
    }
  }
}
