package dev.athanor.cli.load;

import dev.athanor.client.AthanorException;
import java.time.Duration;

/** A request without a result. */
final class Refused extends Exception {

  /** The code of a request that was not answered. */
  static final String NO_ANSWER = "no-answer";

  private final String code;
  private final Duration retryAfter;

  /**
   * @param code of the service, or {@link #NO_ANSWER}
   * @param retryAfter how long the service asks to be left alone; zero if it does not
   */
  Refused(String code, Duration retryAfter, String message) {
    super(message);
    this.code = code;
    this.retryAfter = retryAfter;
  }

  static Refused of(AthanorException failure) {
    var code =
        switch (failure.code()) {
          case "unreachable", "connection-lost" -> NO_ANSWER;
          default -> failure.code();
        };
    return new Refused(
        code, failure.retryAfter().orElse(Duration.ZERO), String.valueOf(failure.getMessage()));
  }

  String code() {
    return code;
  }

  Duration retryAfter() {
    return retryAfter;
  }
}
