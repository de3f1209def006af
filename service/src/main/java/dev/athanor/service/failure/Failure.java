package dev.athanor.service.failure;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Why a request failed. The message is for the client: a sentence that names what was given and
 * what would be right. Each protocol maps codes to its own statuses in one place.
 */
public abstract sealed class Failure extends RuntimeException {

  /** What kind of failure it is; clients decide on it. */
  public enum Code {
    MALFORMED_BODY,
    INVALID_TENSOR,
    SHAPE_MISMATCH,
    UNSUPPORTED_DTYPE,
    INVALID_ATTRIBUTE,
    MISSING_INPUT,
    UNKNOWN_FIELD,
    UNAUTHENTICATED,
    FORBIDDEN,
    NOT_FOUND,
    UNKNOWN_OP,
    UNKNOWN_HANDLE,
    EXPIRED_HANDLE,
    WRONG_REPLICA,
    METHOD_NOT_ALLOWED,
    HANDLE_IN_USE,
    VERSION_MISMATCH,
    TOO_LARGE,
    UNSUPPORTED_MEDIA_TYPE,
    NOT_ACCEPTABLE,
    RANGE_NOT_SATISFIABLE,
    UNSUPPORTED_ON_DEVICE,
    IDEMPOTENCY_KEY_REUSED,
    QUEUE_FULL,
    QUOTA_EXCEEDED,
    DRAINING,
    IDENTITY_PROVIDER_UNAVAILABLE,
    REPLICA_UNAVAILABLE,
    DEVICE_LOST,
    DEADLINE_EXCEEDED,
    CANCELLED,
    OUT_OF_DEVICE_MEMORY,
    OUT_OF_HOST_MEMORY,
    INTERNAL;

    /** {@code malformed-body}. */
    public String text() {
      return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
  }

  /**
   * The step of a pipeline that failed.
   *
   * @param index from 0
   * @param op null where it is not known yet
   */
  public record Step(int index, @Nullable String op) {}

  private final Code code;
  private final @Nullable String field;
  private @Nullable Step step;

  private Failure(
      Code code, @Nullable String field, String message, @Nullable RuntimeException cause) {
    super(message, cause);
    this.code = code;
    this.field = field;
  }

  public Code code() {
    return code;
  }

  /** The path of the part of the request that is at fault: {@code inputs.a.data[3]}. */
  public @Nullable String field() {
    return field;
  }

  /** The step of a pipeline that failed; null where that is none's fault. */
  public @Nullable Step step() {
    return step;
  }

  /** Nobody waits for the answer any more. */
  public static Failure clientGone() {
    return new Refused(Code.CANCELLED, "the client has gone; nothing was stored");
  }

  /** This failure, as that of a step; of the first that says so. */
  public Failure in(Step failed) {
    if (step == null) {
      step = failed;
    }
    return this;
  }

  /** A request that is wrong, or that cannot be served whenever it is sent again. */
  public static sealed class Refused extends Failure permits WrongReplica, UnknownName {
    public Refused(Code code, @Nullable String field, String message) {
      super(code, field, message, null);
    }

    public Refused(Code code, String message) {
      super(code, null, message, null);
    }
  }

  /** A request with the name of a tensor that this replica does not have; another may have it. */
  public static final class UnknownName extends Refused {
    private final String name;

    private UnknownName(Code code, @Nullable String field, String message, String name) {
      super(code, field, message);
      this.name = name;
    }

    /**
     * A request that names a tensor.
     *
     * @param field where the name stands in the request
     */
    public UnknownName(String field, String name) {
      this(
          Code.UNKNOWN_HANDLE,
          field,
          "no tensor is stored under the name %1$s; PUT /tensors/%1$s stores one, and handles look like t_…"
              .formatted(name),
          name);
    }

    /** The same of a step of a pipeline, where the name may be meant for another value. */
    public static UnknownName ofStep(String field, String name) {
      return new UnknownName(
          Code.MISSING_INPUT,
          field,
          "%s is \"%s\", which is no input of the pipeline, no output of an earlier step, no handle and no name of a stored tensor"
              .formatted(field, name),
          name);
    }

    /** This failure, of a request that another replica has forwarded for another tensor. */
    public UnknownName afterForwarding(String replica) {
      return new UnknownName(
          code(),
          field(),
          "the replica %s, to which the request was forwarded, has no tensor of the name %s; store it with ?replicas=all"
              .formatted(replica, name),
          name);
    }

    /** The name. */
    public String name() {
      return name;
    }
  }

  /** A request that another replica can serve, since it has the tensor. */
  public static final class WrongReplica extends Refused {
    private static final String ONE_REPLICA =
        "all handles of a request must belong to one replica: read the other tensors, create them there, and use the new handles";

    private final String replica;
    private final @Nullable String url;

    private WrongReplica(
        @Nullable String field, String message, String replica, @Nullable String url) {
      super(Code.WRONG_REPLICA, field, message);
      this.replica = replica;
      this.url = url;
    }

