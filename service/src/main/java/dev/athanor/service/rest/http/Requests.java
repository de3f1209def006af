package dev.athanor.service.rest.http;

import dev.athanor.service.codec.ByteSource;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.device.RequestMemory;
import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.failure.Pace;
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
import java.util.List;
import java.util.Locale;
import java.util.zip.InflaterInputStream;
import java.util.zip.ZipException;
import org.jspecify.annotations.Nullable;

/** What all requests have in common: deadline, query parameters, a body of bounded size. */
public final class Requests {

  /** The attribute with the {@link Caller} of a request, if it is authenticated. */
  static final String CALLER = Requests.class.getName() + ".caller";

  private static final String PRIORITY = "X-Priority";

  /** The protocol's: how many bytes of JSON come before the bytes of tensors. */
  public static final String INFERENCE_HEADER = "Inference-Header-Content-Length";

  private Requests() {}

  /**
   * The deadline in {@code X-Deadline-Ms}.
   *
   * @throws Failure.Refused with {@code invalid-attribute} unless it is a positive integer
   */
  public static Deadline deadline(HttpServletRequest request) {
    var text = request.getHeader("X-Deadline-Ms");
    return text == null
        ? Deadline.none()
        : Deadline.in(number("X-Deadline-Ms", text, 1, Long.MAX_VALUE));
  }

  /** Whether the caller has shown who it is, by the rules of the security mode. */
  public static boolean isCallerKnown(HttpServletRequest request) {
    return request.getAttribute(CALLER) instanceof Caller;
  }

  /** Whose request it is. */
  public static Tenant tenant(HttpServletRequest request) {
    return caller(request).tenant();
  }

  private static Caller caller(HttpServletRequest request) {
    return request.getAttribute(CALLER) instanceof Caller caller ? caller : Caller.LOCAL;
  }

  /**
   * On which terms it is to be served.
   *
   * @throws Failure.Refused with {@code invalid-attribute} when X-Deadline-Ms is no positive
   *     integer or X-Priority none of 1, the first, to 5; with {@code forbidden} when X-Priority
   *     asks for more than the caller may
   */
  public static RequestContext context(HttpServletRequest request) {
    return context(request, RequestMemory.HEAP);
  }

  /** The same for a request that tensors come and go with. */
  public static RequestContext context(HttpServletRequest request, RequestMemory memory) {
    var caller = caller(request);
    var usual =
        new RequestContext(
            caller.tenant(),
            Ticket.MIDDLE,
            caller.has(Scope.PRIORITY),
            deadline(request),
            Connections.clientHasGone(),
            memory);
    var priority = request.getHeader(PRIORITY);
    return priority == null
        ? usual
        : usual.withPriority(
            PRIORITY, (int) number(PRIORITY, priority, 1, RequestContext.LAST_PRIORITY));
  }

  /**
   * Checks that a request has no query parameters but these, each at most once.
   *
   * @throws Failure.Refused with {@code unknown-field} or {@code invalid-attribute}
   */
  public static void checkQuery(HttpServletRequest request, List<String> known) {
    request
        .getParameterMap()
        .forEach((name, values) -> {
          if (!known.contains(name)) {
            throw new Failure.Refused(
                Code.UNKNOWN_FIELD,
                Tensors.excerpt(name),
                "there is no query parameter \"%s\" here; %s"
                    .formatted(
                        Tensors.excerpt(name),
                        known.isEmpty()
                            ? "none are known"
                            : "known are " + String.join(", ", known)));
          }
          if (values.length > 1) {
            throw new Failure.Refused(
                Code.INVALID_ATTRIBUTE,
                name,
                "the query parameter %s is given %d times".formatted(name, values.length));
          }
        });
  }

  /**
   * Checks that a request has no query parameters; the body, whatever its media type, is not read
   * for them.
   *
   * @throws Failure.Refused with {@code unknown-field}
   */
  public static void checkNoQuery(HttpServletRequest request) {
    var query = request.getQueryString();
    if (query != null && !query.isEmpty()) {
      throw new Failure.Refused(
          Code.UNKNOWN_FIELD,
          "there are no query parameters here, got \"%s\"".formatted(Tensors.excerpt(query)));
    }
  }

