package dev.athanor.service.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.WireFormat;
import dev.athanor.api.inference.GRPCInferenceServiceGrpc;
import dev.athanor.api.inference.ModelInferRequest;
import dev.athanor.api.inference.ModelInferResponse;
import dev.athanor.api.inference.ModelStreamInferResponse;
import dev.athanor.api.inference.RepositoryIndexRequest;
import dev.athanor.api.inference.RepositoryIndexResponse.ModelIndex;
import io.grpc.CallOptions;
import io.grpc.Status;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Tests requests as the Python clients of KServe ({@code InferRequest.to_grpc}) and Triton ({@code
 * tritonclient.grpc}) send them. Messages are encoded field by field, with the numbers of their
 * .proto files.
 */
class ProtocolClientsTest extends GrpcTest {

  /** A builder of encoded messages. */
  private static final class Message {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

    private Message write(Field field) {
      var out = CodedOutputStream.newInstance(bytes);
      try {
        field.write(out);
        out.flush();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      return this;
    }

    private interface Field {
      void write(CodedOutputStream out) throws IOException;
    }

    Message text(int field, String value) {
      return write(out -> out.writeString(field, value));
    }

    Message number(int field, long value) {
      return write(out -> out.writeInt64(field, value));
    }

    Message flag(int field, boolean value) {
      return write(out -> out.writeBool(field, value));
    }

    Message raw(int field, byte[] value) {
      return write(out -> out.writeByteArray(field, value));
    }

    Message message(int field, Message value) {
      return raw(field, value.toByteArray());
    }

    /** Adds an entry to a map of parameters. */
    Message parameter(int field, String name, Message value) {
      return message(field, new Message().text(1, name).message(2, value));
    }

    /** Adds packed extents. */
    Message shape(int field, long... extents) {
      return write(out -> {
        var packed = new ByteArrayOutputStream();
        var inner = CodedOutputStream.newInstance(packed);
        for (long extent : extents) {
          inner.writeInt64NoTag(extent);
        }
        inner.flush();
        out.writeTag(field, WireFormat.WIRETYPE_LENGTH_DELIMITED);
        out.writeByteArrayNoTag(packed.toByteArray());
      });
    }

    byte[] toByteArray() {
      return bytes.toByteArray();
    }
  }

  private static Message bool(boolean value) {
    return new Message().flag(1, value);
  }

  private static Message int64(long value) {
    return new Message().number(2, value);
  }

  private static Message string(String value) {
    return new Message().text(3, value);
  }

  private static Message uint64(long value) {
    return new Message().number(5, value);
  }

  private byte[] call(String method, Message request) {
    var descriptor = RawMessages.unary("inference.GRPCInferenceService/" + method);
    return ClientCalls.blockingUnaryCall(
        channel(), descriptor, CallOptions.DEFAULT, request.toByteArray());
  }

  private ModelInferResponse infer(Message request) throws IOException {
    return ModelInferResponse.parseFrom(call("ModelInfer", request));
  }

  /** Returns an input as KServe's client sends it in raw mode. */
  private static Message kserveInput(String name, int floats, long binaryDataSize) {
    return new Message()
        .text(1, name)
        .text(2, "FP32")
        .shape(3, floats)
        .parameter(4, "binary_data_size", int64(binaryDataSize));
  }

  @Test
  void acceptsArraysOfKserveAsBytes() throws IOException {
    var answer =
        infer(
            new Message()
                .text(1, "concat")
                .text(3, "5f9c6d5e-4f0c-4b62-9a2e-0c5f3d0a7f11")
                .parameter(4, "binary_data_output", bool(true))
                .message(5, kserveInput("a", 2, 8))
                .message(5, kserveInput("b", 1, 4))
                .message(6, new Message().text(1, "c").parameter(2, "binary_data", bool(true)))
                .raw(7, bytes(1, 2).toByteArray())
                .raw(7, bytes(3).toByteArray()));
    assertThat(answer.getId()).isEqualTo("5f9c6d5e-4f0c-4b62-9a2e-0c5f3d0a7f11");
    assertThat(answer.getOutputsCount()).isEqualTo(1);
    assertThat(answer.getRawOutputContents(0)).isEqualTo(bytes(1, 2, 3));
  }

  @Test
  void acceptsListsOfKserve() throws IOException {
    var contents = new Message().raw(6, bytes(1.5f, -2).toByteArray());
    var answer =
        infer(
            new Message()
                .text(1, "identity")
                .message(
                    5,
                    new Message().text(1, "x").text(2, "FP32").shape(3, 2).message(5, contents)));
    assertThat(answer.getRawOutputContents(0)).isEqualTo(bytes(1.5f, -2));
  }

