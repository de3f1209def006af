package dev.athanor.service.http;

import dev.athanor.service.codec.ByteSource;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.device.ProcessorShares;
import dev.athanor.service.device.RequestMemory;
import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.failure.MinimumRate;
import dev.athanor.service.replica.EntryRequest;
import dev.athanor.service.replica.Peers;
import dev.athanor.service.replica.ReplicaClient;
import dev.athanor.service.schedule.Ticket;
import dev.athanor.service.security.Caller;
import dev.athanor.service.security.Scope;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.Tenant;
import jakarta.servlet.ServletInputStream;
import jakarta.servlet.http.HttpServletRequest;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.function.Predicate;
import java.util.zip.InflaterInputStream;
import java.util.zip.ZipException;
import org.jspecify.annotations.Nullable;

/**
 * Reads the common parts of requests: caller, context, query parameters, and bodies of limited
 * size.
 */
public final class HttpRequests {

  /** The attribute with the {@link Caller} of a request, if it is authenticated. */
  static final String CALLER = HttpRequests.class.getName() + ".caller";

  private static final String PRIORITY = "X-Priority";
  private static final String ROW_INVARIANT = "X-Row-Invariant";

  /**
   * The header with the length of the JSON part that precedes raw tensors (Open Inference
   * Protocol).
   */
  public static final String INFERENCE_HEADER = "Inference-Header-Content-Length";

  /** The header that makes retries of a creation safe. */
  public static final String IDEMPOTENCY_KEY = "Idempotency-Key";

  private HttpRequests() {}

  /**
   * Returns the deadline from {@code X-Deadline-Ms}.
   *
   * @throws Failure.Refused with {@code invalid-attribute} unless it is a positive integer
   */
  public static Deadline deadline(HttpServletRequest request) {
    var text = request.getHeader("X-Deadline-Ms");
    return text == null
        ? Deadline.none()
        : Deadline.in(number("X-Deadline-Ms", text, 1, Long.MAX_VALUE));
  }

  /** Whether the caller is authenticated. */
  public static boolean isCallerKnown(HttpServletRequest request) {
    return request.getAttribute(CALLER) instanceof Caller;
  }

  /** Returns the tenant of a request. */
  public static Tenant tenant(HttpServletRequest request) {
    return caller(request).tenant();
  }

  /** Returns the account of a request, which is charged for shared resources. */
  public static String account(HttpServletRequest request) {
    return caller(request).account();
  }

  static Caller caller(HttpServletRequest request) {
    return request.getAttribute(CALLER) instanceof Caller caller ? caller : Caller.LOCAL;
  }

  /**
   * Returns the context of a request without inline tensors.
   *
   * @throws Failure.Refused with {@code invalid-attribute} if X-Deadline-Ms is not a positive
   *     integer or X-Priority is not 1 to 5; with {@code forbidden} if the caller may not request
   *     that priority
   */
  public static RequestContext context(HttpServletRequest request) {
    return context(request, RequestMemory.HEAP);
  }

  /** Returns the context of a request with inline tensors. */
  public static RequestContext context(HttpServletRequest request, RequestMemory memory) {
    var caller = caller(request);
    var usual =
        new RequestContext(
            caller.tenant(),
            caller.account(),
            Ticket.MIDDLE,
            caller.has(Scope.PRIORITY),
            deadline(request),
            Connections.clientHasGone(),
            memory,
            flag(request, ROW_INVARIANT));
    var priority = request.getHeader(PRIORITY);
    return priority == null
        ? usual
        : usual.withPriority(
            PRIORITY, (int) number(PRIORITY, priority, 1, RequestContext.LAST_PRIORITY));
  }

  private static boolean flag(HttpServletRequest request, String name) {
    return switch (request.getHeader(name)) {
      case null -> false;
      case "false" -> false;
      case "true" -> true;
      case String other ->
          throw new Failure.Refused(
              Code.INVALID_ATTRIBUTE,
              name,
              "%s is \"%s\"; it must be true or false".formatted(name, Tensors.excerpt(other)));
    };
  }

  /** Whether another replica forwarded a request. */
  public static boolean isForwarded(HttpServletRequest request) {
    return request.getHeader(ReplicaClient.FORWARDED) != null;
  }

  /** Returns a request from which requests to other replicas may follow. */
  public static EntryRequest entry(HttpServletRequest request) {
    return entry(request, RequestMemory.HEAP);
  }

