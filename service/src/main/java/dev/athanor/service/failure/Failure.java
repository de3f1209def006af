package dev.athanor.service.failure;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The failure of a request. The message is for the client: it names what was given and what to do.
 * Each protocol maps codes to its own statuses.
 */
public abstract sealed class Failure extends RuntimeException {

  /** The error code, on which clients decide. */
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

    /** Returns the code in the form {@code malformed-body}. */
    public String text() {
      return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
  }

  /**
   * The step of a pipeline that failed.
   *
   * @param index the index, from 0
   * @param op the op; null if not known yet
   */
  public record Step(int index, @Nullable String op) {}

  private final Code code;
  private final @Nullable String field;
  private @Nullable Step step;
  private @Nullable String op;

  private Failure(
      Code code, @Nullable String field, String message, @Nullable RuntimeException cause) {
    super(message, cause);
    this.code = code;
    this.field = field;
  }

  public Code code() {
    return code;
  }

  /** Returns the path of the invalid part of the request, such as {@code inputs.a.data[3]}. */
  public @Nullable String field() {
    return field;
  }

  /** Returns the failed step of a pipeline; null if no step is to blame. */
  public @Nullable Step step() {
    return step;
  }

  /** Returns the op of the failed step or call; null if no op is to blame. */
  public @Nullable String op() {
    return step == null ? op : step.op();
  }

  /** Returns the delay after which to retry; null if a retry would fail again. */
  public @Nullable Duration retryAfter() {
    return null;
  }

  /** Returns the failure of a call whose client has disconnected. */
  public static Failure clientGone() {
    return new Refused(Code.CANCELLED, "the client disconnected; nothing was stored");
  }

  /** Attributes this failure to a step, unless it already has one, and returns it. */
  public Failure in(Step failed) {
    if (step == null) {
      step = failed;
    }
    return this;
  }

  /** Attributes this failure to the call of an op and returns it. */
  public Failure of(String called) {
    op = called;
    return this;
  }

  /** An invalid request, or one that will fail again when retried. */
  public static sealed class Refused extends Failure permits WrongReplica, UnknownName {
    public Refused(Code code, @Nullable String field, String message) {
      super(code, field, message, null);
    }

    public Refused(Code code, String message) {
      super(code, null, message, null);
    }
  }

  /** A request with the name of a tensor or model that this replica lacks; another may have it. */
  public static final class UnknownName extends Refused {
    private static final String TENSORS = "/tensors/";

    /** Descriptions there need no scope. */
    private static final String MODELS = "/v2/models/";

    private final String name;
    private final String path;

    private UnknownName(
        Code code, @Nullable String field, String message, String name, String path) {
      super(code, field, message);
      this.name = name;
      this.path = path;
    }

    /**
     * A request that names a tensor.
     *
     * @param field the path of the name in the request
     */
    public UnknownName(String field, String name) {
      this(
          Code.UNKNOWN_HANDLE,
          field,
          "no tensor is stored under the name %1$s; PUT /tensors/%1$s stores one, and handles look like t_…"
              .formatted(name),
          name,
          TENSORS + name);
    }

    /** The same for a pipeline step, where the name may also be meant for another value. */
    public static UnknownName ofStep(String field, String name) {
      return new UnknownName(
          Code.MISSING_INPUT,
          field,
          "%s is \"%s\", which is neither a pipeline input, nor an output of an earlier step, nor the handle or name of a stored tensor"
              .formatted(field, name),
          name,
          TENSORS + name);
    }

    /**
     * A request that names a model.
     *
     * @param name of a model, with {@code @} and a version for another than the default
     */
    public static UnknownName ofModel(Code code, String message, String name) {
      return new UnknownName(code, null, message, name, MODELS + name);
    }

    /** This failure for a request that another replica forwarded because of another tensor. */
    public UnknownName afterForwarding(String replica) {
      return new UnknownName(
          code(),
          field(),
          "the replica %s, to which the request was forwarded, has no %s named %s; store it with ?replicas=all"
              .formatted(replica, path.startsWith(TENSORS) ? "tensor" : "model", name),
          name,
          path);
    }

    /** Returns the name. */
    public String name() {
      return name;
    }

    /** Returns the path under which replicas describe what has the name. */
    public String path() {
      return path;
    }
  }

  /** A request that only the replica with the tensor, the model or the session can serve. */
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
     * Returns the failure of a request with a handle of another replica.
     *
     * @param replica the id of the replica that owns the tensor
     * @param url the URL of its REST interface; null if not configured
     */
    public static WrongReplica of(
        @Nullable String field, String handle, String replica, @Nullable String url) {
      return new WrongReplica(
          field,
          "%s belongs to replica %s; send the request there".formatted(handle, replica),
          replica,
          url);
    }