  @Test
  void rejectsAWrongBinaryDataSize() {
    refusal(() ->
            infer(
                new Message()
                    .text(1, "identity")
                    .message(5, kserveInput("x", 2, 4))
                    .raw(7, bytes(1, 2).toByteArray())))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-tensor",
            "inputs.x.parameters.binary_data_size",
            "inputs.x.parameters.binary_data_size is 4, but FP32[2] needs 8 bytes");
    refusal(() ->
            infer(
                new Message()
                    .text(1, "identity")
                    .message(
                        5,
                        kserveInput("x", 2, 8).parameter(4, "tensor_handle", string(put(1, 2))))))
        .is(
            Status.Code.INVALID_ARGUMENT,
            "invalid-tensor",
            "inputs.x",
            "inputs.x has both a tensor_handle and data; give only one");
  }

  private static Message triton() {
    return new Message()
        .text(1, "identity")
        .text(3, "1")
        .message(5, new Message().text(1, "x").text(2, "FP32").shape(3, 2))
        .raw(7, bytes(4, 5).toByteArray());
  }

  @Test
  void acceptsSequencesPrioritiesAndTimeoutsOfTriton() throws IOException {
    for (var sequence : new Message[] {int64(7), string("job-7")}) {
      var answer =
          infer(
              triton()
                  .parameter(4, "sequence_id", sequence)
                  .parameter(4, "sequence_start", bool(true))
                  .parameter(4, "sequence_end", bool(false))
                  .parameter(4, "priority", uint64(1))
                  .parameter(4, "timeout", int64(60_000_000)));
      assertThat(answer.getRawOutputContents(0)).isEqualTo(bytes(4, 5));
    }
  }

  @Test
  void marksTheFinalResponseForTriton()
      throws IOException, InterruptedException, ExecutionException {
    var received = new CompletableFuture<ModelStreamInferResponse>();
    var requests =
        GRPCInferenceServiceGrpc.newStub(channel())
            .modelStreamInfer(
                new StreamObserver<>() {
                  @Override
                  public void onNext(ModelStreamInferResponse answer) {
                    received.complete(answer);
                  }

                  @Override
                  public void onError(Throwable thrown) {
                    received.completeExceptionally(thrown);
                  }

                  @Override
                  public void onCompleted() {}
                });
    requests.onNext(
        ModelInferRequest.parseFrom(
            triton().parameter(4, "triton_enable_empty_final_response", bool(true)).toByteArray()));
    var answer = received.get();
    assertThat(answer.getErrorMessage()).isEmpty();
    assertThat(
            answer.getInferResponse().getParametersOrThrow("triton_final_response").getBoolParam())
        .isTrue();
    requests.onCompleted();
  }

  @Test
  void listsTheRepositoryForTriton() {
    var index = inference().repositoryIndex(RepositoryIndexRequest.getDefaultInstance());
    assertThat(index.getModelsList())
        .extracting(ModelIndex::getName)
        .containsExactly("concat", "identity", "join", "split");
    assertThat(index.getModelsList())
        .allSatisfy(model -> {
          assertThat(model.getVersion()).isEqualTo("1");
          assertThat(model.getState()).isEqualTo("READY");
          assertThat(model.getReason()).isEmpty();
        });
  }

  @ParameterizedTest
  @CsvSource({
    "SystemSharedMemoryStatus, Shared memory is",
    "SystemSharedMemoryRegister, Shared memory is",
    "SystemSharedMemoryUnregister, Shared memory is",
    "CudaSharedMemoryStatus, Shared memory is",
    "CudaSharedMemoryRegister, Shared memory is",
    "CudaSharedMemoryUnregister, Shared memory is",
    "RepositoryModelLoad, Load and unload are",
    "RepositoryModelUnload, Load and unload are"
  })
  void rejectsOtherMethodsOfTritonByName(String method, String what) {
    var refusal = refusal(() -> call(method, new Message().text(1, "region")));
    assertThat(refusal.status()).isEqualTo(Status.Code.UNIMPLEMENTED);
    assertThat(refusal.reason()).isEqualTo("method-not-allowed");
    assertThat(refusal.message()).startsWith(what + " not supported. ");
  }

  /** The encoding equals that of the generated code, as in clients of other languages. */
  @Test
  void encodingEqualsTheGeneratedCode() throws IOException {
    var request = ModelInferRequest.parseFrom(triton().toByteArray());
    assertThat(request.getInputs(0).getShapeList()).containsExactly(2L);
    assertThat(request.toByteString()).isEqualTo(ByteString.copyFrom(triton().toByteArray()));
  }
}