  /** The same for a request whose body takes memory. */
  public static EntryRequest entry(HttpServletRequest request, RequestMemory memory) {
    var credentials = new HashMap<String, String>();
    for (var name : Peers.CREDENTIALS) {
      var value = request.getHeader(name);
      if (value != null) {
        credentials.put(name, value);
      }
    }
    return new EntryRequest(context(request, memory), credentials, isForwarded(request));
  }

  /**
   * Checks that a request has only known query parameters, each at most once.
   *
   * @throws Failure.Refused with {@code unknown-field} or {@code invalid-attribute}
   */
  public static void checkQuery(HttpServletRequest request, List<String> known) {
    checkQuery(request, known::contains, known);
  }

  /**
   * Checks the query parameters like {@link #checkQuery(HttpServletRequest, List)}.
   *
   * @param shown the known parameters for messages
   */
  public static void checkQuery(
      HttpServletRequest request, Predicate<String> isKnown, List<String> shown) {
    request
        .getParameterMap()
        .forEach((name, values) -> {
          if (!isKnown.test(name)) {
            throw new Failure.Refused(
                Code.UNKNOWN_FIELD,
                Tensors.excerpt(name),
                "Unknown query parameter \"%s\"; %s"
                    .formatted(
                        Tensors.excerpt(name),
                        shown.isEmpty()
                            ? "this path has none"
                            : "known parameters are " + String.join(", ", shown)));
          }
          if (values.length > 1) {
            throw new Failure.Refused(
                Code.INVALID_ATTRIBUTE,
                name,
                "the query parameter %s is given %d times; give it once"
                    .formatted(name, values.length));
          }
        });
  }

  /**
   * Checks that a request has no query parameters, without parsing the body as a form.
   *
   * @throws Failure.Refused with {@code unknown-field}
   */
  public static void checkNoQuery(HttpServletRequest request) {
    var query = request.getQueryString();
    if (query != null && !query.isEmpty()) {
      throw new Failure.Refused(
          Code.UNKNOWN_FIELD,
          "this path has no query parameters, got \"%s\"".formatted(Tensors.excerpt(query)));
    }
  }

