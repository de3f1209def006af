package dev.athanor.service.session;

import dev.athanor.service.failure.Failure;
import dev.athanor.service.stream.RequestContext;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
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
    public Request {
      tokens = List.copyOf(tokens);
      stop = Set.copyOf(stop);
      sampling = Map.copyOf(sampling);
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

    /** The failure of the request; the tokens so far are part of the session. */
    record Failed(Failure failure) implements Event {}
  }

  private final Session session;
  private final Request request;
  private final RequestContext context;
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
}