    /**
     * Returns the failure of a request with handles of several replicas.
     *
     * @param replicas the ids of the replicas
     * @param owner one of them, not this replica
     */
    public static WrongReplica several(
        Collection<String> replicas, String owner, @Nullable String url) {
      return new WrongReplica(
          null,
          "the request uses tensors of the replicas %s; %s"
              .formatted(String.join(", ", replicas), ONE_REPLICA),
          owner,
          url);
    }

    /** Returns this failure for a request that was already forwarded once. */
    public WrongReplica afterForwarding() {
      return new WrongReplica(
          field(),
          "a tensor or session of the request belongs to the replica %s, and a forwarded request is not forwarded again; %s"
              .formatted(replica, ONE_REPLICA),
          replica,
          url);
    }

    /** Returns the id of the replica. */
    public String replica() {
      return replica;
    }

    /** Returns the URL of the replica's REST interface; null if not configured. */
    public @Nullable String url() {
      return url;
    }
  }

  /** A temporary failure; the request can be retried. */
  public static final class Busy extends Failure {
    private static final Duration RETRY_ELSEWHERE = Duration.ofSeconds(5);

    private final Duration retryAfter;

    public Busy(Code code, String message, Duration retryAfter) {
      super(code, null, message, null);
      this.retryAfter = retryAfter;
    }

    /** Returns the failure of a request for a lost device. */
    public static Busy deviceLost() {
      return new Busy(
          Code.DEVICE_LOST, "the device is lost, and so are the tensors on it", RETRY_ELSEWHERE);
    }

    /**
     * Returns the failure of a request whose tensors belong to an unavailable replica.
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

    /**
     * Returns the failure of a request that needs replicas that could not be found.
     *
     * @param why why they could not be found
     */
    public static Busy replicasMissing(String why) {
      return new Busy(
          Code.REPLICA_UNAVAILABLE,
          why + "; retry after %d s".formatted(RETRY_ELSEWHERE.toSeconds()),
          RETRY_ELSEWHERE);
    }

    /** Returns the failure of a request during shutdown. */
    public static Busy draining() {
      return new Busy(
          Code.DRAINING, "the service is shutting down and accepts no new work", RETRY_ELSEWHERE);
    }

    @Override
    public Duration retryAfter() {
      return retryAfter;
    }
  }

  /** Some of the requested copies of a tensor are missing, or may be. */
  public static final class Incomplete extends Failure {
    private final List<String> done;
    private final List<String> failed;

    /**
     * A request that some replicas did not complete.
     *
     * @param code the code of the first failure
     * @param message says which replica has what
     * @param done the ids of the replicas that completed it
     * @param failed the ids of the others
     */
    public Incomplete(Code code, String message, List<String> done, List<String> failed) {
      super(code, null, message, null);
      this.done = List.copyOf(done);
      this.failed = List.copyOf(failed);
    }

    /** Not null if the missing replicas are only busy. */
    @Override
    public @Nullable Duration retryAfter() {
      return switch (code()) {
        case QUEUE_FULL,
            QUOTA_EXCEEDED,
            OUT_OF_HOST_MEMORY,
            DRAINING,
            IDENTITY_PROVIDER_UNAVAILABLE,
            REPLICA_UNAVAILABLE,
            DEVICE_LOST,
            CANCELLED ->
            Busy.RETRY_ELSEWHERE;
        default -> null;
      };
    }

    /** Returns the ids of the replicas that completed the request. */
    public List<String> done() {
      return done;
    }

    /** Returns the ids of the replicas that did not, or may not have. */
    public List<String> failed() {
      return failed;
    }
  }

  /** The client's deadline has passed. */
  public static final class DeadlineExceeded extends Failure {
    public DeadlineExceeded(Deadline deadline) {
      super(
          Code.DEADLINE_EXCEEDED,
          null,
          "the call did not finish within its deadline of %d ms; no result was stored"
              .formatted(deadline.millis()),
          null);
    }
  }

  /** Device memory does not suffice for the request. */
  public static final class OutOfDeviceMemory extends Failure {
    private final long requestedBytes;
    private final long freeBytes;

    public OutOfDeviceMemory(long requestedBytes, long freeBytes) {
      super(
          Code.OUT_OF_DEVICE_MEMORY,
          null,
          "Out of device memory: %d bytes requested, %d bytes free. Delete tensors or use smaller ones."
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

  /** An internal error. Only the log contains the details, under the id. */
  public static final class Internal extends Failure {
    private final String id;

    public Internal(String id, RuntimeException cause) {
      super(Code.INTERNAL, null, "Internal error; see the log of the service for id " + id, cause);
      this.id = id;
    }

    public String id() {
      return id;
    }
  }
}