  /**
   * Returns the length of the JSON part that precedes raw tensors; null if the header is absent.
   *
   * @throws Failure.Refused with {@code invalid-attribute} if it is not a number, is given twice,
   *     or exceeds the body limit
   */
  public static @Nullable Long inferenceHeader(HttpServletRequest request, long limit) {
    var given = Collections.list(request.getHeaders(INFERENCE_HEADER));
    if (given.isEmpty()) {
      return null;
    }
    if (given.size() > 1) {
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE,
          INFERENCE_HEADER,
          "%s is given %d times; give it once".formatted(INFERENCE_HEADER, given.size()));
    }
    return number(INFERENCE_HEADER, given.getFirst(), 0, Math.min(limit, Integer.MAX_VALUE - 16));
  }

  /** Returns an integer query parameter. */
  public static long number(
      HttpServletRequest request, String name, long min, long max, long defaultValue) {
    var text = request.getParameter(name);
    return text == null ? defaultValue : number(name, text, min, max);
  }

  private static long number(String name, String text, long min, long max) {
    var value = Tensors.integer(text);
    if (value.isPresent() && value.getAsLong() >= min && value.getAsLong() <= max) {
      return value.getAsLong();
    }
    var range = max == Long.MAX_VALUE ? "of at least " + min : min + " to " + max;
    throw new Failure.Refused(
        Code.INVALID_ATTRIBUTE,
        name,
        "%s is \"%s\"; it must be an integer %s".formatted(name, Tensors.excerpt(text), range));
  }

  /** Returns the lease from {@code ?ttlSeconds=}; null if absent. */
  public static @Nullable Duration lease(HttpServletRequest request) {
    long seconds = number(request, "ttlSeconds", 0, Tensors.LONGEST_LEASE_SECONDS, -1);
    return seconds < 0 ? null : Duration.ofSeconds(seconds);
  }

  /** Returns a name or scope from the query parameters; null if absent. */
  public static @Nullable String label(HttpServletRequest request, String name) {
    var text = request.getParameter(name);
    return text == null ? null : Tensors.label(text, name);
  }

  /**
   * Returns the body. Reading fails once it exceeds the limit, or immediately if Content-Length
   * does.
   *
   * @throws Failure.Refused with {@code too-large} or {@code unsupported-media-type}
   */
  public static ByteSource body(HttpServletRequest request, long limit) throws IOException {
    var encoding = encoding(request);
    if (!encoding.equals("identity")) {
      throw new Failure.Refused(
          Code.UNSUPPORTED_MEDIA_TYPE,
          "Content-Encoding",
          "Content-Encoding is %s; compressed bodies are not supported here"
              .formatted(Tensors.excerpt(encoding)));
    }
    return packed(request, limit);
  }

  /**
   * Returns the body, decompressed from gzip or deflate (RFC 9110, section 8.4.1). Reading fails
   * once either form exceeds the limit.
   *
   * @throws Failure.Refused with {@code too-large}, {@code unsupported-media-type} or {@code
   *     malformed-body}
   */
  public static ByteSource unpacked(HttpServletRequest request, long limit) throws IOException {
    var encoding = encoding(request);
    var packed = packed(request, limit);
    try {
      return switch (encoding) {
        case "identity" -> packed;
        case "gzip" -> new Unpacked(new Gunzip(packed), limit);
        case "deflate" -> new Unpacked(new Inflate(packed), limit);
        default ->
            throw new Failure.Refused(
                Code.UNSUPPORTED_MEDIA_TYPE,
                "Content-Encoding",
                "Content-Encoding is %s; it must be gzip, deflate or identity"
                    .formatted(Tensors.excerpt(encoding)));
      };
    } catch (ZipException | EOFException e) {
      throw Unpacked.malformed();
    }
  }

  private static String encoding(HttpServletRequest request) {
    var given = String.join(", ", Collections.list(request.getHeaders("Content-Encoding")));
    return given.isBlank() ? "identity" : given.toLowerCase(Locale.ROOT);
  }

  /**
   * Returns the body without decoding it. Reading fails once it exceeds the limit.
   *
   * @throws Failure.Refused with {@code too-large}
   */
  public static ByteSource packed(HttpServletRequest request, long limit) throws IOException {
    if (request.getContentLengthLong() > limit) {
      throw tooLarge(limit, request.getContentLengthLong() + " bytes");
    }
    return new Limited(request.getInputStream(), limit, request.getContentLengthLong());
  }

  private static Failure tooLarge(long limit, String got) {
    return new Failure.Refused(
        Code.TOO_LARGE, "the body has %s; the limit is %d bytes".formatted(got, limit));
  }

  private static class Limited extends ByteSource {
    private final InputStream in;
    private final long limit;
    private final long length;
    private final MinimumRate minimumRate = new MinimumRate(Connections.silence());
    private long left;

    /**
     * @param length the length of the body; -1 if unknown
     */
    Limited(InputStream in, long limit, long length) {
      this.in = in;
      this.limit = limit;
      this.length = length;
      left = limit;
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
      if (length == 0) {
        return 0; // the container would block until data arrives
      }
      ProcessorShares.release();
      long began = System.nanoTime();
      int n = in.read(target, offset, length);
      count(Math.max(n, 0), began);
      return n;
    }

    @Override
    public int read(ByteBuffer target) throws IOException {
      if (!(in instanceof ServletInputStream container)) {
        return super.read(target);
      }
      ProcessorShares.release();
      long began = System.nanoTime();
      int start = target.position();
      int end = target.limit();
      int n = container.read(target);
      // the container leaves the read data between position and limit
      target.limit(end).position(start + Math.max(n, 0));
      count(Math.max(n, 0), began);
      return n;
    }

    private void count(int n, long began) {
      try {
        minimumRate.received(n, System.nanoTime() - began);
      } catch (Failure e) {
        Connections.abandonBody();
        throw e;
      }
      left -= n;
      if (left < 0) {
        throw tooLarge(limit, "more bytes");
      }
      if (n > 0 && limit - left != length) {
        ProcessorShares.acquire(n);
      }
    }

    /** Called during decompression to detect another gzip member. */
    @Override
    public int available() throws IOException {
      return in.available();
    }

    InputStream in() {
      return in;
    }

    @Override
    public void close() {
      // The container owns the stream and discards the rest of it.
    }
  }

  private static final class Unpacked extends Limited {

    Unpacked(InflaterInputStream in, long limit) {
      super(in, limit, -1);
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
      try {
        return super.read(target, offset, length);
      } catch (ZipException | EOFException e) {
        throw malformed();
      }
    }

    /** Frees the memory of the inflater. */
    @Override
    public void close() {
      try {
        in().close();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    static Failure malformed() {
      return new Failure.Refused(
          Code.MALFORMED_BODY,
          "Content-Encoding",
          "the body does not match Content-Encoding or is incomplete");
    }
  }
}
