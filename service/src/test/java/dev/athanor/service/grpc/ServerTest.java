package dev.athanor.service.grpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.common.util.concurrent.ListenableFuture;
import com.google.protobuf.ByteString;
import dev.athanor.api.v1.InputTensor;
import dev.athanor.api.v1.ListOpsRequest;
import dev.athanor.api.v1.OpsGrpc;
import dev.athanor.api.v1.RunRequest;
import dev.athanor.api.v1.RunResponse;
import dev.athanor.api.v1.TensorData;
import dev.athanor.service.device.DeviceHealth;
import dev.athanor.service.security.Rules;
import dev.athanor.service.stream.Drain;
import io.grpc.BindableService;
import io.grpc.CallOptions;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.reflection.v1.ServerReflectionGrpc;
import io.grpc.reflection.v1.ServerReflectionRequest;
import io.grpc.reflection.v1.ServerReflectionResponse;
import io.grpc.reflection.v1.ServiceResponse;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.annotation.Autowired;

/** Tests health, reflection, and hostile clients. */
class ServerTest extends GrpcTest {

  @Autowired DeviceHealth health;
  @Autowired Drain drain;
  @Autowired Rules rules;
  @Autowired List<BindableService> services;

  private byte[] call(String method, byte[] message) {
    return ClientCalls.blockingUnaryCall(
        channel(), RawMessages.unary(method), CallOptions.DEFAULT, message);
  }

  private ServingStatus check(String service) {
    return HealthGrpc.newBlockingStub(channel())
        .check(HealthCheckRequest.newBuilder().setService(service).build())
        .getStatus();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", "athanor.v1.Ops", "athanor.v1.Tensors", "inference.GRPCInferenceService"})
  void healthReportsReadiness(String service) {
    assertThat(health.isReady()).isTrue();
    assertThat(check(service)).isEqualTo(ServingStatus.SERVING);
    var watched =
        HealthGrpc.newBlockingStub(channel())
            .watch(HealthCheckRequest.newBuilder().setService(service).build());
    assertThat(watched.next().getStatus()).isEqualTo(ServingStatus.SERVING);
  }

  /** Clients must get the error that the service is draining, and not a broken connection. */
  @Test
  void serverStopsAfterTheDrain() {
    assertThat(server.getPhase()).isLessThan(drain.getPhase());
  }

  @Test
  void everyRpcHasARule() {
    var methods =
        services.stream()
            .flatMap(service -> service.bindService().getServiceDescriptor().getMethods().stream())
            .map(MethodDescriptor::getFullMethodName)
            .toList();
    assertThat(methods).hasSizeGreaterThan(15).contains("athanor.v1.Ops/RunPipeline");
    assertThat(methods).allMatch(method -> rules.rpc(method).isPresent());
  }

  @Test
  void healthOfAnUnknownServiceIsNotFound() {
    assertThat(refusal(() -> check("nobody")).status()).isEqualTo(Status.Code.NOT_FOUND);
  }

  @Test
  void reflectionListsTheServices() {
    var names = new CompletableFuture<List<String>>();
    var requests =
        ServerReflectionGrpc.newStub(channel())
            .serverReflectionInfo(
                new StreamObserver<ServerReflectionResponse>() {
                  @Override
                  public void onNext(ServerReflectionResponse response) {
                    names.complete(
                        response.getListServicesResponse().getServiceList().stream()
                            .map(ServiceResponse::getName)
                            .toList());
                  }

                  @Override
                  public void onError(Throwable thrown) {
                    names.completeExceptionally(thrown);
                  }

                  @Override
                  public void onCompleted() {}
                });
    requests.onNext(ServerReflectionRequest.newBuilder().setListServices("").build());
    assertThat(names.join())
        .contains(
            "athanor.v1.Ops",
            "athanor.v1.Tensors",
            "inference.GRPCInferenceService",
            "grpc.health.v1.Health");
    requests.onCompleted();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "athanor.v1.Ops/Sing",
        "nobody/Run",
        "athanor.v1.Ops/run",
        "athanor.v1.Ops/Run/.."
      })
  void rejectsUnknownMethods(String method) {
    assertThat(refusal(() -> call(method, new byte[0])).status())
        .isEqualTo(Status.Code.UNIMPLEMENTED);
  }

