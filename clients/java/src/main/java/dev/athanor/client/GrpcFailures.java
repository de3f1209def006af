package dev.athanor.client;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import java.net.ConnectException;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/** Translates gRPC failures to the codes, statuses and members of HTTP. */
final class GrpcFailures {

  private static final Map<String, Integer> STATUSES =
      Map.ofEntries(
          Map.entry("unauthenticated", 401),
          Map.entry("forbidden", 403),
          Map.entry("not-found", 404),
          Map.entry("unknown-op", 404),
          Map.entry("unknown-handle", 404),
          Map.entry("method-not-allowed", 405),
          Map.entry("not-acceptable", 406),
          Map.entry("handle-in-use", 409),
          Map.entry("expired-handle", 410),
          Map.entry("version-mismatch", 412),
          Map.entry("too-large", 413),
          Map.entry("unsupported-media-type", 415),
          Map.entry("range-not-satisfiable", 416),
          Map.entry("wrong-replica", 421),
          Map.entry("unsupported-on-device", 422),
          Map.entry("idempotency-key-reused", 422),
          Map.entry("queue-full", 429),
          Map.entry("out-of-host-memory", 429),
          Map.entry("quota-exceeded", 429),
          Map.entry("cancelled", 499),
          Map.entry("internal", 500),
          Map.entry("draining", 503),
          Map.entry("identity-provider-unavailable", 503),
          Map.entry("replica-unavailable", 503),
          Map.entry("device-lost", 503),
          Map.entry("deadline-exceeded", 504),
          Map.entry("out-of-device-memory", 507));

  private GrpcFailures() {}

  static AthanorException of(Throwable thrown, String url) {
    return of(Status.fromThrowable(thrown), thrown, url);
  }

  private static AthanorException of(Status status, Throwable thrown, String url) {
    ErrorInfo info = null;
    Duration retryAfter = null;
    var details = StatusProto.fromThrowable(thrown);
    try {
      for (var detail :
          details == null
              ? java.util.List.<com.google.protobuf.Any>of()
              : details.getDetailsList()) {
        if (detail.is(ErrorInfo.class)) {
          info = detail.unpack(ErrorInfo.class);
        } else if (detail.is(RetryInfo.class)) {
          var delay = detail.unpack(RetryInfo.class).getRetryDelay();
          retryAfter = Duration.ofSeconds(delay.getSeconds(), delay.getNanos());
        }
      }
    } catch (InvalidProtocolBufferException e) {
      return Failures.malformed("cannot parse the status details: " + e.getMessage(), e);
    }
    return info == null
        ? ofLibrary(status, thrown, url)
        : new AthanorException(
            problem(info, String.valueOf(status.getDescription()), retryAfter), thrown);
  }

  private static AthanorException.Problem problem(
      ErrorInfo info, String detail, @Nullable Duration retryAfter) {
    var members = info.getMetadataMap();
    var step = members.get("step");
    return new AthanorException.Problem(
        info.getReason(),
        STATUSES.getOrDefault(info.getReason(), 400),
        detail,
        members.get("traceId"),
        retryAfter,
        members.get("op"),
        members.get("field"),
        step == null ? null : Integer.valueOf(step),
        members.get("replica"));
  }

  /** Translates the failure of a call that did not reach the service or that gRPC rejected. */
  private static AthanorException ofLibrary(Status status, Throwable thrown, String url) {
    var detail = status.getDescription() == null ? status.toString() : status.getDescription();
    return switch (status.getCode()) {
      case DEADLINE_EXCEEDED -> Failures.deadlineExceeded(thrown);
      case UNAVAILABLE -> unavailable(status.getCause(), detail, thrown, url);
      case RESOURCE_EXHAUSTED ->
          new AthanorException(AthanorException.Problem.of("too-large", 413, detail), thrown);
      default -> {
        var code = status.getCode().name().toLowerCase(Locale.ROOT).replace('_', '-');
        yield new AthanorException(
            AthanorException.Problem.of(code, STATUSES.getOrDefault(code, 500), detail), thrown);
      }
    };
  }

  private static AthanorException unavailable(
      @Nullable Throwable cause, String detail, Throwable thrown, String url) {
    for (var each = cause; each != null; each = each.getCause()) {
      if (each instanceof SSLException ssl && Failures.isHandshake(ssl)) {
        return Failures.tlsFailed(ssl);
      }
    }
    return cause instanceof ConnectException
        ? Failures.unreachable(url, String.valueOf(cause.getMessage()), thrown)
        : new AthanorException(
            AthanorException.CONNECTION_LOST, "The connection was lost: " + detail, thrown);
  }
}
