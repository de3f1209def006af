package dev.athanor.service.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.athanor.api.inference.DataType;
import dev.athanor.api.inference.GRPCInferenceServiceGrpc;
import dev.athanor.api.inference.InferParameter;
import dev.athanor.api.inference.InferTensorContents;
import dev.athanor.api.inference.ModelConfigRequest;
import dev.athanor.api.inference.ModelInferRequest;
import dev.athanor.api.inference.ModelInferRequest.InferInputTensor;
import dev.athanor.api.inference.ModelInferRequest.InferRequestedOutputTensor;
import dev.athanor.api.inference.ModelInferResponse;
import dev.athanor.api.inference.ModelMetadataRequest;
import dev.athanor.api.inference.ModelReadyRequest;
import dev.athanor.api.inference.ModelStatisticsRequest;
import dev.athanor.api.inference.ModelStreamInferResponse;
import dev.athanor.api.inference.ServerLiveRequest;
import dev.athanor.api.inference.ServerMetadataRequest;
import dev.athanor.api.inference.ServerReadyRequest;
import dev.athanor.service.run.TestOps;
import io.grpc.CallOptions;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.Test;

class InferenceServiceTest extends GrpcTest {

  private static InferInputTensor.Builder tensor(String name, String datatype, long... shape) {
    var input = InferInputTensor.newBuilder().setName(name).setDatatype(datatype);
    for (long extent : shape) {
      input.addShape(extent);
    }
    return input;
  }

  private static ModelInferRequest.Builder identity(float... x) {
    return ModelInferRequest.newBuilder()
        .setModelName("identity")
        .setId("7")
        .addInputs(tensor("x", "FP32", x.length))
        .addRawInputContents(bytes(x));
  }

  private static InferParameter text(String value) {
    return InferParameter.newBuilder().setStringParam(value).build();
  }

  private static InferParameter number(long value) {
    return InferParameter.newBuilder().setInt64Param(value).build();
  }

  private static InferParameter flag(boolean value) {
    return InferParameter.newBuilder().setBoolParam(value).build();
  }

  private ModelInferResponse infer(ModelInferRequest.Builder request) {
    return inference().modelInfer(request.build());
  }

  private Refusal rejection(ModelInferRequest.Builder request) {
    return refusal(() -> infer(request));
  }

  @Test
  void describesTheServer() {
    assertThat(inference().serverLive(ServerLiveRequest.getDefaultInstance()).getLive()).isTrue();
    assertThat(inference().serverReady(ServerReadyRequest.getDefaultInstance()).getReady())
        .isTrue();
    var server = inference().serverMetadata(ServerMetadataRequest.getDefaultInstance());
    assertThat(server.getName()).isEqualTo("athanor");
    assertThat(server.getVersion()).isEqualTo("0.1.0");
    assertThat(server.getExtensionsList())
        .contains("tensor_handle", "statistics", "model_configuration");
  }

  @Test
  void describesModels() {
    assertThat(
            inference()
                .modelReady(ModelReadyRequest.newBuilder().setName("identity").build())
                .getReady())
        .isTrue();
    var missing =
        refusal(
            () -> inference().modelReady(ModelReadyRequest.newBuilder().setName("sing").build()));
    assertThat(missing.status()).isEqualTo(Status.Code.NOT_FOUND);
    assertThat(missing.reason()).isEqualTo("unknown-op");
    assertThat(
            refusal(() ->
                    inference()
                        .modelReady(
                            ModelReadyRequest.newBuilder()
                                .setName("identity")
                                .setVersion("2")
                                .build()))
                .message())
        .isEqualTo("identity has no version \"2\"; its only version is 1");

    var model =
        inference().modelMetadata(ModelMetadataRequest.newBuilder().setName("concat").build());
    assertThat(model.getName()).isEqualTo("concat");
    assertThat(model.getVersionsList()).containsExactly("1");
    assertThat(model.getPlatform()).isEqualTo("athanor_ptx");
    assertThat(model.getInputs(1).getName()).isEqualTo("b");
    assertThat(model.getInputs(1).getDatatype()).isEqualTo("FP32");
    assertThat(model.getInputs(1).getShapeList()).containsExactly(-1L);
    assertThat(model.getPropertiesMap()).containsEntry("formula", "c = a ++ b");

    var config =
        inference()
            .modelConfig(ModelConfigRequest.newBuilder().setName("concat").build())
            .getConfig();
    assertThat(config.getMaxBatchSize()).isZero();
    assertThat(config.getInput(1).getOptional()).isTrue();
    assertThat(config.getInput(0).getDataType()).isEqualTo(DataType.TYPE_FP32);
    assertThat(config.hasModelTransactionPolicy()).isTrue();
    assertThat(config.getModelTransactionPolicy().getDecoupled()).isFalse();
  }

