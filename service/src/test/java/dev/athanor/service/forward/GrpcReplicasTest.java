package dev.athanor.service.forward;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.ErrorInfo;
import dev.athanor.api.inference.GRPCInferenceServiceGrpc;
import dev.athanor.api.inference.InferParameter;
import dev.athanor.api.inference.ModelInferRequest;
import dev.athanor.api.inference.ModelMetadataRequest;
import dev.athanor.api.v1.DeleteModelRequest;
import dev.athanor.api.v1.DeleteModelResponse;
import dev.athanor.api.v1.DeleteRequest;
import dev.athanor.api.v1.DescribeModelRequest;
import dev.athanor.api.v1.DescribeRequest;
import dev.athanor.api.v1.GetRequest;
import dev.athanor.api.v1.InputTensor;
import dev.athanor.api.v1.ModelsGrpc;
import dev.athanor.api.v1.NamedTensor;
import dev.athanor.api.v1.OpsGrpc;
import dev.athanor.api.v1.PipelineStep;
import dev.athanor.api.v1.PutHeader;
import dev.athanor.api.v1.PutRequest;
import dev.athanor.api.v1.PutResponse;
import dev.athanor.api.v1.RunModelRequest;
import dev.athanor.api.v1.RunPipelineRequest;
import dev.athanor.api.v1.RunRequest;
import dev.athanor.api.v1.Tensor;
import dev.athanor.api.v1.TensorsGrpc;
import dev.athanor.service.model.SmallModels;
import dev.athanor.service.security.ApiKey;
import dev.athanor.service.security.Scope;
import dev.athanor.service.tensor.Tenant;
import dev.athanor.testing.LoopbackBlock;
import dev.athanor.testing.ServiceProcess;
import dev.athanor.testing.TestTier;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.AbstractStub;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the copying of named tensors between replicas 2 and 3, over gRPC. */
@Tag(TestTier.THOROUGH_TAG)
class GrpcReplicasTest {

  private static final ApiKey.NewKey LAB = key("lab");
  private static final ApiKey.NewKey OTHER = key("other");
  private static final Map<String, ServiceProcess> REPLICAS = new TreeMap<>();
  private static final Map<String, ManagedChannel> CHANNELS = new TreeMap<>();

  @TempDir private static Path folder;

  @SuppressWarnings("NullAway.Init") // before all tests
  private static LoopbackBlock addresses;

  private static ApiKey.NewKey key(String tenant) {
    return ApiKey.create(
        new Tenant(tenant), Scope.list("ops:run,tensors:read,tensors:write"), new SecureRandom());
  }

  @BeforeAll
  static void start() throws Exception {
    addresses = new LoopbackBlock();
    Files.write(folder.resolve("keys"), List.of(LAB.line(), OTHER.line()));
    for (var id : List.of("2", "3")) {
      REPLICAS.put(
          id,
          new ServiceProcess(
              folder,
              List.of("-Xmx256m"),
              List.of(
                  "server.address=" + addresses.host(id),
                  "server.port=" + addresses.port(),
                  "athanor.replica=test-" + id,
                  "athanor.forward.url=http://" + addresses.address("{replica}"),
                  "athanor.forward.replicas=2,3",
                  "athanor.forward.connect-timeout=1h",
                  "athanor.forward.idle-timeout=1h",
                  "athanor.security.mode=api-key",
                  "athanor.security.api-keys.file=" + folder.resolve("keys"),
                  "athanor.tuning.cache=" + folder.resolve(id + ".json"))));
    }
    for (var each : REPLICAS.entrySet()) {
      var replica = each.getValue();
      replica.awaitReady();
      CHANNELS.put(
          each.getKey(),
          NettyChannelBuilder.forAddress(addresses.host(each.getKey()), replica.grpcPort())
              .usePlaintext()
              .build());
    }
  }

  @AfterAll
  static void stop() throws IOException {
    CHANNELS.values().forEach(ManagedChannel::shutdownNow);
    REPLICAS.values().forEach(ServiceProcess::close);
    addresses.close();
  }

  @AfterEach
  void delete() {
    for (var key : List.of(LAB, OTHER)) {
      var _ = delete(key, "2", "w");
    }
  }

  private static ManagedChannel channel(String id) {
    return Objects.requireNonNull(CHANNELS.get(id));
  }

  private static <S extends AbstractStub<S>> S as(ApiKey.NewKey key, S stub) {
    var metadata = new Metadata();
    metadata.put(Metadata.Key.of("x-api-key", Metadata.ASCII_STRING_MARSHALLER), key.key());
    return stub.withInterceptors(MetadataUtils.newAttachHeadersInterceptor(metadata));
  }

