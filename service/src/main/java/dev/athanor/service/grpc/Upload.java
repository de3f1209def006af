package dev.athanor.service.grpc;

import com.google.protobuf.ByteString;
import dev.athanor.service.codec.ByteSource;
import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.failure.MinimumRate;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A header followed by bytes that a client streams. At most one message is prefetched, so that the
 * client cannot outrun the reader and does not wait for it either.
 *
 * @param <Q> the type of messages
 * @param <H> the type of the header
 */
final class Upload<Q, H> extends ByteSource implements StreamObserver<Q> {

  /** Messages requested ahead of the reader. */
  private static final int AHEAD = 2;

  private final ServerCallStreamObserver<?> call;
  private final Duration idle;
  private final Function<Q, @Nullable H> header;
  private final Function<Q, ByteString> chunkOf;
  private final MinimumRate minimumRate;

  /** Messages that have arrived but are not read yet; an empty element marks the end. */
  private final BlockingQueue<Optional<Q>> arrived = new ArrayBlockingQueue<>(AHEAD + 1);

  private Deadline deadline = Deadline.none();
  private ByteString chunk = ByteString.EMPTY;
  private int at;
  private boolean ended;

  /**
   * @param idle maximum time to wait for a message
   * @param header returns the header of a message; null if it has none
   * @param chunk returns the bytes of a message; empty if it has none
   */
  Upload(
      ServerCallStreamObserver<?> call,
      Duration idle,
      Function<Q, @Nullable H> header,
      Function<Q, ByteString> chunk) {
    this.call = call;
    this.idle = idle;
    this.header = header;
    this.chunkOf = chunk;
    minimumRate = new MinimumRate(idle);
    call.disableAutoRequest();
  }

  // -- called by gRPC

  @Override
  public void onNext(Q message) {
    arrived.add(Optional.of(message));
  }

  @Override
  public void onCompleted() {
    arrived.add(Optional.empty());
  }

  /** Ignored: the reading thread is interrupted when the client disconnects. */
  @Override
  public void onError(Throwable gone) {}

  // -- called by the reader

  /**
   * Returns the header, which is the first message.
   *
   * @throws Failure.Refused with {@code malformed-body} if the first message is not a header
   */
  H header(Deadline within) {
    deadline = within;
    call.request(AHEAD);
    var first = next();
    var given = first == null ? null : header.apply(first);
    if (given == null) {
      throw new Failure.Refused(
          Code.MALFORMED_BODY, "header", "the first message of the stream must be a header");
    }
    return given;
  }

  @Override
  public int read(byte[] target, int offset, int length) {
    return read(ByteBuffer.wrap(target, offset, length));
  }

  @Override
  public int read(ByteBuffer target) {
    if (at == chunk.size()) {
      var message = ended ? null : next();
      if (message == null) {
        ended = true;
        return -1;
      }
      chunk = checked(message);
      at = 0;
    }
    int count = Math.min(target.remaining(), chunk.size() - at);
    chunk.substring(at, at + count).copyTo(target);
    at += count;
    return count;
  }

  private ByteString checked(Q message) {
    var bytes = chunkOf.apply(message);
    if (bytes.isEmpty()) {
      throw new Failure.Refused(
          Code.MALFORMED_BODY, "chunk", "every message after the header must be a chunk of bytes");
    }
    int size = bytes.size();
    if (size > GrpcSettings.MAX_CHUNK) {
      throw new Failure.Refused(
          Code.TOO_LARGE,
          "chunk",
          "a chunk has %d bytes; the limit is %d bytes".formatted(size, GrpcSettings.MAX_CHUNK));
    }
    return bytes;
  }

  /** Returns the next message; null at the end. */
  private @Nullable Q next() {
    long began = System.nanoTime();
    try {
      long left = deadline.remainingNanos();
      var message = arrived.poll(Math.min(left, idle.toNanos()), TimeUnit.NANOSECONDS);
      if (message == null) {
        deadline.check();
        throw MessageSender.idle("no message arrived", idle);
      }
      call.request(1);
      minimumRate.received(
          message.map(each -> chunkOf.apply(each).size()).orElse(0), System.nanoTime() - began);
      return message.orElse(null);
    } catch (InterruptedException e) {
      throw MessageSender.gone();
    }
  }
}
