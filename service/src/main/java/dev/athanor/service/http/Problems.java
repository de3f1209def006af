package dev.athanor.service.http;

import dev.athanor.service.codec.Json;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.metrics.Traces;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.List;
import java.util.Optional;
import org.apache.coyote.BadRequestException;
import org.apache.tomcat.util.http.InvalidParameterException;
import org.springframework.http.HttpStatus;
import org.springframework.http.converter.HttpMessageNotWritableException;
import org.springframework.security.web.firewall.RequestRejectedException;
import org.springframework.web.ErrorResponse;
import tools.jackson.core.JsonGenerator;

/** Converts failures into RFC 9457 problem responses. */
public final class Problems {

  /** The request attribute with the name of the op, if any. */
  public static final String OP = Problems.class.getName() + ".op";

  private Problems() {}

  static HttpStatus status(Code code) {
    return switch (code) {
      case MALFORMED_BODY,
          INVALID_TENSOR,
          SHAPE_MISMATCH,
          UNSUPPORTED_DTYPE,
          INVALID_ATTRIBUTE,
          MISSING_INPUT,
          UNKNOWN_FIELD ->
          HttpStatus.BAD_REQUEST;
      case UNAUTHENTICATED -> HttpStatus.UNAUTHORIZED;
      case FORBIDDEN -> HttpStatus.FORBIDDEN;
      case NOT_FOUND, UNKNOWN_OP, UNKNOWN_HANDLE -> HttpStatus.NOT_FOUND;
      case METHOD_NOT_ALLOWED -> HttpStatus.METHOD_NOT_ALLOWED;
      case NOT_ACCEPTABLE -> HttpStatus.NOT_ACCEPTABLE;
      case HANDLE_IN_USE -> HttpStatus.CONFLICT;
      case WRONG_REPLICA -> HttpStatus.MISDIRECTED_REQUEST;
      case EXPIRED_HANDLE -> HttpStatus.GONE;
      case VERSION_MISMATCH -> HttpStatus.PRECONDITION_FAILED;
      case TOO_LARGE -> HttpStatus.CONTENT_TOO_LARGE;
      case UNSUPPORTED_MEDIA_TYPE -> HttpStatus.UNSUPPORTED_MEDIA_TYPE;
      case RANGE_NOT_SATISFIABLE -> HttpStatus.REQUESTED_RANGE_NOT_SATISFIABLE;
      case UNSUPPORTED_ON_DEVICE, IDEMPOTENCY_KEY_REUSED -> HttpStatus.UNPROCESSABLE_CONTENT;
      case QUEUE_FULL, QUOTA_EXCEEDED, OUT_OF_HOST_MEMORY -> HttpStatus.TOO_MANY_REQUESTS;
      case INTERNAL -> HttpStatus.INTERNAL_SERVER_ERROR;
      // the client has disconnected, so the status is never read
      case DRAINING, IDENTITY_PROVIDER_UNAVAILABLE, REPLICA_UNAVAILABLE, DEVICE_LOST, CANCELLED ->
          HttpStatus.SERVICE_UNAVAILABLE;
      case DEADLINE_EXCEEDED -> HttpStatus.GATEWAY_TIMEOUT;
      case OUT_OF_DEVICE_MEMORY -> HttpStatus.INSUFFICIENT_STORAGE;
    };
  }

  private static String title(Code code) {
    var words = code.text().replace('-', ' ');
    return Character.toUpperCase(words.charAt(0)) + words.substring(1);
  }

  /** Sends a failure as the response. */
  public static void write(
      HttpServletRequest request, HttpServletResponse response, Failure failure)
      throws IOException {
    var code = failure.code();
    int status = status(code).value();
    response.resetBuffer();
    response.setStatus(status);
    response.setContentType("application/problem+json");
    var delay = failure.retryAfter();
    if (delay != null) {
      response.setHeader("Retry-After", Long.toString(Math.max(delay.toSeconds(), 1)));
    }
    var text = new ByteArrayOutputStream();
    write(request, failure, text);
    if (!Connections.isBodyRead()
        && (closes(status) || !Connections.discardArrivedBody())
        && Connections.needsWholeBody()) {
      response.setHeader("Connection", "close");
    }
    response.setContentLength(text.size());
    text.writeTo(
        response.getOutputStream()); // not closed, since that would also close the request body
  }

