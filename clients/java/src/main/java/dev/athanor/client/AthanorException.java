package dev.athanor.client;

import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * A failed call. {@link #code} is an error code of the service, such as {@code shape-mismatch} or
 * {@code queue-full}, or one of the client: {@code unreachable} (no connection, nothing was sent),
 * {@code connection-lost}, {@code tls-failed}, {@code deadline-exceeded}, {@code interrupted},
 * {@code closed}, {@code malformed-answer}.
 */
public final class AthanorException extends RuntimeException {

  static final String UNREACHABLE = "unreachable";
  static final String CONNECTION_LOST = "connection-lost";
  static final String TLS_FAILED = "tls-failed";
  static final String CLOSED = "closed";
  static final String DEADLINE_EXCEEDED = "deadline-exceeded";

  /** The service's description of a failure; {@code status} is 0 if it did not respond. */
  record Problem(
      String code,
      int status,
      String detail,
      @Nullable String traceId,
      @Nullable Duration retryAfter,
      @Nullable String op,
      @Nullable String field,
      @Nullable Integer step,
      @Nullable String replica) {

    static Problem ofClient(String code, String detail) {
      return of(code, code.equals(DEADLINE_EXCEEDED) ? 504 : 0, detail);
    }

    static Problem of(String code, int status, String detail) {
      return new Problem(code, status, detail, null, null, null, null, null, null);
    }
  }

  private final transient Problem problem;
  private transient boolean isFinal;

  AthanorException(Problem problem, @Nullable Throwable cause) {
    super("%s (%s)".formatted(problem.detail(), problem.code()), cause);
    this.problem = problem;
  }

  AthanorException(String code, String detail, @Nullable Throwable cause) {
    this(Problem.ofClient(code, detail), cause);
  }

  /** Forbids a retry, which would repeat what the call has already done, and returns this. */
  AthanorException withoutRetry() {
    isFinal = true;
    return this;
  }

  boolean isFinal() {
    return isFinal;
  }

  /** Returns this failure with the stack trace of the calling thread. */
  AthanorException here() {
    return new AthanorException(problem, this);
  }

  /** Returns the code, such as {@code shape-mismatch}. */
  public String code() {
    return problem.code();
  }

  /** Returns the HTTP status, also over gRPC; 0 if the service did not respond. */
  public int status() {
    return problem.status();
  }

  /** Returns the description of the failure. */
  public String detail() {
    return problem.detail();
  }

  /** Returns the ID of the trace (W3C Trace Context) of the request. */
  public Optional<String> traceId() {
    return Optional.ofNullable(problem.traceId());
  }

  /** Returns the delay before a retry, if the service expects one to succeed. */
  public Optional<Duration> retryAfter() {
    return Optional.ofNullable(problem.retryAfter());
  }

  /** Returns the failed operation. */
  public Optional<String> op() {
    return Optional.ofNullable(problem.op());
  }

  /** Returns the path of the offending part of the request, such as {@code inputs.a}. */
  public Optional<String> field() {
    return Optional.ofNullable(problem.field());
  }

  /** Returns the index of the failed step of a pipeline. */
  public OptionalInt step() {
    return problem.step() == null ? OptionalInt.empty() : OptionalInt.of(problem.step());
  }

  /** Returns the replica that owns the tensor, if the code is {@code wrong-replica}. */
  public Optional<String> replica() {
    return Optional.ofNullable(problem.replica());
  }
}
