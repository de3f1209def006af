package dev.athanor.cli.load;

import com.google.protobuf.UnsafeByteOperations;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import dev.athanor.api.v1.GetRequest;
import dev.athanor.api.v1.OpsGrpc;
import dev.athanor.api.v1.PutHeader;
import dev.athanor.api.v1.PutRequest;
import dev.athanor.api.v1.Replacement;
import dev.athanor.api.v1.RunRequest;
import dev.athanor.api.v1.TensorsGrpc;
import dev.athanor.api.v1.Timing;
import dev.athanor.ops.TensorType;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.StatusException;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.MetadataUtils;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Sends requests over the service's own gRPC, in plain text, and takes the answers apart. */
final class GrpcClient implements AutoCloseable {

  /** As large as the service's own messages. */
  private static final int CHUNK = 1 << 19;

  private static final byte[] NOTHING = {};

  private final String target;
  private final Metadata headers = new Metadata();
  private @Nullable ManagedChannel channel;

  /** Connects nowhere yet: most scenarios do without. */
  GrpcClient(String target, Map<String, String> headers) {
    this.target = target;
    headers.forEach((name, value) ->
        this.headers.put(
            Metadata.Key.of(name.toLowerCase(Locale.ROOT), Metadata.ASCII_STRING_MARSHALLER),
            value));
  }

  private synchronized ManagedChannel channel() {
    var open = channel;
    if (open == null) {
      open =
          Grpc.newChannelBuilder(target, InsecureChannelCredentials.create())
              .intercept(MetadataUtils.newAttachHeadersInterceptor(headers))
              .maxInboundMessageSize(Integer.MAX_VALUE)
              .build();
      channel = open;
    }
    return open;
  }

  /** The stream that replaces the contents of a tensor; the bytes are not copied. */
  static List<PutRequest> replacing(String handle, TensorType type, byte[] contents) {
    var messages = new ArrayList<PutRequest>();
    messages.add(
        PutRequest.newBuilder()
            .setHeader(
                PutHeader.newBuilder()
                    .setDtype(type.dtype().text())
                    .addAllShape(type.shape().extents())
                    .setReplace(Replacement.newBuilder().setHandle(handle)))
            .build());
    for (int at = 0; at < contents.length; at += CHUNK) {
      int length = Math.min(CHUNK, contents.length - at);
      messages.add(
          PutRequest.newBuilder()
              .setChunk(UnsafeByteOperations.unsafeWrap(contents, at, length))
              .build());
    }
    return messages;
  }

  Client.Answer put(List<PutRequest> messages) throws IOException, InterruptedException {
    return answer(() -> {
      var call = TensorsGrpc.newBlockingV2Stub(channel()).withOnReadyThreshold(CHUNK).put();
      for (var message : messages) {
        if (!call.write(message)) {
          break; // it was refused, which the read says
        }
      }
      call.halfClose();
      var _ = call.read();
      return answer(NOTHING, Map.of());
    });
  }

  /** Reads a tensor; {@code keep} as for {@link Client#send}. */
  Client.Answer get(String handle, boolean keep) throws IOException, InterruptedException {
    var request = GetRequest.newBuilder().setHandle(handle).build();
    return answer(() -> {
      var call = TensorsGrpc.newBlockingV2Stub(channel()).get(request);
      var body = new ByteArrayOutputStream();
      for (var message = call.read(); message != null; message = call.read()) {
        if (keep) {
          message.getChunk().writeTo(body);
        }
      }
      return answer(body.toByteArray(), Map.of());
    });
  }

  /** Runs an op; the body is the message of the answer. */
  Client.Answer run(RunRequest request) throws IOException, InterruptedException {
    return answer(() -> {
      var response = OpsGrpc.newBlockingV2Stub(channel()).run(request);
      return answer(response.toByteArray(), phases(response.getTiming()));
    });
  }

  private static Map<String, Long> phases(Timing timing) {
    return Map.of(
        "prepare", nanos(timing.getPrepareMicros()),
        "queue", nanos(timing.getQueueMicros()),
        "upload", nanos(timing.getUploadMicros()),
        "kernel", nanos(timing.getKernelMicros()),
        "download", nanos(timing.getDownloadMicros()),
        "total", nanos(timing.getTotalMicros()));
  }

  private static long nanos(double micros) {
    return Math.round(micros * 1e3);
  }

  private static Client.Answer answer(byte[] body, Map<String, Long> phases) {
    return new Client.Answer(body, phases, Optional.empty(), Optional.empty());
  }

  private interface Exchange {
    Client.Answer send() throws StatusException, IOException, InterruptedException;
  }

  private static Client.Answer answer(Exchange exchange) throws IOException, InterruptedException {
    try {
      return exchange.send();
    } catch (StatusException e) {
      return refusal(e);
    }
  }

  /**
   * What the service refused.
   *
   * @throws IOException when it was not the service that did
   */
  private static Client.Answer refusal(StatusException e) throws IOException {
    Optional<String> problem = Optional.empty();
    Optional<String> retryAfter = Optional.empty();
    for (var detail : Objects.requireNonNull(StatusProto.fromThrowable(e)).getDetailsList()) {
      if (detail.is(ErrorInfo.class)) {
        problem = Optional.of(detail.unpack(ErrorInfo.class).getReason());
      } else if (detail.is(RetryInfo.class)) {
        long seconds = detail.unpack(RetryInfo.class).getRetryDelay().getSeconds();
        retryAfter = Optional.of(Long.toString(seconds));
      }
    }
    if (problem.isEmpty()) {
      throw new IOException(e);
    }
    return new Client.Answer(NOTHING, Map.of(), retryAfter, problem);
  }

  @Override
  public synchronized void close() {
    if (channel != null) {
      channel.shutdownNow();
    }
  }
}
