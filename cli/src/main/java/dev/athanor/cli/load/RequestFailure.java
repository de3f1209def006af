package dev.athanor.cli.load;

import dev.athanor.client.AthanorException;
import java.time.Duration;

/** A failed request. */
final class RequestFailure extends Exception {

  /** The code of requests without a response. */
  static final String NO_ANSWER = "no-answer";

  private final String code;
  private final Duration retryAfter;

  /**
   * @param code the error code of the service, or {@link #NO_ANSWER}
   * @param retryAfter the retry delay that the service requests; zero for none
   */
  RequestFailure(String code, Duration retryAfter, String message) {
    super(message);
    this.code = code;
    this.retryAfter = retryAfter;
  }

  static RequestFailure of(AthanorException failure) {
    var code =
        switch (failure.code()) {
          case "unreachable", "connection-lost" -> NO_ANSWER;
          default -> failure.code();
        };
    return new RequestFailure(
        code, failure.retryAfter().orElse(Duration.ZERO), String.valueOf(failure.getMessage()));
  }

  String code() {
    return code;
  }

  Duration retryAfter() {
    return retryAfter;
  }
}