  @Test
  void rejectsMalformedMessages() {
    refusal(() -> call("athanor.v1.Ops/Run", new byte[] {10, 127}))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "malformed-body",
            null,
            "the message cannot be parsed as the request type of this method");
    // a string that is not UTF-8
    refusal(() -> call("athanor.v1.Ops/Run", new byte[] {10, 2, (byte) 0xC3, 0x28}))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "malformed-body",
            null,
            "the message cannot be parsed as the request type of this method");
  }

  @Test
  void ignoresManyUnknownFields() {
    var message = new byte[200_000];
    for (int i = 0; i < message.length; i += 2) {
      message[i] = 0x78; // field 15, a varint
    }
    assertThat(refusal(() -> call("athanor.v1.Ops/Run", message)).reason()).isEqualTo("unknown-op");
  }

  private static RunRequest zeros(int bytes) {
    var x =
        TensorData.newBuilder()
            .setDtype("u8")
            .addShape(bytes)
            .setData(ByteString.copyFrom(new byte[bytes]));
    return RunRequest.newBuilder()
        .setOp("identity")
        .putInputs("x", InputTensor.newBuilder().setInline(x).build())
        .build();
  }

  @Test
  void rejectsTooLargeMessages() {
    assertThat(refusal(() -> ops().run(zeros(5 << 20))).status())
        .isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    // small when compressed, too large after decompression
    refusal(() -> ops().withCompression("gzip").run(zeros(60 << 20)))
        .is(
            Status.Code.RESOURCE_EXHAUSTED,
            "too-large",
            null,
            "the decompressed message exceeds the size limit");
    assertThat(ops().withCompression("gzip").run(zeros(3 << 20)).getOutputsCount()).isEqualTo(1);
  }

  @Test
  void rejectsTooLargeMetadata() {
    var metadata = new Metadata();
    metadata.put(
        Metadata.Key.of("x-large", Metadata.ASCII_STRING_MARSHALLER), "a".repeat(1_000_000));
    var refused =
        refusal(() ->
            ops()
                .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(metadata))
                .list(ListOpsRequest.getDefaultInstance()));
    assertThat(refused.status()).isNotEqualTo(Status.Code.OK);
    assertThat(ops().list(ListOpsRequest.getDefaultInstance()).getOpsCount()).isEqualTo(4);
  }

  /** Client libraries do not send such deadlines; the service must handle them. */
  @ParameterizedTest
  @ValueSource(strings = {"0n", "1n", "-5S", "soon", "99999999H", "999999999999999999H"})
  void handlesUnusualDeadlines(String timeout) {
    var metadata = new Metadata();
    metadata.put(Metadata.Key.of("grpc-timeout", Metadata.ASCII_STRING_MARSHALLER), timeout);
    try {
      ops().withInterceptors(MetadataUtils.newAttachHeadersInterceptor(metadata)).run(zeros(8));
    } catch (io.grpc.StatusRuntimeException e) {
      assertThat(e.getStatus().getCode())
          .isIn(
              Status.Code.DEADLINE_EXCEEDED,
              Status.Code.CANCELLED,
              Status.Code.INTERNAL,
              Status.Code.UNKNOWN);
    }
    assertThat(ops().run(zeros(8)).getOutputsCount()).isEqualTo(1);
  }

  @Test
  void manyCanceledCallsLeakNothing() {
    var calls = new ArrayList<ListenableFuture<RunResponse>>();
    for (int i = 0; i < 300; i++) {
      var call = OpsGrpc.newFutureStub(channel()).run(gated());
      calls.add(call);
      call.cancel(true);
    }
    await()
        .until(() -> {
          openGate(); // more than once: a call may reach the gate after it was canceled
          return device.openBuffers() == store.count();
        });
    assertThat(calls).allMatch(ListenableFuture::isCancelled);
    assertThat(ops().run(zeros(8)).getOutputsCount()).isEqualTo(1);
  }
}
