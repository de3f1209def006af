package dev.athanor.service.rest.http;

import dev.athanor.service.codec.Json;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.metrics.Traces;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import org.springframework.http.HttpStatus;
import tools.jackson.core.JsonGenerator;

/** The one place where failures become answers: RFC 9457 problems. */
public final class Problems {

  /** The request attribute that holds the op's name where there is one. */
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
      // nobody is there to read it
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

  /** Answers a request with a failure. */
  public static void write(
      HttpServletRequest request, HttpServletResponse response, Failure failure)
      throws IOException {
    var code = failure.code();
    int status = status(code).value();
    response.resetBuffer();
    response.setStatus(status);
    response.setContentType("application/problem+json");
    if (failure instanceof Failure.Busy busy) {
      retryAfter(response, busy.retryAfter());
    } else if (failure instanceof Failure.Incomplete incomplete
        && (status == 429 || status == 503)) {
      retryAfter(response, incomplete.retryAfter());
    }
    var text = new ByteArrayOutputStream();
    try (var out = Json.write(text)) {
      out.writeStartObject();
      out.writeStringProperty("type", "urn:athanor:problem:" + code.text());
      out.writeStringProperty("title", title(code));
      out.writeNumberProperty("status", status);
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
          marks(out, "done", e.done());
          marks(out, "failed", e.failed());
        }
        case Failure.Internal e -> out.writeStringProperty("id", e.id());
        case Failure.Refused _, Failure.Busy _, Failure.TooLate _ -> {}
      }
      var trace = Traces.id();
      if (trace != null) {
        out.writeStringProperty("traceId", trace);
      }
      out.writeEndObject();
    }
    if (closes(status) && !Connections.isBodyRead()) {
      response.setHeader("Connection", "close");
    }
    response.setContentLength(text.size());
    text.writeTo(response.getOutputStream()); // which stays open: with it the body would be closed
  }

  private static void retryAfter(HttpServletResponse response, Duration delay) {
    response.setHeader("Retry-After", Long.toString(Math.max(delay.toSeconds(), 1)));
  }

  private static void marks(JsonGenerator out, String name, List<String> replicas) {
    out.writeName(name);
    out.writeStartArray();
    replicas.forEach(out::writeString);
    out.writeEndArray();
  }

  /** Whether the refusal holds for whatever the client would send on the same connection. */
  private static boolean closes(int status) {
    return status == 401 || status == 403 || status == 413 || status == 415;
  }

  /** A failure for an answer that the container or Spring chose by its status alone. */
  public static Failure of(int status) {
    return switch (status) {
      case 404 ->
          new Failure.Refused(
              Code.NOT_FOUND,
              "there is nothing at this path; GET /openapi.yaml describes what there is");
      case 405 ->
          new Failure.Refused(
              Code.METHOD_NOT_ALLOWED,
              "this path does not take this method; the header Allow names those it takes");
      case 406 ->
          new Failure.Refused(
              Code.NOT_ACCEPTABLE,
              "Accept",
              "this path cannot answer in the form that Accept names");
      case 408 ->
          new Failure.Refused(
              Code.DEADLINE_EXCEEDED, "the body stopped arriving, and the request was given up");
      case 413 -> new Failure.Refused(Code.TOO_LARGE, "the request is too large");
      case 415 ->
          new Failure.Refused(
              Code.UNSUPPORTED_MEDIA_TYPE,
              "Content-Type",
              "this path does not take a body of this Content-Type");
      default -> new Failure.Refused(Code.MALFORMED_BODY, "the request is malformed");
    };
  }
}
