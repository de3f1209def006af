package dev.athanor.service.security;

import java.security.cert.X509Certificate;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * What a request brings to show who sent it, whatever its protocol.
 *
 * @param authorization the values of the header or metadata {@code Authorization}
 * @param apiKey those of {@code X-API-Key}
 * @param certificates the client's, its own first, verified by the TLS handshake
 */
public record Credentials(
    List<String> authorization, List<String> apiKey, List<X509Certificate> certificates) {

  /** The challenge where a bearer token or a key is wanted. */
  public static final String BEARER = "Bearer realm=\"athanor\"";

  /** RFC 6750, 2.1. */
  private static final Pattern TOKEN =
      Pattern.compile("(?i:bearer) +([A-Za-z0-9._~+/-]+=*)", Pattern.DOTALL);

  /** Whether there are none. */
  public boolean isEmpty() {
    return authorization.isEmpty() && apiKey.isEmpty() && certificates.isEmpty();
  }

  /**
   * The token of {@code Authorization: Bearer …}.
   *
   * @throws dev.athanor.service.failure.Failure with {@code unauthenticated} when the header is
   *     there twice or has another form
   */
  Optional<String> bearer() {
    if (authorization.isEmpty()) {
      return Optional.empty();
    }
    var m = TOKEN.matcher(authorization.getFirst());
    if (authorization.size() > 1 || !m.matches()) {
      throw Callers.unauthenticated("Authorization must be there once, as Bearer and a token");
    }
    return Optional.of(m.group(1));
  }

  /**
   * The key, by either header.
   *
   * @throws dev.athanor.service.failure.Failure with {@code unauthenticated} when there are two
   */
  Optional<String> key() {
    if (apiKey.isEmpty()) {
      return bearer();
    }
    if (apiKey.size() > 1 || !authorization.isEmpty()) {
      throw Callers.unauthenticated("give one key, in Authorization or in X-API-Key");
    }
    return Optional.of(apiKey.getFirst());
  }
}