  private static TensorsGrpc.TensorsBlockingStub tensors(ApiKey.NewKey key, String id) {
    return as(key, TensorsGrpc.newBlockingStub(channel(id)));
  }

  private static OpsGrpc.OpsBlockingStub ops(String id) {
    return as(LAB, OpsGrpc.newBlockingStub(channel(id)));
  }

  private static PutResponse store(
      ApiKey.NewKey key, String id, NamedTensor.Builder named, String elements) {
    var answer = new CompletableFuture<PutResponse>();
    var requests =
        as(key, TensorsGrpc.newStub(channel(id)))
            .put(
                new StreamObserver<>() {
                  @Override
                  public void onNext(PutResponse response) {
                    answer.complete(response);
                  }

                  @Override
                  public void onError(Throwable thrown) {
                    answer.completeExceptionally(thrown);
                  }

                  @Override
                  public void onCompleted() {}
                });
    requests.onNext(
        PutRequest.newBuilder()
            .setHeader(
                PutHeader.newBuilder().setDtype("u8").addShape(elements.length()).setStore(named))
            .build());
    requests.onNext(PutRequest.newBuilder().setChunk(ByteString.copyFromUtf8(elements)).build());
    requests.onCompleted();
    try {
      return answer.join();
    } catch (CompletionException e) {
      throw (RuntimeException) e.getCause();
    }
  }

  private static NamedTensor.Builder w() {
    return NamedTensor.newBuilder().setName("w");
  }

  private static Tensor describe(ApiKey.NewKey key, String id, String handle) {
    return tensors(key, id)
        .describe(DescribeRequest.newBuilder().setHandle(handle).build())
        .getTensor();
  }

  private static boolean delete(ApiKey.NewKey key, String id, String handle) {
    return tensors(key, id)
        .delete(DeleteRequest.newBuilder().setHandle(handle).build())
        .isInitialized();
  }

  private static String read(String id) {
    var text = new StringBuilder();
    tensors(LAB, id)
        .get(GetRequest.newBuilder().setHandle("w").build())
        .forEachRemaining(answer -> text.append(answer.getChunk().toStringUtf8()));
    return text.toString();
  }

  /** Expects the failure of a call that only the replica 2 can serve. */
  private static void expectOwner(Runnable call) {
    expectOwner("w", call);
  }

  private static void expectOwner(String name, Runnable call) {
    var thrown = catchThrowableOfType(StatusRuntimeException.class, call::run);
    assertThat(Status.fromThrowable(thrown).getCode()).isEqualTo(Status.Code.FAILED_PRECONDITION);
    var info = info(thrown);
    assertThat(info.getReason()).isEqualTo("wrong-replica");
    assertThat(info.getMetadataMap())
        .containsEntry("replica", "2")
        .containsEntry("url", "http://" + addresses.address("2"));
    assertThat(thrown).hasMessageContaining(name + " belongs to replica 2; send the request there");
  }