    /**
     * A request with a handle of another replica.
     *
     * @param replica the mark of the replica that owns the tensor
     * @param url its REST interface; null where it is not configured
     */
    public static WrongReplica of(
        String field, String handle, String replica, @Nullable String url) {
      return new WrongReplica(
          field,
          "%s is a tensor of the replica %s; send the request there".formatted(handle, replica),
          replica,
          url);
    }

    /**
     * A request with handles of several replicas.
     *
     * @param replicas their marks
     * @param owner one of them, which is not this replica
     */
    public static WrongReplica several(
        Collection<String> replicas, String owner, @Nullable String url) {
      return new WrongReplica(
          null,
          "the request names tensors of the replicas %s; %s"
              .formatted(String.join(", ", replicas), ONE_REPLICA),
          owner,
          url);
    }

    /** This failure, of a request that another replica has forwarded already. */
    public WrongReplica afterForwarding() {
      return new WrongReplica(
          field(),
          "a tensor of the request belongs to the replica %s, and a forwarded request is not forwarded again; %s"
              .formatted(replica, ONE_REPLICA),
          replica,
          url);
    }

    /** The mark of the replica. */
    public String replica() {
      return replica;
    }

    /** The address of the replica's REST interface; null where it is not configured. */
    public @Nullable String url() {
      return url;
    }
  }

  /** A request that may be served later. */
  public static final class Busy extends Failure {
    private static final Duration RETRY_ELSEWHERE = Duration.ofSeconds(5);

    private final Duration retryAfter;

    public Busy(Code code, String message, Duration retryAfter) {
      super(code, null, message, null);
      this.retryAfter = retryAfter;
    }

    /** A device is gone, and all that lay on it. */
    public static Busy deviceLost() {
      return new Busy(
          Code.DEVICE_LOST,
          "the device no longer answers, and the tensors it held are gone",
          RETRY_ELSEWHERE);
    }

    /**
     * Another replica, which owns the tensors of the request, does not answer.
     *
     * @param what what happened, and whether the request may have been carried out
     */
    public static Busy replicaUnavailable(String replica, String what) {
      return new Busy(
          Code.REPLICA_UNAVAILABLE,
          "the replica %s %s; its tensors are lost if it does not come back"
              .formatted(replica, what),
          RETRY_ELSEWHERE);
    }

    /** The service is about to end. */
    public static Busy draining() {
      return new Busy(
          Code.DRAINING, "the service is shutting down and takes no new work", RETRY_ELSEWHERE);
    }

    /** When to try again. */
    public Duration retryAfter() {
      return retryAfter;
    }
  }

  /** Copies of a tensor that were asked for are missing, or may be. */
  public static final class Incomplete extends Failure {
    private final List<String> done;
    private final List<String> failed;

    /**
     * A request that not all replicas have carried out.
     *
     * @param code why, as the first of them failed
     * @param message says what each has
     * @param done the marks of the replicas that have
     * @param failed those of the others
     */
    public Incomplete(Code code, String message, List<String> done, List<String> failed) {
      super(code, null, message, null);
      this.done = List.copyOf(done);
      this.failed = List.copyOf(failed);
    }

    /** When to try again. */
    public Duration retryAfter() {
      return Busy.RETRY_ELSEWHERE;
    }

    /** The marks of the replicas that have carried the request out. */
    public List<String> done() {
      return done;
    }

    /** The marks of those that have not, or may not have. */
    public List<String> failed() {
      return failed;
    }
  }

  /** The time that the client gave has passed. */
  public static final class TooLate extends Failure {
    public TooLate(Deadline deadline) {
      super(
          Code.DEADLINE_EXCEEDED,
          null,
          "the call did not finish within its deadline of %d ms; no result was stored"
              .formatted(deadline.millis()),
          null);
    }
  }

  /** The device cannot hold what the request needs. */
  public static final class OutOfDeviceMemory extends Failure {
    private final long requestedBytes;
    private final long freeBytes;

    public OutOfDeviceMemory(long requestedBytes, long freeBytes) {
      super(
          Code.OUT_OF_DEVICE_MEMORY,
          null,
          "%d bytes of device memory were asked for, %d are free; delete tensors or send less"
              .formatted(requestedBytes, freeBytes),
          null);
      this.requestedBytes = requestedBytes;
      this.freeBytes = freeBytes;
    }

    public long requestedBytes() {
      return requestedBytes;
    }

    public long freeBytes() {
      return freeBytes;
    }
  }

  /** A fault of ours. What happened is in the log, under the id, and nowhere else. */
  public static final class Internal extends Failure {
    private final String id;

    public Internal(String id, RuntimeException cause) {
      super(Code.INTERNAL, null, "the service failed; its log says more under the id " + id, cause);
      this.id = id;
    }

    public String id() {
      return id;
    }
  }
}
