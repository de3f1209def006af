package dev.athanor.client;

import io.grpc.StatusException;
import io.grpc.StatusRuntimeException;
import io.netty.handler.ssl.NotSslRecordException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpTimeoutException;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLHandshakeException;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;

/** Translates failures of a call into exceptions of the client. */
final class Failures {

  private Failures() {}

  /** Translates an exception; programming errors, such as invalid arguments, are unchanged. */
  static RuntimeException of(Throwable thrown) {
    return of(thrown, "");
  }

  /**
   * Translates the exception of a call.
   *
   * @param url of the service; empty if the call has no service
   */
  static RuntimeException of(Throwable thrown, String url) {
    if (thrown instanceof StatusRuntimeException || thrown instanceof StatusException) {
      return GrpcFailures.of(thrown, url);
    }
    if (thrown instanceof ConnectException || thrown instanceof HttpConnectTimeoutException) {
      var reason = thrown.getMessage();
      return unreachable(url, reason == null ? "no connection" : reason, thrown);
    }
    if (thrown instanceof SSLException ssl && isHandshake(ssl)) {
      return tlsFailed(ssl);
    }
    if (thrown instanceof HttpTimeoutException) {
      return deadlineExceeded(thrown);
    }
    if (thrown instanceof IOException) {
      return new AthanorException(
          AthanorException.CONNECTION_LOST, "The connection was lost: " + thrown, thrown);
    }
    if (thrown instanceof JacksonException || thrown instanceof MalformedAnswer) {
      return malformed(String.valueOf(thrown.getMessage()), thrown);
    }
    return thrown instanceof RuntimeException e ? e : new IllegalStateException(thrown);
  }

  static AthanorException unreachable(String url, String reason, Throwable cause) {
    return new AthanorException(
        AthanorException.UNREACHABLE,
        "The service%s cannot be reached: %s".formatted(url.isEmpty() ? "" : " at " + url, reason),
        cause);
  }

  /** Returns whether a connection failed before TLS was established. */
  static boolean isHandshake(SSLException failure) {
    return failure instanceof SSLHandshakeException || isPlaintext(failure);
  }

  /** Returns whether the peer responded without TLS, which Netty and the JDK report differently. */
  private static boolean isPlaintext(SSLException failure) {
    return failure instanceof NotSslRecordException
        || String.valueOf(failure.getMessage()).contains("nrecognized SSL message");
  }

  /**
   * Returns the failure of a connection whose TLS handshake failed. No request was sent, and a
   * retry would fail again.
   */
  static AthanorException tlsFailed(SSLException cause) {
    return new AthanorException(
        AthanorException.TLS_FAILED,
        isPlaintext(cause)
            ? "The TLS handshake failed: the port of the URL does not use TLS. The schemes without TLS are http and grpc."
            : "The TLS handshake failed: %s. The trust store must contain the issuer of the service's certificate, and the certificate must name the host of the URL."
                .formatted(cause.getMessage()),
        cause);
  }

  static AthanorException malformed(String reason, @Nullable Throwable cause) {
    return new AthanorException("malformed-answer", "The response is malformed: " + reason, cause);
  }

  static AthanorException interrupted(InterruptedException cause) {
    return new AthanorException("interrupted", "The thread was interrupted.", cause);
  }

  static AthanorException deadlineExceeded(@Nullable Throwable cause) {
    return new AthanorException(
        AthanorException.DEADLINE_EXCEEDED,
        "The deadline passed before the service responded.",
        cause);
  }

  /** A response that violates the API. */
  static final class MalformedAnswer extends RuntimeException {
    MalformedAnswer(String message) {
      super(message);
    }
  }
}