  @Test
  void statisticsCountInferences() {
    var request = ModelStatisticsRequest.newBuilder().setName("concat").setVersion("1").build();
    var before = inference().modelStatistics(request).getModelStats(0);
    infer(
        ModelInferRequest.newBuilder()
            .setModelName("concat")
            .addInputs(tensor("a", "FP32", 1))
            .addRawInputContents(bytes(1)));
    rejection(ModelInferRequest.newBuilder().setModelName("concat"));
    var after = inference().modelStatistics(request).getModelStats(0);
    assertThat(after.getVersion()).isEqualTo("1");
    assertThat(after.getInferenceCount()).isEqualTo(before.getInferenceCount() + 1);
    var success = after.getInferenceStats().getSuccess();
    assertThat(success.getCount()).isEqualTo(after.getInferenceCount());
    assertThat(success.getNs()).isPositive();
    assertThat(after.getInferenceStats().getFail().getCount())
        .isEqualTo(before.getInferenceStats().getFail().getCount() + 1);
    assertThat(after.getBatchStats(0).getBatchSize()).isEqualTo(1);
    assertThat(
            inference()
                .modelStatistics(ModelStatisticsRequest.getDefaultInstance())
                .getModelStatsCount())
        .isEqualTo(4);
  }

  @Test
  void acceptsAndReturnsRawContents() {
    var answer = infer(identity(1.5f, -2));
    assertThat(answer.getModelName()).isEqualTo("identity");
    assertThat(answer.getModelVersion()).isEqualTo("1");
    assertThat(answer.getId()).isEqualTo("7");
    assertThat(answer.getParametersOrThrow("kernel").getStringParam()).isEqualTo("identity_f32");
    assertThat(answer.getParametersOrThrow("total_us").getDoubleParam()).isPositive();
    assertThat(answer.getOutputsCount()).isEqualTo(1);
    var output = answer.getOutputs(0);
    assertThat(output.getName()).isEqualTo("y");
    assertThat(output.getDatatype()).isEqualTo("FP32");
    assertThat(output.getShapeList()).containsExactly(2L);
    assertThat(output.hasContents()).isFalse();
    assertThat(answer.getRawOutputContents(0)).isEqualTo(bytes(1.5f, -2));
  }

  @Test
  void acceptsTypedContents() {
    var four = InferTensorContents.newBuilder();
    assertThat(typed("FP32", four.addFp32Contents(1.5f))).isEqualTo("0000c03f");
    assertThat(typed("FP64", contents().addFp64Contents(-2))).isEqualTo("00000000000000c0");
    assertThat(typed("INT8", contents().addIntContents(-2))).isEqualTo("fe");
    assertThat(typed("INT16", contents().addIntContents(-2))).isEqualTo("feff");
    assertThat(typed("INT32", contents().addIntContents(-2))).isEqualTo("feffffff");
    assertThat(typed("INT64", contents().addInt64Contents(1L << 40))).isEqualTo("0000000000010000");
    assertThat(typed("UINT8", contents().addUintContents(255))).isEqualTo("ff");
    assertThat(typed("UINT32", contents().addUintContents(-1))).isEqualTo("ffffffff");
    assertThat(typed("BOOL", contents().addBoolContents(true))).isEqualTo("01");
  }

  private static InferTensorContents.Builder contents() {
    return InferTensorContents.newBuilder();
  }