  private static ErrorInfo info(Throwable thrown) {
    try {
      return Objects.requireNonNull(StatusProto.fromThrowable(thrown))
          .getDetails(0)
          .unpack(ErrorInfo.class);
    } catch (InvalidProtocolBufferException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void copiesToEachReplica() throws Exception {
    var stored = store(LAB, "3", w().setAllReplicas(true).setScope("a b"), "xy");

    assertThat(stored.getUnreachableList()).isEmpty();
    assertThat(stored.getTensor().getReplicasList()).containsExactly("3", "2");
    for (var id : REPLICAS.keySet()) {
      var copy = describe(LAB, id, "w");
      assertThat(copy.getReplicasList()).containsExactly("3", "2");
      assertThat(copy.getScope()).isEqualTo("a b");
      assertThat(copy.getHandle()).endsWith("_" + id);
      assertThat(copy.getVersion()).isEqualTo(stored.getTensor().getVersion());
      assertThat(read(id)).isEqualTo("xy");
    }
    var request =
        HttpRequest.newBuilder(URI.create("http://" + addresses.address("2") + "/tensors/w"))
            .header("X-API-Key", LAB.key())
            .build();
    try (var client = HttpClient.newHttpClient()) {
      assertThat(client.send(request, BodyHandlers.ofString(UTF_8)).body())
          .contains("\"replicas\":[\"3\",\"2\"]");
    }
  }

  @Test
  void deletesOlderCopiesOnOtherReplicas() {
    store(LAB, "2", w().setReplicas(2), "old");
    var again = store(LAB, "2", w(), "new");

    assertThat(again.getTensor().getReplicasList()).containsExactly("2");
    assertThat(read("2")).isEqualTo("new");
    expectOwner(() -> describe(LAB, "3", "w"));
  }

  @Test
  void replicaWithoutACopyReportsTheOwner() {
    store(LAB, "2", w(), "xy");

    expectOwner(() -> describe(LAB, "3", "w"));
    expectOwner(() -> read("3"));
    var input = InputTensor.newBuilder().setHandle("w").build();
    expectOwner(
        () -> ops("3").run(RunRequest.newBuilder().setOp("relu").putInputs("x", input).build()));
    var step = PipelineStep.newBuilder().setOp("relu").putInputs("x", "w").putOutputs("y", "y");
    expectOwner(() -> ops("3").runPipeline(RunPipelineRequest.newBuilder().addSteps(step).build()));
    var inference = as(LAB, GRPCInferenceServiceGrpc.newBlockingStub(channel("3")));
    expectOwner(() ->
        inference.modelInfer(
            ModelInferRequest.newBuilder()
                .setModelName("relu")
                .addInputs(
                    ModelInferRequest.InferInputTensor.newBuilder()
                        .setName("x")
                        .setDatatype("UINT8")
                        .addShape(2)
                        .putParameters(
                            "tensor_handle",
                            InferParameter.newBuilder().setStringParam("w").build()))
                .build()));
  }

  @Test
  void preconditionsSeeCopiesOfOtherReplicas() {
    var version = store(LAB, "2", w(), "xy").getTensor().getVersion();

    var thrown =
        catchThrowableOfType(
            StatusRuntimeException.class, () -> store(LAB, "3", w().setAbsent(true), "z"));
    assertThat(thrown)
        .hasMessageContaining(
            "header.store.absent is true, but version %d of a tensor is stored under the name w"
                .formatted(version));
    assertThat(store(LAB, "3", w().setVersion(version), "z").getTensor().getReplicasList())
        .containsExactly("3");
    assertThat(read("3")).isEqualTo("z");
  }

  @Test
  void deletingDeletesAllCopies() {
    store(LAB, "2", w().setAllReplicas(true), "xy");

    delete(LAB, "3", "w");

    for (var id : REPLICAS.keySet()) {
      var thrown = catchThrowableOfType(StatusRuntimeException.class, () -> describe(LAB, id, "w"));
      assertThat(Status.fromThrowable(thrown).getCode()).isEqualTo(Status.Code.NOT_FOUND);
      assertThat(info(thrown).getReason()).isEqualTo("unknown-handle");
    }
  }

  @Test
  void namesBelongToTheirTenants() {
    store(LAB, "2", w(), "xy");

    var thrown =
        catchThrowableOfType(StatusRuntimeException.class, () -> describe(OTHER, "3", "w"));
    assertThat(info(thrown).getReason()).isEqualTo("unknown-handle");
    store(OTHER, "3", w().setAllReplicas(true), "z");
    assertThat(read("2")).isEqualTo("xy");
    delete(OTHER, "3", "w");
    assertThat(read("2")).isEqualTo("xy");
  }

  @Test
  void modelsAreServedByTheReplicasThatHaveThem() throws Exception {
    var request =
        HttpRequest.newBuilder(URI.create("http://" + addresses.address("2") + "/models/adder"))
            .header("X-API-Key", LAB.key())
            .header("Content-Type", "application/onnx")
            .PUT(BodyPublishers.ofByteArray(SmallModels.model(SmallModels.adding(1))))
            .build();
    try (var client = HttpClient.newHttpClient()) {
      assertThat(client.send(request, BodyHandlers.ofString(UTF_8)).statusCode()).isEqualTo(201);
    }
    var here = as(LAB, ModelsGrpc.newBlockingStub(channel("2")));
    var elsewhere = as(LAB, ModelsGrpc.newBlockingStub(channel("3")));
    var described = DescribeModelRequest.newBuilder().setName("adder").build();
    assertThat(here.describe(described).getModel().getVersion()).isEqualTo(1);
    expectOwner("adder", () -> elsewhere.describe(described));
    expectOwner(
        "adder@1", () -> elsewhere.run(RunModelRequest.newBuilder().setName("adder@1").build()));
    var inference = as(LAB, GRPCInferenceServiceGrpc.newBlockingStub(channel("3")));
    expectOwner(
        "adder",
        () -> inference.modelMetadata(ModelMetadataRequest.newBuilder().setName("adder").build()));

    assertThat(elsewhere.delete(DeleteModelRequest.newBuilder().setName("adder").build()))
        .isEqualTo(DeleteModelResponse.getDefaultInstance());
    var thrown = catchThrowableOfType(StatusRuntimeException.class, () -> here.describe(described));
    assertThat(info(thrown).getReason()).isEqualTo("not-found");
    assertThat(thrown)
        .hasMessageContaining("There is no model \"adder\". GET /models lists all models.");
  }
}
