package dev.athanor.service.security;

import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.tensor.Tenant;
import java.time.Duration;
import java.util.Collection;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.security.oauth2.jwt.BadJwtException;
import org.springframework.security.oauth2.jwt.Jwt;
import org.springframework.security.oauth2.jwt.JwtDecoder;
import org.springframework.security.oauth2.jwt.JwtDecoderInitializationException;
import org.springframework.security.oauth2.jwt.JwtException;

/** Authenticates callers by JSON Web Tokens (RFC 7519), as an OAuth 2.0 resource server. */
public final class JwtCallers implements Callers {

  private static final Logger LOG = LoggerFactory.getLogger(JwtCallers.class);
  private static final Duration RETRY = Duration.ofSeconds(5);

  /** Minimum interval between warnings that the identity provider does not respond. */
  private static final Duration BETWEEN_WARNINGS = Duration.ofMinutes(1);

  private final JwtDecoder decoder;
  private final SecuritySettings.Jwt settings;
  private final AtomicLong nextWarning = new AtomicLong(System.nanoTime());

  /**
   * @param decoder verifies signature, algorithm, issuer, audience and times
   */
  public JwtCallers(JwtDecoder decoder, SecuritySettings.Jwt settings) {
    this.decoder = decoder;
    this.settings = settings;
  }

  @Override
  public Caller identify(Credentials credentials) {
    var token =
        credentials
            .bearer()
            .orElseThrow(() ->
                Callers.unauthenticated("Token required; send it as Authorization: Bearer …"));
    var jwt = decode(token);
    if (jwt.getExpiresAt() == null) {
      throw Callers.unauthenticated("the token has no exp; tokens must expire");
    }
    var tenant = jwt.getClaims().get(settings.tenantClaim());
    if (!(tenant instanceof String name) || !Tenant.isName(name)) {
      throw Callers.unauthenticated(
          "the token's claim %s does not name a tenant".formatted(settings.tenantClaim()));
    }
    var scopes = scopes(jwt.getClaims().get(settings.scopesClaim()));
    return new Caller(Objects.requireNonNullElse(jwt.getSubject(), ""), new Tenant(name), scopes);
  }

  private Jwt decode(String token) {
    try {
      return decoder.decode(token);
    } catch (BadJwtException e) {
      LOG.debug("Token rejected", e);
      throw Callers.unauthenticated(
          "Invalid token; it must be signed by the issuer, be for this audience, and not be expired");
    } catch (JwtException | JwtDecoderInitializationException e) {
      warn(e);
      throw new Failure.Busy(
          Code.IDENTITY_PROVIDER_UNAVAILABLE,
          "The token cannot be checked: the identity provider does not answer. Retry after %d s."
              .formatted(RETRY.toSeconds()),
          RETRY);
    }
  }

  private void warn(RuntimeException cause) {
    long now = System.nanoTime();
    long next = nextWarning.get();
    if (now - next >= 0 && nextWarning.compareAndSet(next, now + BETWEEN_WARNINGS.toNanos())) {
      LOG.warn("Tokens cannot be checked: {}", cause.getMessage());
    } else {
      LOG.debug("Tokens cannot be checked", cause);
    }
  }

  /**
   * Returns the known scopes of the claim; others are ignored, since a token may serve several
   * services.
   */
  private static Set<Scope> scopes(@Nullable Object claim) {
    var words =
        switch (claim) {
          case String text -> Stream.of(text.split(" ", -1));
          case Collection<?> list -> list.stream().map(String::valueOf);
          case null, default -> Stream.<String>empty();
        };
    var scopes = EnumSet.noneOf(Scope.class);
    words.forEach(word -> Scope.of(word).ifPresent(scopes::add));
    return scopes;
  }

  @Override
  public String challenge() {
    return Credentials.BEARER;
  }

  @Override
  public List<String> schemes() {
    return List.of("bearer");
  }

  @Override
  public String credential() {
    return "token";
  }
}
