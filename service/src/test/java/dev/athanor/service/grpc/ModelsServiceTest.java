package dev.athanor.service.grpc;

import static dev.athanor.service.model.SmallModels.WIDTH;
import static dev.athanor.service.model.SmallModels.adding;
import static dev.athanor.service.model.SmallModels.model;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import dev.athanor.api.v1.DeleteModelRequest;
import dev.athanor.api.v1.DescribeModelRequest;
import dev.athanor.api.v1.InputTensor;
import dev.athanor.api.v1.ListModelsRequest;
import dev.athanor.api.v1.Model;
import dev.athanor.api.v1.ModelInput;
import dev.athanor.api.v1.ModelsGrpc;
import dev.athanor.api.v1.OutputTarget;
import dev.athanor.api.v1.PutModelHeader;
import dev.athanor.api.v1.PutModelRequest;
import dev.athanor.api.v1.PutModelResponse;
import dev.athanor.api.v1.RunModelRequest;
import dev.athanor.api.v1.TensorData;
import dev.athanor.service.AthanorApplication;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.stub.StreamObserver;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.grpc.server.lifecycle.GrpcServerLifecycle;

/** Tests the service of models. */
@SpringBootTest(
    classes = AthanorApplication.class,
    properties = {"athanor.device=emulator:0", "athanor.grpc.max-tensor-bytes=2048"})
class ModelsServiceTest {

  @Autowired private GrpcServerLifecycle server;

  /** What a test does with a channel. */
  interface Client {
    void call(ManagedChannel channel) throws Throwable;
  }

  private void connected(Client client) throws Throwable {
    connected(server.getPort(), client);
  }

  static void connected(int port, Client client) throws Throwable {
    var channel =
        Grpc.newChannelBuilderForAddress("127.0.0.1", port, InsecureChannelCredentials.create())
            .build();
    try {
      client.call(channel);
    } finally {
      channel.shutdownNow();
    }
  }

  static PutModelRequest header(PutModelHeader.Builder header) {
    return PutModelRequest.newBuilder().setHeader(header).build();
  }

  private static PutModelRequest header(String name) {
    return header(PutModelHeader.newBuilder().setName(name));
  }

  /** Returns the messages of a file in chunks of 100 bytes. */
  static PutModelRequest[] messages(PutModelRequest header, byte[] file) {
    var messages = new ArrayList<>(List.of(header));
    var bytes = ByteString.copyFrom(file);
    for (int at = 0; at < file.length; at += 100) {
      var chunk = bytes.substring(at, Math.min(file.length, at + 100));
      messages.add(PutModelRequest.newBuilder().setChunk(chunk).build());
    }
    return messages.toArray(PutModelRequest[]::new);
  }

  static Model put(ManagedChannel channel, PutModelRequest... messages) throws Throwable {
    var answer = new CompletableFuture<PutModelResponse>();
    var call =
        ModelsGrpc.newStub(channel)
            .put(
                new StreamObserver<>() {
                  @Override
                  public void onNext(PutModelResponse response) {
                    answer.complete(response);
                  }

                  @Override
                  public void onError(Throwable thrown) {
                    answer.completeExceptionally(thrown);
                  }

                  @Override
                  public void onCompleted() {}
                });
    for (var message : messages) {
      call.onNext(message);
    }
    call.onCompleted();
    try {
      return answer.get().getModel();
    } catch (ExecutionException e) {
      throw e.getCause();
    }
  }

  private static RunModelRequest.Builder run(float... first) {
    var x = ByteBuffer.allocate(4 * WIDTH).order(ByteOrder.LITTLE_ENDIAN);
    x.asFloatBuffer().put(first);
    var data =
        TensorData.newBuilder()
            .setDtype("f32")
            .addShape(1)
            .addShape(WIDTH)
            .setData(ByteString.copyFrom(x));
    return RunModelRequest.newBuilder()
        .setName("sum")
        .putInputs("x", InputTensor.newBuilder().setInline(data).build());
  }

  private static float first(TensorData tensor) {
    return tensor.getData().asReadOnlyByteBuffer().order(ByteOrder.LITTLE_ENDIAN).getFloat();
  }

