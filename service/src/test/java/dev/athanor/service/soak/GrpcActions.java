package dev.athanor.service.soak;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import dev.athanor.api.inference.GRPCInferenceServiceGrpc;
import dev.athanor.api.inference.InferParameter;
import dev.athanor.api.inference.ModelInferRequest;
import dev.athanor.api.v1.AttributeValue;
import dev.athanor.api.v1.DeleteRequest;
import dev.athanor.api.v1.GetRequest;
import dev.athanor.api.v1.InputTensor;
import dev.athanor.api.v1.NewTensor;
import dev.athanor.api.v1.OpsGrpc;
import dev.athanor.api.v1.PutHeader;
import dev.athanor.api.v1.PutRequest;
import dev.athanor.api.v1.PutResponse;
import dev.athanor.api.v1.RunRequest;
import dev.athanor.api.v1.TensorData;
import dev.athanor.api.v1.TensorsGrpc;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import dev.athanor.service.openinference.Datatypes;
import io.grpc.Channel;
import io.grpc.ClientInterceptor;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** The actions of clients over gRPC. */
final class GrpcActions {

  private static final long TIMEOUT_SECONDS = 3600;
  private static final int MAX_BYTES = 256 << 10;
  private static final Set<String> BUSY =
      Set.of("queue-full", "out-of-host-memory", "quota-exceeded", "draining", "device-lost");
  private static final Metadata.Key<String> KEY =
      Metadata.Key.of("x-api-key", Metadata.ASCII_STRING_MARSHALLER);
  private static final Metadata.Key<String> PRIORITY =
      Metadata.Key.of("x-priority", Metadata.ASCII_STRING_MARSHALLER);

  private final Channel channel;

  GrpcActions(Channel channel) {
    this.channel = channel;
  }

  Map<String, Turn.Action> all() {
    var actions = new LinkedHashMap<String, Turn.Action>();
    actions.put("gRPC op", checked(this::run));
    actions.put("gRPC op, deadline", checked(this::runWithDeadline));
    actions.put("gRPC op, cancelled", checked(this::cancel));
    actions.put("gRPC tensor's life", checked(this::life));
    actions.put("gRPC OIP", checked(this::infer));
    return actions;
  }

  /** Checks errors against the API contract. */
  private static Turn.Action checked(Turn.Action action) {
    return turn -> {
      try {
        action.of(turn);
      } catch (StatusRuntimeException e) {
        throw refusal(e);
      } catch (CompletionException e) {
        throw e.getCause() instanceof StatusRuntimeException status ? refusal(status) : e;
      }
    };
  }

  private static Exception refusal(StatusRuntimeException thrown)
      throws InvalidProtocolBufferException {
    var details = StatusProto.fromThrowable(thrown);
    String code = null;
    boolean retry = false;
    for (var detail :
        details == null ? List.<com.google.protobuf.Any>of() : details.getDetailsList()) {
      if (detail.is(ErrorInfo.class)) {
        code = detail.unpack(ErrorInfo.class).getReason();
      } else {
        retry |= detail.is(RetryInfo.class);
      }
    }
    if (code == null && thrown.getStatus().getCode() == Status.Code.DEADLINE_EXCEEDED) {
      code = "deadline-exceeded"; // detected by the client library first
    }
    if (code == null || code.equals("internal")) {
      return thrown;
    }
    if (BUSY.contains(code) && !retry) {
      throw new AssertionError("%s has no retry delay".formatted(code), thrown);
    }
    return new Refusal(code, String.valueOf(thrown.getStatus().getDescription()));
  }

  private static ClientInterceptor as(Turn turn) {
    var metadata = new Metadata();
    metadata.put(KEY, turn.key());
    metadata.put(PRIORITY, Integer.toString(turn.priority()));
    return MetadataUtils.newAttachHeadersInterceptor(metadata);
  }

  private OpsGrpc.OpsBlockingStub ops(Turn turn) {
    return OpsGrpc.newBlockingStub(channel).withInterceptors(as(turn));
  }

  private static byte[] bytes(HostTensor tensor) {
    return tensor.data().toArray(ValueLayout.JAVA_BYTE);
  }

  private static RunRequest request(Sample sample) {
    var request = RunRequest.newBuilder().setOp(sample.name());
    for (var name : sample.inputs()) {
      var tensor = sample.input(name);
      request.putInputs(
          name,
          InputTensor.newBuilder()
              .setInline(
                  TensorData.newBuilder()
                      .setDtype(tensor.type().dtype().text())
                      .addAllShape(tensor.type().shape().extents())
                      .setData(ByteString.copyFrom(bytes(tensor))))
              .build());
    }
    sample
        .test()
        .attributes()
        .values()
        .forEach((name, value) -> request.putAttributes(name, attribute(value)));
    return request.build();
  }

  private static AttributeValue attribute(Object value) {
    var attribute = AttributeValue.newBuilder();
    return switch (value) {
      case Boolean flag -> attribute.setFlag(flag).build();
      case Long integer -> attribute.setInteger(integer).build();
      case Double number -> attribute.setNumber(number).build();
      default -> attribute.setText(value.toString()).build();
    };
  }

  private void run(Turn turn) {
    run(turn, TimeUnit.SECONDS.toMillis(TIMEOUT_SECONDS));
  }

