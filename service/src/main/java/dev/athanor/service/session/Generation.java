package dev.athanor.service.session;

import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.stream.RequestContext;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/** The tokens that a model generates for a request. */
public final class Generation {

  /**
   * What to generate.
   *
   * @param tokens the prompt; at least one token
   * @param maxTokens the maximum number of tokens to generate
   * @param stop tokens after which generation ends
   * @param seed the key of the random numbers
   * @param sampling attributes of the op {@code sample}
   */
  public record Request(
      List<Long> tokens, int maxTokens, Set<Long> stop, long seed, Map<String, ?> sampling) {
    /** Maximum number of tokens to generate for requests that give none. */
    public static final int DEFAULT_TOKENS = 128;

    /** Maximum length of a prompt. */
    public static final int LONGEST_PROMPT = 1 << 20;

    /** Maximum number of stop tokens. */
    public static final int MOST_STOPS = 256;

    private static final int MOST_TOKENS = 1 << 16;

    /**
     * Checks the tokens.
     *
     * @throws Failure.Refused if there is no token, or an id is negative
     */
    public Request {
      if (tokens.isEmpty()) {
        throw new Failure.Refused(
            Code.MISSING_INPUT, "tokens", "tokens is missing; give the token ids of the prompt");
      }
      checkIds("tokens", tokens);
      checkIds("stop", stop);
      tokens = List.copyOf(tokens);
      stop = Set.copyOf(stop);
      sampling = Map.copyOf(sampling);
    }

    private static void checkIds(String field, Collection<Long> ids) {
      ids.stream()
          .filter(id -> id < 0)
          .findFirst()
          .ifPresent(id -> {
            throw new Failure.Refused(
                Code.INVALID_ATTRIBUTE,
                field,
                "%s has %d; a token id is at least 0".formatted(field, id));
          });
    }

    /**
     * Returns a maximum of tokens that a client gives.
     *
     * @throws Failure.Refused with {@code invalid-attribute} if it is out of range
     */
    public static int maxTokens(String field, long given) {
      if (given < 1 || given > MOST_TOKENS) {
        throw new Failure.Refused(
            Code.INVALID_ATTRIBUTE,
            field,
            "%s is %d; it must be 1 to %d".formatted(field, given, MOST_TOKENS));
      }
      return (int) given;
    }

    /** Returns the failure of a list with too many elements. */
    public static Failure tooMany(String field, int most) {
      return new Failure.Refused(
          Code.TOO_LARGE,
          field,
          "%s has more than %d elements, which is the limit".formatted(field, most));
    }

    /** Returns a seed for a request without one, which JavaScript represents exactly. */
    public static long drawSeed() {
      return ThreadLocalRandom.current().nextLong(1L << 53);
    }
  }

  /** What happens while tokens are generated. */
  public sealed interface Event {
    /** A token. */
    record Token(long token) implements Event {}

    /**
     * The end.
     *
     * @param reason {@code stop} after a stop token, {@code length} after the maximum of tokens or
     *     positions
     */
    record End(String reason) implements Event {}

    /**
     * The failure of the request. The session is as before, except if the client has cancelled:
     * then it contains the tokens so far.
     */
    record Failed(Failure failure) implements Event {}
  }

  private final Session session;
  private final Request request;
  private final RequestContext context;
  private final int before;
  private final BlockingQueue<Event> events = new LinkedBlockingQueue<>();

  /** Tokens that the model has not read yet. */
  private long[] unread;

  private int generated;
  private @Nullable String reason;
  private @Nullable Failure failed;
  private volatile boolean cancelled;

  Generation(Session session, Request request, RequestContext context) {
    this.session = session;
    this.request = request;
    this.context = context;
    before = session.length();
    unread = request.tokens.stream().mapToLong(Long::longValue).toArray();
  }

  /** Waits for the next event; {@link Event.End} and {@link Event.Failed} are the last. */
  public Event next() throws InterruptedException {
    return events.take();
  }

  /** Returns the key of the random numbers. */
  public long seed() {
    return request.seed;
  }

  /** Returns the number of positions of the session. */
  public int length() {
    return session.length();
  }

  /** Ends the generation after the current token. */
  public void cancel() {
    cancelled = true;
  }

  Session session() {
    return session;
  }

  Request request() {
    return request;
  }

  RequestContext context() {
    return context;
  }

  /** Returns how many of the unread tokens to read at once: a power of two, for few shapes. */
  int piece(int most) {
    return Math.min(Integer.highestOneBit(unread.length), most);
  }

  /** Returns the first unread tokens. */
  long[] head(int count) {
    return Arrays.copyOf(unread, count);
  }

  /** Returns whether a token is drawn after a piece. */
  boolean isDrawnAfter(int piece) {
    return piece == unread.length && reason == null;
  }

  /** Returns the number of tokens drawn so far. */
  int generated() {
    return generated;
  }

  /**
   * Records that the model has read a piece. It also reads the last token that is drawn, so that
   * the session contains them all.
   *
   * @param drawn the token after the piece, if one {@linkplain #isDrawnAfter is drawn}
   */
  void read(int piece, long drawn) {
    boolean draws = isDrawnAfter(piece);
    session.advance(piece);
    unread = Arrays.copyOfRange(unread, piece, unread.length);
    if (draws) {
      generated++;
      unread = new long[] {drawn};
      events.add(new Event.Token(drawn));
      if (request.stop.contains(drawn)) {
        reason = "stop";
      } else if (generated == request.maxTokens
          || session.length() + 1 == session.model().definition().maxPositions()) {
        reason = "length";
      }
    }
  }

  void fail(Failure failure) {
    failed = failure;
  }

  /** Returns the last event if the generation has ended. */
  Optional<Event> last() {
    if (failed == null && context.deadline().remainingNanos() <= 0) {
      failed = new Failure.DeadlineExceeded(context.deadline());
    }
    if (failed == null && (cancelled || context.clientHasGone().getAsBoolean())) {
      failed = Failure.clientGone();
    }
    if (failed != null) {
      return Optional.of(new Event.Failed(failed));
    }
    return unread.length == 0 && reason != null
        ? Optional.of(new Event.End(reason))
        : Optional.empty();
  }

  /** Sends the last event. */
  void finish(Event last) {
    events.add(last);
  }

  /** Restores the session if the generation has failed, so that it can be repeated. */
  void restore() {
    if (failed != null && failed.code() != Code.CANCELLED) {
      session.rewind(before);
    }
  }
}
