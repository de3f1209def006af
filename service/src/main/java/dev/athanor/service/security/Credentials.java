package dev.athanor.service.security;

import java.security.cert.X509Certificate;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The credentials of a request, independent of the protocol.
 *
 * @param authorization the values of the header or metadata {@code Authorization}
 * @param apiKey the values of {@code X-API-Key}
 * @param certificates the client's certificate chain, leaf first, verified by the TLS handshake
 * @param address the client's IP address
 */
public record Credentials(
    List<String> authorization,
    List<String> apiKey,
    List<X509Certificate> certificates,
    String address) {

  /** The challenge for bearer tokens and API keys. */
  public static final String BEARER = "Bearer realm=\"athanor\"";

  /** The syntax of RFC 6750, section 2.1. */
  private static final Pattern TOKEN =
      Pattern.compile("(?i:bearer) +([A-Za-z0-9._~+/-]+=*)", Pattern.DOTALL);

  /** Whether the request has no credentials. */
  public boolean isEmpty() {
    return authorization.isEmpty() && apiKey.isEmpty() && certificates.isEmpty();
  }

  /**
   * Returns the token of {@code Authorization: Bearer …}.
   *
   * @throws dev.athanor.service.failure.Failure with {@code unauthenticated} if the header is
   *     repeated or malformed
   */
  Optional<String> bearer() {
    if (authorization.isEmpty()) {
      return Optional.empty();
    }
    var m = TOKEN.matcher(authorization.getFirst());
    if (authorization.size() > 1 || !m.matches()) {
      throw Callers.unauthenticated(
          "Authorization must be given once, as Bearer followed by a token");
    }
    return Optional.of(m.group(1));
  }

  /**
   * Returns the API key from either header.
   *
   * @throws dev.athanor.service.failure.Failure with {@code unauthenticated} if several are given
   */
  Optional<String> key() {
    if (apiKey.isEmpty()) {
      return bearer();
    }
    if (apiKey.size() > 1 || !authorization.isEmpty()) {
      throw Callers.unauthenticated("give one API key, in Authorization or in X-API-Key");
    }
    return Optional.of(apiKey.getFirst());
  }
}
