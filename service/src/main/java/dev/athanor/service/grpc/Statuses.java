package dev.athanor.service.grpc;

import com.google.protobuf.Any;
import com.google.protobuf.Duration;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import dev.athanor.service.device.DeviceHealth;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.metrics.Traces;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import java.util.Objects;

/**
 * Converts failures into gRPC statuses: standard codes, with a {@code google.rpc.ErrorInfo} whose
 * reason is the code of the failure.
 */
final class Statuses {

  static final String DOMAIN = "athanor";

  private static final int MAX_TEXT = 1000;

  private Statuses() {}

  static Status.Code code(Code code) {
    return switch (code) {
      case MALFORMED_BODY,
          INVALID_TENSOR,
          SHAPE_MISMATCH,
          UNSUPPORTED_DTYPE,
          INVALID_ATTRIBUTE,
          MISSING_INPUT,
          UNKNOWN_FIELD,
          UNSUPPORTED_MEDIA_TYPE,
          NOT_ACCEPTABLE ->
          Status.Code.INVALID_ARGUMENT;
      case NOT_FOUND, UNKNOWN_OP, UNKNOWN_HANDLE, EXPIRED_HANDLE -> Status.Code.NOT_FOUND;
      case UNAUTHENTICATED -> Status.Code.UNAUTHENTICATED;
      case FORBIDDEN -> Status.Code.PERMISSION_DENIED;
      case METHOD_NOT_ALLOWED -> Status.Code.UNIMPLEMENTED;
      case WRONG_REPLICA, HANDLE_IN_USE, VERSION_MISMATCH, UNSUPPORTED_ON_DEVICE ->
          Status.Code.FAILED_PRECONDITION;
      case RANGE_NOT_SATISFIABLE -> Status.Code.OUT_OF_RANGE;
      case IDEMPOTENCY_KEY_REUSED -> Status.Code.ALREADY_EXISTS;
      case TOO_LARGE, QUEUE_FULL, QUOTA_EXCEEDED, OUT_OF_DEVICE_MEMORY, OUT_OF_HOST_MEMORY ->
          Status.Code.RESOURCE_EXHAUSTED;
      case DRAINING, IDENTITY_PROVIDER_UNAVAILABLE, REPLICA_UNAVAILABLE, DEVICE_LOST ->
          Status.Code.UNAVAILABLE;
      case DEADLINE_EXCEEDED -> Status.Code.DEADLINE_EXCEEDED;
      case CANCELLED -> Status.Code.CANCELLED;
      case INTERNAL -> Status.Code.INTERNAL;
    };
  }

  /** Converts an exception into a status; internal faults are logged and show only their id. */
  static StatusException of(Throwable thrown) {
    return switch (thrown) {
      case Failure failure -> of(failure);
      case StatusException status -> status;
      case StatusRuntimeException status -> of(status);
      case RuntimeException fault -> of(DeviceHealth.internal(fault));
      default -> of(DeviceHealth.internal(new IllegalStateException(thrown)));
    };
  }

  /** Converts an exception into the message of its status. */
  static com.google.rpc.Status message(Throwable thrown) {
    return Objects.requireNonNull(StatusProto.fromThrowable(of(thrown)), "it has a status");
  }

  /**
   * Converts an error of the gRPC library while it reads a request, which is the client's fault.
   */
  private static StatusException of(StatusRuntimeException thrown) {
    if (thrown.getCause() instanceof InvalidProtocolBufferException) {
      return of(
          new Failure.Refused(
              Code.MALFORMED_BODY,
              "the message cannot be parsed as the request type of this method"));
    }
    if (thrown.getStatus().getCode() == Status.Code.RESOURCE_EXHAUSTED) {
      return of(
          new Failure.Refused(Code.TOO_LARGE, "the decompressed message exceeds the size limit"));
    }
    return new StatusException(thrown.getStatus(), thrown.getTrailers());
  }

  private static StatusException of(Failure failure) {
    var status =
        com.google.rpc.Status.newBuilder()
            .setCode(code(failure.code()).value())
            .setMessage(bounded(String.valueOf(failure.getMessage())))
            .addDetails(Any.pack(info(failure)));
    var delay = failure.retryAfter();
    if (delay != null) {
      status.addDetails(
          Any.pack(
              RetryInfo.newBuilder()
                  .setRetryDelay(
                      Duration.newBuilder()
                          .setSeconds(delay.toSeconds())
                          .setNanos(delay.toNanosPart()))
                  .build()));
    }
    return StatusProto.toStatusException(status.build());
  }

  /**
   * Truncates a text, since clients limit trailers to a few kilobytes and a text may occur twice.
   */
  private static String bounded(String text) {
    return text.length() <= MAX_TEXT ? text : text.substring(0, MAX_TEXT) + "…";
  }

  private static ErrorInfo info(Failure failure) {
    var info = ErrorInfo.newBuilder().setReason(failure.code().text()).setDomain(DOMAIN);
    var field = failure.field();
    if (field != null) {
      info.putMetadata("field", bounded(field));
    }
    var step = failure.step();
    if (step != null) {
      info.putMetadata("step", Integer.toString(step.index()));
    }
    var op = failure.op();
    if (op != null) {
      info.putMetadata("op", bounded(op));
    }
    switch (failure) {
      case Failure.OutOfDeviceMemory e -> {
        info.putMetadata("requestedBytes", Long.toString(e.requestedBytes()));
        info.putMetadata("freeBytes", Long.toString(e.freeBytes()));
      }
      case Failure.WrongReplica e -> {
        info.putMetadata("replica", e.replica());
        if (e.url() != null) {
          info.putMetadata("url", e.url());
        }
      }
      case Failure.Incomplete e -> {
        info.putMetadata("done", String.join(",", e.done()));
        info.putMetadata("failed", String.join(",", e.failed()));
      }
      case Failure.Internal e -> info.putMetadata("id", e.id());
      case Failure.Refused _, Failure.Busy _, Failure.DeadlineExceeded _ -> {}
    }
    var trace = Traces.id();
    if (trace != null) {
      info.putMetadata("traceId", trace);
    }
    return info.build();
  }
}