  @Test
  void storesDescribesRunsAndDeletesAModel() throws Throwable {
    connected(channel -> {
      var models = ModelsGrpc.newBlockingStub(channel);
      var stored = put(channel, messages(header("sum"), model(adding(1))));
      assertThat(stored.getName()).isEqualTo("sum");
      assertThat(stored.getInputsList())
          .containsExactly(
              ModelInput.newBuilder()
                  .setName("x")
                  .setDtype("f32")
                  .addShape("rows")
                  .addShape("12")
                  .build());
      assertThat(stored.getOutputsList()).containsExactly("y", "t");
      assertThat(stored.hasCreatedAt()).isTrue();
      assertThat(models.list(ListModelsRequest.getDefaultInstance()).getModelsList())
          .containsExactly(stored);
      var describe = DescribeModelRequest.newBuilder().setName("sum").build();
      assertThat(models.describe(describe).getModel()).isEqualTo(stored);

      var all = models.run(run(4).build());
      assertThat(all.getOutputsMap()).containsOnlyKeys("y", "t");
      assertThat(first(all.getOutputsOrThrow("y").getInline())).isEqualTo(5);
      assertThat(all.getTiming().getTotalMicros()).isPositive();
      var one = models.run(run(4).putOutputs("t", OutputTarget.getDefaultInstance()).build());
      assertThat(one.getOutputsMap()).containsOnlyKeys("t");
      var keep =
          run(4)
              .putOutputs("y", OutputTarget.newBuilder().setKeep(true).build())
              .setIdempotencyKey("one");
      var kept = models.run(keep.build()).getOutputsOrThrow("y").getResident();
      assertThat(kept.getShapeList()).containsExactly(1L, (long) WIDTH);
      assertThat(models.run(keep.build()).getOutputsOrThrow("y").getResident()).isEqualTo(kept);
      assertThatThrownBy(() -> models.run(run(4).setIdempotencyKey("two").build()))
          .hasMessage(
              "INVALID_ARGUMENT: idempotency_key is for requests that keep all outputs on the device, but this request names none; request a handle or omit the key");

      models.delete(DeleteModelRequest.newBuilder().setName("sum").build());
      var missing = "NOT_FOUND: There is no model \"sum\". GET /models lists all models.";
      assertThatThrownBy(() -> models.describe(describe))
          .isInstanceOf(StatusRuntimeException.class)
          .hasMessage(missing);
      assertThatThrownBy(() -> models.run(run(4).build())).hasMessage(missing);
    });
  }

  @Test
  void storesGraphsWhoseCallsShareRuns() throws Throwable {
    var graph =
        """
        {"inputs": {"x": {"dtype": "f32", "shape": ["rows", 12]}},
         "steps": [{"op": "map", "inputs": {"x0": "x"}, "attributes": {"expression": "x0 + 1"}, "outputs": {"y": "m"}}],
         "outputs": {"y": "m"}}\
        """;
    connected(channel -> {
      var header =
          PutModelHeader.newBuilder()
              .setName("sum")
              .setContentType("application/json")
              .setExtents("rows:1-4")
              .setBatch("rows");
      put(channel, messages(header(header), graph.getBytes(StandardCharsets.UTF_8)));
      var y = ModelsGrpc.newBlockingStub(channel).run(run(1, 2).build()).getOutputsOrThrow("y");
      assertThat(first(y.getInline())).isEqualTo(2);
      assertThatThrownBy(() ->
              put(
                  channel,
                  messages(header(header.setBatch("x")), graph.getBytes(StandardCharsets.UTF_8))))
          .hasMessageContaining(
              "batch is \"x\", but the input x f32[rows, 12] has another first extent");
      ModelsGrpc.newBlockingStub(channel)
          .delete(DeleteModelRequest.newBuilder().setName("sum").build());
    });
  }

  @Test
  void refusesWhatIsNoModel() throws Throwable {
    connected(channel -> {
      assertThatThrownBy(() -> put(channel, messages(header("bad"), new byte[] {8, 7})))
          .hasMessage(
              "INVALID_ARGUMENT: the file of 2 bytes is not an ONNX model: it has no graph with outputs");
      assertThatThrownBy(() -> put(channel, messages(header("matmul"), model(adding(1)))))
          .hasMessage(
              "INVALID_ARGUMENT: the name \"matmul\" is that of an op; choose another name");
      assertThatThrownBy(() -> put(channel, messages(header("bad"), new byte[2049])))
          .hasMessageEndingWith("the file exceeds the limit of 2048 bytes");
      assertThatThrownBy(() -> put(channel))
          .hasMessageEndingWith("the first message of the stream must be a header");
      assertThatThrownBy(() -> put(channel, header("bad"), header("bad")))
          .hasMessageEndingWith("every message after the header must be a chunk of bytes");
      var zip = PutModelHeader.newBuilder().setName("bad").setContentType("application/zip");
      assertThatThrownBy(() -> put(channel, header(zip)))
          .hasMessage("INVALID_ARGUMENT: the body is not a zip with files");
      var text = PutModelHeader.newBuilder().setName("bad").setContentType("text/plain");
      assertThatThrownBy(() -> put(channel, header(text)))
          .hasMessageEndingWith(
              "header.content_type is text/plain; it must be application/onnx, application/json for a graph, or application/zip for a folder");
      assertThat(
              ModelsGrpc.newBlockingStub(channel)
                  .list(ListModelsRequest.getDefaultInstance())
                  .getModelsList())
          .isEmpty();
    });
  }

  @Test
  void reportsItsHealth() throws Throwable {
    connected(channel -> {
      var request = HealthCheckRequest.newBuilder().setService(ModelsGrpc.SERVICE_NAME).build();
      assertThat(HealthGrpc.newBlockingStub(channel).check(request).getStatus())
          .isEqualTo(ServingStatus.SERVING);
    });
  }
}