  /** Writes a failure as a JSON object. */
  public static void write(HttpServletRequest request, Failure failure, OutputStream to) {
    var code = failure.code();
    try (var out = Json.write(to)) {
      out.writeStartObject();
      out.writeStringProperty("type", "urn:athanor:problem:" + code.text());
      out.writeStringProperty("title", title(code));
      out.writeNumberProperty("status", status(code).value());
      out.writeStringProperty("detail", failure.getMessage());
      out.writeStringProperty("error", failure.getMessage());
      var step = failure.step();
      var op = step == null ? request.getAttribute(OP) : step.op();
      if (op instanceof String name) {
        out.writeStringProperty("op", name);
      }
      if (step != null) {
        out.writeNumberProperty("step", step.index());
      }
      if (failure.field() != null) {
        out.writeStringProperty("field", failure.field());
      }
      switch (failure) {
        case Failure.OutOfDeviceMemory e -> {
          out.writeNumberProperty("requestedBytes", e.requestedBytes());
          out.writeNumberProperty("freeBytes", e.freeBytes());
        }
        case Failure.WrongReplica e -> {
          out.writeStringProperty("replica", e.replica());
          if (e.url() != null) {
            out.writeStringProperty("replicaUrl", e.url());
          }
        }
        case Failure.Incomplete e -> {
          ids(out, "done", e.done());
          ids(out, "failed", e.failed());
        }
        case Failure.Internal e -> out.writeStringProperty("id", e.id());
        case Failure.Refused _, Failure.Busy _, Failure.DeadlineExceeded _ -> {}
      }
      var trace = Traces.id();
      if (trace != null) {
        out.writeStringProperty("traceId", trace);
      }
      out.writeEndObject();
    }
  }

  private static void ids(JsonGenerator out, String name, List<String> replicas) {
    out.writeName(name);
    out.writeStartArray();
    replicas.forEach(out::writeString);
    out.writeEndArray();
  }

  /**
   * Returns the failure for an exception that the client caused: a disconnection or an invalid
   * request that a library detected; empty for faults of the service.
   */
  public static Optional<Failure> ofClient(Throwable thrown) {
    return switch (thrown) {
      case Failure failure -> Optional.of(failure);
      // headers and parameters are parsed lazily
      case RequestRejectedException _, InvalidParameterException _ -> Optional.of(of(400));
      // an Accept header that no response format satisfies, such as JSON in UTF-16
      case HttpMessageNotWritableException fault when fault.getCause() == null ->
          Optional.of(of(406));
      case ErrorResponse refusal when refusal.getStatusCode().is4xxClientError() ->
          Optional.of(of(refusal.getStatusCode().value()));
      default -> isDisconnection(thrown) ? Optional.of(Failure.clientGone()) : Optional.empty();
    };
  }

  /**
   * Whether an exception was caused by reading from or writing to the client. Libraries wrap such
   * exceptions in their own.
   */
  public static boolean isDisconnection(Throwable thrown) {
    for (Throwable cause = thrown; cause != null; cause = cause.getCause()) {
      if (cause instanceof BadRequestException) {
        return true;
      }
    }
    return false;
  }

  /** Whether the same error would apply to everything else on this connection. */
  private static boolean closes(int status) {
    return status == 401 || status == 403 || status == 413 || status == 415;
  }

  /** Returns the failure for a status that the container or Spring has chosen. */
  public static Failure of(int status) {
    return switch (status) {
      case 404 -> new Failure.Refused(Code.NOT_FOUND, "No such endpoint. See GET /openapi.yaml.");
      case 405 ->
          new Failure.Refused(
              Code.METHOD_NOT_ALLOWED,
              "Method not allowed; the header Allow lists the methods of this path");
      case 406 ->
          new Failure.Refused(
              Code.NOT_ACCEPTABLE, "Accept", "this path cannot produce any media type in Accept");
      case 408 ->
          new Failure.Refused(Code.DEADLINE_EXCEEDED, "Timeout while reading the request body");
      case 413 -> new Failure.Refused(Code.TOO_LARGE, "the request is too large");
      case 415 ->
          new Failure.Refused(
              Code.UNSUPPORTED_MEDIA_TYPE,
              "Content-Type",
              "this path does not support this Content-Type");
      default -> new Failure.Refused(Code.MALFORMED_BODY, "the request is malformed");
    };
  }
}