  /**
   * How many bytes of JSON come before the bytes of tensors; null when the header is missing.
   *
   * @throws Failure.Refused with {@code invalid-attribute} when it is no number, there are two of
   *     them, or it is more than the body may have
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
          "%s is given %d times".formatted(INFERENCE_HEADER, given.size()));
    }
    return number(INFERENCE_HEADER, given.getFirst(), 0, Math.min(limit, Integer.MAX_VALUE - 16));
  }

  /** A number among the query parameters. */
  public static long number(
      HttpServletRequest request, String name, long least, long greatest, long otherwise) {
    var text = request.getParameter(name);
    return text == null ? otherwise : number(name, text, least, greatest);
  }

  private static long number(String name, String text, long least, long greatest) {
    var value = Tensors.integer(text);
    if (value.isPresent() && value.getAsLong() >= least && value.getAsLong() <= greatest) {
      return value.getAsLong();
    }
    var range = greatest == Long.MAX_VALUE ? "of at least " + least : least + " to " + greatest;
    throw new Failure.Refused(
        Code.INVALID_ATTRIBUTE,
        name,
        "%s is \"%s\"; it must be an integer %s".formatted(name, Tensors.excerpt(text), range));
  }

  /** The lease in {@code ?ttlSeconds=}; null when the client says nothing. */
  public static @Nullable Duration lease(HttpServletRequest request) {
    long seconds = number(request, "ttlSeconds", 0, Tensors.LONGEST_LEASE_SECONDS, -1);
    return seconds < 0 ? null : Duration.ofSeconds(seconds);
  }

  /** A name or a scope among the query parameters; null when the client says nothing. */
  public static @Nullable String label(HttpServletRequest request, String name) {
    var text = request.getParameter(name);
    return text == null ? null : Tensors.label(text, name);
  }

  /**
   * The body, which fails once it is longer than allowed; at once where its length is announced.
   *
   * @throws Failure.Refused with {@code too-large} or {@code unsupported-media-type}
   */
  public static ByteSource body(HttpServletRequest request, long limit) throws IOException {
    var encoding = encoding(request);
    if (!encoding.equals("identity")) {
      throw new Failure.Refused(
          Code.UNSUPPORTED_MEDIA_TYPE,
          "Content-Encoding",
          "Content-Encoding is %s; bodies are taken as they are"
              .formatted(Tensors.excerpt(encoding)));
    }
    return packed(request, limit);
  }

  /**
   * The body, unpacked if it was packed by gzip or deflate (RFC 9110, 8.4.1). It fails once either
   * form is longer than allowed.
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
                "Content-Encoding is %s; it may be gzip, deflate or identity"
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
   * The body as it comes, whatever its encoding, which fails once it is longer than allowed.
   *
   * @throws Failure.Refused with {@code too-large}
   */
  public static ByteSource packed(HttpServletRequest request, long limit) throws IOException {
    if (request.getContentLengthLong() > limit) {
      throw tooLarge(limit, request.getContentLengthLong() + " bytes");
    }
    return new Limited(request.getInputStream(), limit);
  }

  private static Failure tooLarge(long limit, String got) {
    return new Failure.Refused(
        Code.TOO_LARGE, "the body has %s; %d bytes are the most".formatted(got, limit));
  }

  private static class Limited extends ByteSource {
    private final InputStream in;
    private final long limit;
    private final Pace pace = new Pace(Connections.silence());
    private long left;

    Limited(InputStream in, long limit) {
      this.in = in;
      this.limit = limit;
      left = limit;
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
      if (length == 0) {
        return 0; // for which the container would wait until there is something
      }
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
      long began = System.nanoTime();
      int start = target.position();
      int end = target.limit();
      int n = container.read(target);
      // which leaves what was read between position and limit
      target.limit(end).position(start + Math.max(n, 0));
      count(Math.max(n, 0), began);
      return n;
    }

    private void count(int n, long began) {
      try {
        pace.came(n, System.nanoTime() - began);
      } catch (Failure e) {
        Connections.abandonBody();
        throw e;
      }
      left -= n;
      if (left < 0) {
        throw tooLarge(limit, "more");
      }
    }

    /** Which the unpacking asks, to find out whether another part follows. */
    @Override
    public int available() throws IOException {
      return in.available();
    }

    InputStream in() {
      return in;
    }

    @Override
    public void close() {
      // The container owns the stream; what is left of it is the container's to discard.
    }
  }

  private static final class Unpacked extends Limited {

    Unpacked(InflaterInputStream in, long limit) {
      super(in, limit);
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
      try {
        return super.read(target, offset, length);
      } catch (ZipException | EOFException e) {
        throw malformed();
      }
    }

    /** Frees the memory that unpacking took. */
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
          "the body is not what Content-Encoding says, or it breaks off");
    }
  }
}
