package dev.athanor.service.grpc;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.api.v1.ListOpsRequest;
import dev.athanor.api.v1.ListOpsResponse;
import dev.athanor.api.v1.OpDescription;
import dev.athanor.api.v1.OpsGrpc;
import dev.athanor.api.v1.RunRequest;
import dev.athanor.api.v1.RunResponse;
import dev.athanor.service.security.Caller;
import dev.athanor.service.security.Callers;
import dev.athanor.service.security.Credentials;
import dev.athanor.service.security.Rules;
import dev.athanor.service.security.Scope;
import dev.athanor.service.tensor.Tenant;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.InsecureServerCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerInterceptors;
import io.grpc.Status;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.grpc.server.exception.GrpcExceptionHandlerInterceptor;

/** Who may call, with services that tell whose tenant they are called for. */
class AccessTest {

  /** Knows two keys. */
  private static final class Keys implements Callers {
    @Override
    public Caller identify(Credentials credentials) {
      if (credentials.apiKey().equals(List.of("writer"))
          || credentials.authorization().equals(List.of("Bearer writer"))) {
        return new Caller("w", new Tenant("alpha"), Set.of(Scope.OPS_RUN));
      }
      if (credentials.apiKey().equals(List.of("reader"))) {
        return new Caller("r", new Tenant("beta"), Set.of(Scope.TENSORS_READ));
      }
      throw Callers.unauthenticated("this needs a key");
    }

    @Override
    public String challenge() {
      return Credentials.BEARER;
    }
  }

  private static final class Telling extends OpsGrpc.OpsImplBase {
    @Override
    public void list(ListOpsRequest request, StreamObserver<ListOpsResponse> answer) {
      Requests.answer(
          answer,
          () ->
              ListOpsResponse.newBuilder()
                  .addOps(OpDescription.newBuilder().setName(Requests.tenant().name()))
                  .build());
    }

    @Override
    public void run(RunRequest request, StreamObserver<RunResponse> answer) {
      Requests.answer(
          answer, () -> RunResponse.newBuilder().setOp(Requests.terms().tenant().name()).build());
    }
  }

  private static final class Healthy extends HealthGrpc.HealthImplBase {
    @Override
    public void check(HealthCheckRequest request, StreamObserver<HealthCheckResponse> answer) {
      Requests.answer(answer, HealthCheckResponse::getDefaultInstance);
    }
  }

  private @Nullable Server server;
  private @Nullable ManagedChannel channel;

  @BeforeEach
  void start() throws IOException {
    var failures = new GrpcExceptionHandlerInterceptor(Statuses::of);
    var access = new Access(new Keys(), new Rules(false));
    var started =
        NettyServerBuilder.forAddress(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                InsecureServerCredentials.create())
            .addService(ServerInterceptors.interceptForward(new Telling(), failures, access))
            .addService(ServerInterceptors.interceptForward(new Healthy(), failures, access))
            .build()
            .start();
    server = started;
    channel =
        Grpc.newChannelBuilderForAddress(
                "127.0.0.1", started.getPort(), InsecureChannelCredentials.create())
            .build();
  }

  @AfterEach
  void stop() {
    requireNonNull(channel).shutdownNow();
    requireNonNull(server).shutdownNow();
  }

  private OpsGrpc.OpsBlockingStub ops(String... metadata) {
    var headers = new Metadata();
    for (int i = 0; i < metadata.length; i += 2) {
      headers.put(
          Metadata.Key.of(metadata[i], Metadata.ASCII_STRING_MARSHALLER), metadata[i + 1]);
    }
    return OpsGrpc.newBlockingStub(requireNonNull(channel))
        .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers));
  }

  @Test
  void theCallersTenantIsServed() {
    var run = RunRequest.getDefaultInstance();
    assertThat(ops("x-api-key", "writer").run(run).getOp()).isEqualTo("alpha");
    assertThat(ops("authorization", "Bearer writer").run(run).getOp()).isEqualTo("alpha");
    assertThat(
            ops("x-api-key", "reader").list(ListOpsRequest.getDefaultInstance()).getOps(0).getName())
        .isEqualTo("beta");
  }

  @Test
  void whoeverIsNotKnownIsRefused() {
    for (var stub :
        new OpsGrpc.OpsBlockingStub[] {
          ops(), ops("x-api-key", "guess"), ops("x-api-key", "writer", "x-api-key", "writer")
        }) {
      GrpcTest.refusal(() -> stub.list(ListOpsRequest.getDefaultInstance()))
          .is(Status.Code.UNAUTHENTICATED, "unauthenticated", null, "this needs a key");
    }
  }

  @Test
  void whoeverLacksTheScopeIsRefused() {
    GrpcTest.refusal(() -> ops("x-api-key", "reader").run(RunRequest.getDefaultInstance()))
        .is(
            Status.Code.PERMISSION_DENIED,
            "forbidden",
            null,
            "this needs the scope ops:run, which the caller lacks");
  }

  @Test
  void probesNeedNoCaller() {
    assertThat(
            HealthGrpc.newBlockingStub(requireNonNull(channel))
                .check(HealthCheckRequest.getDefaultInstance())
                .isInitialized())
        .isTrue();
  }
}
