package dev.athanor.service.rest;

import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.run.Terms;
import dev.athanor.service.schedule.Ticket;
import dev.athanor.service.tensor.Tenant;
import jakarta.servlet.http.HttpServletRequest;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What all requests have in common: deadline, query parameters, a body of bounded size. */
final class Requests {

  /** The attribute that has the {@link Tenant} of a request, where the caller had to say. */
  static final String TENANT = Requests.class.getName() + ".tenant";

  private Requests() {}

  /**
   * The deadline in {@code X-Deadline-Ms}.
   *
   * @throws Failure.Refused with {@code invalid-attribute} unless it is a positive integer
   */
  private static Deadline deadline(HttpServletRequest request) {
    var text = request.getHeader("X-Deadline-Ms");
    return text == null
        ? Deadline.none()
        : Deadline.in(number("X-Deadline-Ms", text, 1, Long.MAX_VALUE));
  }

  /** Whose request it is. */
  static Tenant tenant(HttpServletRequest request) {
    return request.getAttribute(TENANT) instanceof Tenant tenant ? tenant : Tenant.LOCAL;
  }

  /**
   * On which terms it is to be served.
   *
   * @throws Failure.Refused with {@code invalid-attribute} when X-Deadline-Ms is no positive
   *     integer or X-Priority none of 1, the first, to 5
   */
  static Terms terms(HttpServletRequest request) {
    var priority = request.getHeader("X-Priority");
    return new Terms(
        tenant(request),
        (int) (priority == null ? Ticket.MIDDLE : number("X-Priority", priority, 1, 5)),
        deadline(request),
        Connections.clientHasGone());
  }

  /**
   * Checks that a request has no query parameters but these, each at most once.
   *
   * @throws Failure.Refused with {@code unknown-field} or {@code invalid-attribute}
   */
  static void checkQuery(HttpServletRequest request, List<String> known) {
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

  /** A number among the query parameters. */
  static long number(
      HttpServletRequest request, String name, long least, long greatest, long otherwise) {
    var text = request.getParameter(name);
    return text == null ? otherwise : number(name, text, least, greatest);
  }

  private static long number(String name, String text, long least, long greatest) {
    try {
      long value = Long.parseLong(text);
      if (value >= least && value <= greatest) {
        return value;
      }
    } catch (NumberFormatException e) {
      throw notIn(name, text, least, greatest);
    }
    throw notIn(name, text, least, greatest);
  }

  private static Failure notIn(String name, String text, long least, long greatest) {
    var range = greatest == Long.MAX_VALUE ? "of at least " + least : least + " to " + greatest;
    return new Failure.Refused(
        Code.INVALID_ATTRIBUTE,
        name,
        "%s is \"%s\"; it must be an integer %s".formatted(name, Tensors.excerpt(text), range));
  }

  /** The lease in {@code ?ttlSeconds=}; null when the client says nothing. */
  static @Nullable Duration lease(HttpServletRequest request) {
    long seconds = number(request, "ttlSeconds", 0, Tensors.LONGEST_LEASE_SECONDS, -1);
    return seconds < 0 ? null : Duration.ofSeconds(seconds);
  }

  /** A name or a scope among the query parameters; null when the client says nothing. */
  static @Nullable String label(HttpServletRequest request, String name) {
    var text = request.getParameter(name);
    return text == null ? null : Tensors.label(text, name);
  }

  /**
   * The body, which fails once it is longer than allowed; at once where its length is announced.
   *
   * @throws Failure.Refused with {@code too-large} or {@code unsupported-media-type}
   */
  static InputStream body(HttpServletRequest request, long limit) throws IOException {
    var encoding = request.getHeader("Content-Encoding");
    if (encoding != null && !encoding.equalsIgnoreCase("identity")) {
      throw new Failure.Refused(
          Code.UNSUPPORTED_MEDIA_TYPE,
          "Content-Encoding",
          "Content-Encoding is %s; bodies are taken as they are"
              .formatted(Tensors.excerpt(encoding)));
    }
    if (request.getContentLengthLong() > limit) {
      throw tooLarge(limit, request.getContentLengthLong() + " bytes");
    }
    return new Limited(request.getInputStream(), limit);
  }

  private static Failure tooLarge(long limit, String got) {
    return new Failure.Refused(
        Code.TOO_LARGE, "the body has %s; %d bytes are the most".formatted(got, limit));
  }

  private static final class Limited extends FilterInputStream {
    private final long limit;
    private long left;

    Limited(InputStream in, long limit) {
      super(in);
      this.limit = limit;
      left = limit;
    }

    @Override
    public int read() throws IOException {
      int b = super.read();
      count(b < 0 ? 0 : 1);
      return b;
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
      int n = super.read(target, offset, length);
      count(Math.max(n, 0));
      return n;
    }

    private void count(int n) {
      left -= n;
      if (left < 0) {
        throw tooLarge(limit, "more");
      }
    }

    @Override
    public void close() {
      // The container owns the stream; what is left of it is the container's to discard.
    }
  }
}
