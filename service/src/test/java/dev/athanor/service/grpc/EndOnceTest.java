package dev.athanor.service.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.service.grpc.interceptor.EndOnce;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCall;
import io.grpc.Status;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class EndOnceTest {

  private final List<String> sent = new ArrayList<>();

  /** Fails like gRPC's own calls. */
  private final class Strict extends ServerCall<byte[], byte[]> {
    private boolean closed;

    @Override
    public void request(int count) {}

    @Override
    public void sendHeaders(Metadata headers) {
      send("headers");
    }

    @Override
    public void sendMessage(byte[] message) {
      send("message");
    }

    @Override
    public void close(Status status, Metadata trailers) {
      send(status.getCode().toString());
      closed = true;
    }

    private void send(String what) {
      if (closed) {
        throw new IllegalStateException("call already closed");
      }
      sent.add(what);
    }

    @Override
    public boolean isCancelled() {
      return false;
    }

    @Override
    public MethodDescriptor<byte[], byte[]> getMethodDescriptor() {
      return RawMessages.unary("athanor.v1.Tensors/Put");
    }
  }

  @Test
  void ignoresResponsesAfterTheEnd() {
    var guarded = new ArrayList<ServerCall<byte[], byte[]>>();
    var _ =
        new EndOnce()
            .interceptCall(
                new Strict(),
                new Metadata(),
                (each, _) -> {
                  guarded.add(each);
                  return new ServerCall.Listener<>() {};
                });
    var call = guarded.getFirst();
    call.sendHeaders(new Metadata());
    call.sendMessage(new byte[1]);
    call.close(Status.INVALID_ARGUMENT, new Metadata());

    call.sendHeaders(new Metadata());
    call.sendMessage(new byte[1]);
    call.close(Status.CANCELLED, new Metadata());

    assertThat(sent).containsExactly("headers", "message", "INVALID_ARGUMENT");
  }
}