  private void runWithDeadline(Turn turn) {
    run(turn, turn.millis());
  }

  private void run(Turn turn, long millis) {
    var answer =
        ops(turn).withDeadlineAfter(millis, TimeUnit.MILLISECONDS).run(request(turn.sample()));
    turn.sample()
        .check(name -> {
          var data = Objects.requireNonNull(answer.getOutputsMap().get(name), name).getInline();
          return tensor(data.getDtype(), data.getShapeList(), data.getData());
        });
  }

  private static HostTensor tensor(String dtype, List<Long> shape, ByteString data) {
    var extents = shape.stream().map(String::valueOf).collect(Collectors.joining(","));
    return new HostTensor(
        TensorType.parse("%s[%s]".formatted(dtype, extents)),
        MemorySegment.ofArray(data.toByteArray()));
  }

  /** Cancels a call at a random time. */
  private void cancel(Turn turn) {
    var answer =
        OpsGrpc.newFutureStub(channel).withInterceptors(as(turn)).run(request(turn.sample()));
    for (int i = turn.random().nextInt(1000); i > 0; i--) {
      Thread.onSpinWait();
    }
    answer.cancel(true);
  }

  /** Creates a tensor in chunks, reads a part of it and deletes it. */
  private void life(Turn turn) {
    var sent = turn.bytes(MAX_BYTES);
    var put = new CompletableFuture<PutResponse>();
    var requests =
        TensorsGrpc.newStub(channel)
            .withInterceptors(as(turn))
            .withDeadlineAfter(TIMEOUT_SECONDS, TimeUnit.SECONDS)
            .put(new Answer(put));
    requests.onNext(
        PutRequest.newBuilder()
            .setHeader(
                PutHeader.newBuilder()
                    .setDtype("u8")
                    .addShape(sent.length)
                    .setCreate(NewTensor.getDefaultInstance()))
            .build());
    int half = sent.length / 2;
    if (half > 0) {
      requests.onNext(chunk(sent, 0, half));
    }
    requests.onNext(chunk(sent, half, sent.length - half));
    requests.onCompleted();
    var handle = put.join().getTensor().getHandle();
    var tensors =
        TensorsGrpc.newBlockingStub(channel)
            .withInterceptors(as(turn))
            .withDeadlineAfter(TIMEOUT_SECONDS, TimeUnit.SECONDS);
    try {
      int from = turn.random().nextInt(sent.length);
      var got = ByteString.EMPTY;
      var answers =
          tensors.get(
              GetRequest.newBuilder()
                  .setHandle(handle)
                  .setOffset(from)
                  .setChunkBytes(32 << 10)
                  .build());
      while (answers.hasNext()) {
        got = got.concat(answers.next().getChunk());
      }
      if (!got.equals(ByteString.copyFrom(sent, from, sent.length - from))) {
        throw new AssertionError(
            "a tensor differs from the sent bytes after byte %d".formatted(from));
      }
    } finally {
      tensors.delete(DeleteRequest.newBuilder().setHandle(handle).build());
    }
  }

  private static PutRequest chunk(byte[] bytes, int from, int count) {
    return PutRequest.newBuilder().setChunk(ByteString.copyFrom(bytes, from, count)).build();
  }

  private record Answer(CompletableFuture<PutResponse> answer)
      implements StreamObserver<PutResponse> {
    @Override
    public void onNext(PutResponse response) {
      answer.complete(response);
    }

    @Override
    public void onError(Throwable thrown) {
      answer.completeExceptionally(thrown);
    }

    @Override
    public void onCompleted() {
      // the response has arrived
    }
  }

  private void infer(Turn turn) {
    var sample = turn.sample();
    var request = ModelInferRequest.newBuilder().setModelName(sample.name());
    for (var name : sample.inputs()) {
      var tensor = sample.input(name);
      request
          .addInputs(
              ModelInferRequest.InferInputTensor.newBuilder()
                  .setName(name)
                  .setDatatype(Datatypes.name(tensor.type().dtype()))
                  .addAllShape(tensor.type().shape().extents()))
          .addRawInputContents(ByteString.copyFrom(bytes(tensor)));
    }
    sample
        .test()
        .attributes()
        .values()
        .forEach((name, value) -> request.putParameters(name, parameter(value)));
    var answer =
        GRPCInferenceServiceGrpc.newBlockingStub(channel)
            .withInterceptors(as(turn))
            .withDeadlineAfter(TIMEOUT_SECONDS, TimeUnit.SECONDS)
            .modelInfer(request.build());
    sample.check(name -> {
      for (int i = 0; i < answer.getOutputsCount(); i++) {
        var output = answer.getOutputs(i);
        if (output.getName().equals(name)) {
          return tensor(
              Datatypes.of(output.getDatatype(), "datatype").text(),
              output.getShapeList(),
              answer.getRawOutputContents(i));
        }
      }
      throw new AssertionError("no output " + name);
    });
  }

  private static InferParameter parameter(Object value) {
    var parameter = InferParameter.newBuilder();
    return switch (value) {
      case Boolean flag -> parameter.setBoolParam(flag).build();
      case Long integer -> parameter.setInt64Param(integer).build();
      case Double number -> parameter.setDoubleParam(number).build();
      default -> parameter.setStringParam(value.toString()).build();
    };
  }
}