  private static ModelInferRequest.Builder with(
      String datatype, InferTensorContents.Builder contents) {
    return ModelInferRequest.newBuilder()
        .setModelName("identity")
        .addInputs(tensor("x", datatype, 1).setContents(contents));
  }

  private String typed(String datatype, InferTensorContents.Builder contents) {
    var raw = infer(with(datatype, contents)).getRawOutputContents(0);
    return HexFormat.of().formatHex(raw.toByteArray());
  }

  @Test
  void rejectsInvalidContents() {
    rejection(with("INT8", contents().addIntContents(200)))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-tensor",
            "inputs.x",
            "inputs.x contains 200, which is out of range for INT8");
    rejection(with("UINT8", contents().addUintContents(256)))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-tensor",
            "inputs.x",
            "inputs.x contains 256, which is out of range for UINT8");
    rejection(with("FP32", contents().addFp64Contents(1)))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-tensor",
            "inputs.x",
            "inputs.x must have 1 numbers in fp32_contents, got 0");
    rejection(with("FP32", contents().addFp32Contents(1).addInt64Contents(2)))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-tensor",
            "inputs.x",
            "inputs.x has several lists of contents, int64_contents and fp32_contents; give only one");
    for (var raw : List.of("FP16", "BF16", "FP8_E4M3", "FP8_E5M2")) {
      rejection(with(raw, contents().addFp32Contents(1)))
          .is(
              Status.Code.INVALID_ARGUMENT,
              "invalid-tensor",
              "inputs.x",
              "inputs.x: "
                  + raw
                  + " cannot be sent as numbers; send raw bytes, little-endian and row-major");
    }
    assertThat(rejection(with("COMPLEX", contents())).reason()).isEqualTo("unsupported-dtype");
    rejection(identity(1).addRawInputContents(bytes(2)))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-tensor",
            "raw_input_contents",
            "raw_input_contents has 2 entries, but 1 inputs need one");
    rejection(
            identity(1)
                .setModelName("concat")
                .setInputs(0, tensor("a", "FP32", 1))
                .addInputs(tensor("b", "FP32", 1)))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-tensor",
            "raw_input_contents",
            "raw_input_contents has no entry for inputs.b; every input without a tensor_handle needs one");
    rejection(identity(1).setInputs(0, tensor("x", "FP32", 1).setContents(contents())))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-tensor",
            "inputs.x",
            "inputs.x has contents, but the request has raw_input_contents; give only one");
    rejection(identity(1).setInputs(0, tensor("x", "FP32", 2)))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-tensor",
            "inputs.x",
            "f32[2] needs 8 bytes of data, got 4");
    rejection(identity(1).addInputs(tensor("x", "FP32", 1)).addRawInputContents(bytes(1)))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-tensor",
            "inputs.x",
            "inputs.x is given twice; give it once");
  }

  @Test
  void transfers16And8BitFloatsAsRawBytes() {
    for (var datatype : List.of("FP16", "BF16", "FP8_E4M3", "FP8_E5M2")) {
      int size = datatype.startsWith("FP8") ? 1 : 2;
      var data = ByteString.copyFrom(new byte[] {1, 2}).substring(0, size);
      var answer =
          infer(
              ModelInferRequest.newBuilder()
                  .setModelName("identity")
                  .addInputs(tensor("x", datatype, 1))
                  .addRawInputContents(data));
      assertThat(answer.getOutputs(0).getDatatype()).isEqualTo(datatype);
      assertThat(answer.getRawOutputContents(0)).isEqualTo(data);
    }
  }

  @Test
  void handlesHaveNoRawContents() {
    var handle = put(1, 2);
    var request =
        ModelInferRequest.newBuilder()
            .setModelName("concat")
            .addInputs(tensor("a", "FP32", 2).putParameters("tensor_handle", text(handle)))
            .addInputs(tensor("b", "FP32", 1))
            .addRawInputContents(bytes(3))
            .addOutputs(
                InferRequestedOutputTensor.newBuilder()
                    .setName("c")
                    .putParameters("tensor_store", flag(true)))
            .addOutputs(InferRequestedOutputTensor.newBuilder().setName("zeros"));
    var answer = infer(request);
    assertThat(answer.getOutputsList())
        .extracting(ModelInferResponse.InferOutputTensor::getName)
        .containsExactly("c", "zeros");
    assertThat(answer.getRawOutputContentsList()).containsExactly(bytes(0, 0));
    var kept = answer.getOutputs(0).getParametersOrThrow("tensor_handle").getStringParam();
    assertThat(answer.getOutputs(0).getShapeList()).containsExactly(3L);
    // only requested outputs are returned
    var back =
        infer(
            ModelInferRequest.newBuilder()
                .setModelName("concat")
                .addInputs(
                    InferInputTensor.newBuilder()
                        .setName("a")
                        .putParameters("tensor_handle", text(kept)))
                .addOutputs(InferRequestedOutputTensor.newBuilder().setName("c")));
    assertThat(back.getOutputsCount()).isEqualTo(1);
    assertThat(back.getRawOutputContentsList()).containsExactly(bytes(1, 2, 3));

    rejection(
            request
                .clone()
                .setInputs(0, tensor("a", "FP32", 3).putParameters("tensor_handle", text(handle))))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "shape-mismatch",
            "inputs.a.shape",
            "inputs.a.shape is [3], but the tensor has shape [2]; both must have the same number of elements");
    rejection(
            request
                .clone()
                .setInputs(
                    0,
                    tensor("a", "FP32", 2)
                        .putParameters("tensor_handle", text(handle))
                        .setContents(contents().addFp32Contents(1))))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-tensor",
            "inputs.a",
            "inputs.a has both a tensor_handle and data; give only one");
    rejection(
            request
                .clone()
                .setInputs(
                    0, tensor("a", "FP32", 2).putParameters("shared_memory_region", text("r"))))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "unknown-field",
            "inputs.a.parameters.shared_memory_region",
            "inputs.a.parameters.shared_memory_region is not supported. Send the data, or upload it"
                + " to /tensors and pass its handle as the parameter tensor_handle.");
  }

  @Test
  void parametersSetAttributesDeadlineAndPriority() {
    var answer =
        infer(
            identity(1)
                .putParameters("factor", number(2))
                .putParameters("mode", text("a"))
                .putParameters("priority", InferParameter.newBuilder().setUint64Param(1).build())
                .putParameters("timeout", InferParameter.newBuilder().setUint64Param(-1).build())
                .putParameters("deadline_ms", number(60_000)));
    assertThat(answer.getOutputsCount()).isEqualTo(1);
    TestOps.Identity.AT_GATE.set(0);
    var late =
        rejection(
            identity(1)
                .putParameters("gate", flag(true))
                .putParameters("deadline_ms", number(200)));
    late.is(
        Status.Code.DEADLINE_EXCEEDED,
        "deadline-exceeded",
        null,
        "the call did not finish within its deadline of 200 ms; no result was stored");
    openGate();
    assertThat(rejection(identity(1).putParameters("nonsense", flag(true))).reason())
        .isEqualTo("unknown-field");
    rejection(identity(1).putParameters("mode", InferParameter.getDefaultInstance()))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-attribute",
            "parameters.mode",
            "parameters.mode is empty; it must be a bool, an integer, a double or a string");
    assertThat(rejection(identity(1).setId("i".repeat(2000))).message())
        .isEqualTo("id has 2000 characters; the limit is 1024");
  }

  // -- streams

  private static final class StreamResponses implements StreamObserver<ModelStreamInferResponse> {
    final LinkedBlockingQueue<ModelStreamInferResponse> responses = new LinkedBlockingQueue<>();
    final CompletableFuture<Refusal> ended = new CompletableFuture<>();

    @Override
    public void onNext(ModelStreamInferResponse answer) {
      responses.add(answer);
    }

    @Override
    public void onError(Throwable thrown) {
      ended.complete(refusal(thrown));
    }

    @Override
    public void onCompleted() {
      ended.complete(new Refusal(Status.Code.OK, "", "", java.util.Map.of(), false));
    }
  }

  @Test
  void streamsRespondInOrderAndSurviveFailures() throws InterruptedException {
    var answers = new StreamResponses();
    var requests = GRPCInferenceServiceGrpc.newStub(channel()).modelStreamInfer(answers);
    for (int i = 0; i < 40; i++) {
      requests.onNext(identity(i).setId("n" + i).build());
    }
    requests.onNext(identity(1).setModelName("sing").setId("wrong").build());
    requests.onNext(identity(5).setId("last").build());
    requests.onCompleted();
    for (int i = 0; i < 40; i++) {
      var answer = answers.responses.take();
      assertThat(answer.getErrorMessage()).isEmpty();
      assertThat(answer.getInferResponse().getId()).isEqualTo("n" + i);
      assertThat(answer.getInferResponse().getRawOutputContents(0)).isEqualTo(bytes(i));
    }
    var wrong = answers.responses.take();
    assertThat(wrong.getErrorMessage())
        .isEqualTo("Unknown model \"sing\". GET /v2/models lists all models.");
    assertThat(wrong.getInferResponse().getId()).isEqualTo("wrong");
    assertThat(answers.responses.take().getInferResponse().getRawOutputContents(0))
        .isEqualTo(bytes(5));
    assertThat(answers.ended.join().status()).isEqualTo(Status.Code.OK);
  }

  @Test
  void clientsCanRequestStatusesOnStreams() {
    var metadata = new Metadata();
    metadata.put(Metadata.Key.of("triton_grpc_error", Metadata.ASCII_STRING_MARSHALLER), "true");
    var answers = new StreamResponses();
    var requests =
        GRPCInferenceServiceGrpc.newStub(channel())
            .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(metadata))
            .modelStreamInfer(answers);
    requests.onNext(identity(1).setModelName("sing").build());
    var ended = answers.ended.join();
    assertThat(ended.status()).isEqualTo(Status.Code.NOT_FOUND);
    assertThat(ended.reason()).isEqualTo("unknown-op");
    assertThat(answers.responses).isEmpty();
  }

  // -- raw bytes

  /** Encodes a length-delimited field. */
  private static byte[] field(int number, byte[]... parts) {
    var content = new ByteArrayOutputStream();
    for (var part : parts) {
      content.writeBytes(part);
    }
    var out = new ByteArrayOutputStream();
    out.write(number << 3 | 2);
    out.write(content.size()); // all are shorter than 128
    out.writeBytes(content.toByteArray());
    return out.toByteArray();
  }

  private static byte[] field(int number, String text) {
    return field(number, text.getBytes(StandardCharsets.UTF_8));
  }

  private static byte[] concat(byte[]... parts) {
    var all = new ByteArrayOutputStream();
    for (var part : parts) {
      all.writeBytes(part);
    }
    return all.toByteArray();
  }

  /** Tests the encoding of tritonclient: packed shapes, and map entries of parameters. */
  @Test
  void understandsTheEncodingOfTritonsClient() {
    var handle = put(9);
    var request =
        concat(
            field(1, "concat"),
            field(3, "42"),
            field(5, field(1, "a"), field(2, "FP32"), field(3, new byte[] {2})),
            field(
                5,
                field(1, "b"),
                field(2, "FP32"),
                field(3, new byte[] {1}),
                field(4, field(1, "tensor_handle"), field(2, field(3, handle)))),
            field(6, field(1, "c")),
            field(7, bytes(1, 2).toByteArray()));
    var answer =
        ClientCalls.blockingUnaryCall(
            channel(),
            RawMessages.unary("inference.GRPCInferenceService/ModelInfer"),
            CallOptions.DEFAULT,
            request);
    var expected =
        concat(
            field(1, "concat"),
            field(2, "1"),
            field(3, "42"),
            field(5, field(1, "c"), field(2, "FP32"), field(3, new byte[] {3})),
            field(6, bytes(1, 2, 9).toByteArray()));
    assertThat(withoutParameters(answer)).isEqualTo(expected);
  }

  /** Removes the parameters, field 4, whose values are times. */
  private static byte[] withoutParameters(byte[] message) {
    var out = new ByteArrayOutputStream();
    for (int at = 0; at < message.length; ) {
      int end = at + 2 + message[at + 1];
      if (message[at] >> 3 != 4) {
        out.write(message, at, end - at);
      }
      at = end;
    }
    return out.toByteArray();
  }
}
