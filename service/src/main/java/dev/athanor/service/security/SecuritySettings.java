package dev.athanor.service.security;

import jakarta.validation.Valid;
import jakarta.validation.constraints.NotBlank;
import jakarta.validation.constraints.NotNull;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Who may call. What is common to all Spring Boot services is set as there: {@code
 * spring.security.oauth2.resourceserver.jwt} says whose tokens are taken, {@code server.ssl} and
 * {@code spring.ssl.bundle} whose certificates.
 *
 * @param allowUnauthenticated whether mode none may be reached from other machines
 * @param unauthenticatedManagement whether metrics and information need no caller where management
 *     has a port of its own
 */
public record SecuritySettings(
    @NotNull @DefaultValue("none") Mode mode,
    @DefaultValue("false") boolean allowUnauthenticated,
    @DefaultValue("false") boolean unauthenticatedManagement,
    @Valid @NotNull @DefaultValue ApiKeysFile apiKeys,
    @Valid @NotNull @DefaultValue Jwt jwt,
    @Valid @NotNull @DefaultValue Mtls mtls) {

  /** How callers show who they are. */
  public enum Mode {
    NONE,
    API_KEY,
    JWT,
    MTLS
  }

  /**
   * Of mode api-key.
   *
   * @param file the hashes of the keys, a line each
   */
  public record ApiKeysFile(@DefaultValue("") String file) {}

  /**
   * Of mode jwt.
   *
   * @param tenantClaim a string
   * @param scopesClaim a list of strings, or one with spaces between them
   */
  public record Jwt(
      @NotBlank @DefaultValue("tenant") String tenantClaim,
      @NotBlank @DefaultValue("scope") String scopesClaim) {}

  /**
   * Of mode mtls.
   *
   * @param tenantPattern what the whole name must match; its first group is the tenant
   * @param scopes of everyone who has a certificate
   */
  public record Mtls(
      @NotNull @DefaultValue("subject-cn") Source tenantFrom,
      @NotNull @DefaultValue("(.+)") Pattern tenantPattern,
      @NotNull @DefaultValue({"ops:run", "tensors:read", "tensors:write"}) Set<Scope> scopes) {}

  /** Which name in a certificate has the tenant. */
  public enum Source {
    SUBJECT_CN,
    SAN_URI,
    SAN_DNS;

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
  }
}
