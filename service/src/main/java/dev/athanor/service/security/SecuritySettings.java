package dev.athanor.service.security;

import jakarta.validation.Valid;
import jakarta.validation.constraints.NotBlank;
import jakarta.validation.constraints.NotNull;
import java.time.Duration;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Settings of authentication. Common Spring Boot settings keep their names: {@code
 * spring.security.oauth2.resourceserver.jwt} for the issuer of tokens, {@code server.ssl} and
 * {@code spring.ssl.bundle} for certificates.
 *
 * @param mode How callers authenticate: none, api-key, jwt or mtls.
 * @param allowUnauthenticated Whether the service may listen on addresses other than loopback in
 *     mode none.
 * @param allowedHosts Host names besides those of loopback that requests may name in mode none on a
 *     loopback address; pages of these hosts may send requests.
 * @param unauthenticatedManagement Whether metrics and info need no authentication if management
 *     has a separate port.
 */
public record SecuritySettings(
    @NotNull @DefaultValue("none") Mode mode,
    @DefaultValue("false") boolean allowUnauthenticated,
    @NotNull @DefaultValue Set<String> allowedHosts,
    @DefaultValue("false") boolean unauthenticatedManagement,
    @Valid @NotNull @DefaultValue ApiKeysFile apiKeys,
    @Valid @NotNull @DefaultValue Jwt jwt,
    @Valid @NotNull @DefaultValue Mtls mtls) {

  /** The authentication mode. */
  public enum Mode {
    NONE,
    API_KEY,
    JWT,
    MTLS
  }

  /**
   * Settings of mode api-key.
   *
   * @param file File with the hash of one API key per line. Required in mode api-key.
   * @param refresh How often the file is checked for changes.
   */
  public record ApiKeysFile(
      @DefaultValue("") String file, @NotNull @DefaultValue("5s") Duration refresh) {}

  /**
   * Settings of mode jwt.
   *
   * @param tenantClaim Name of the claim that holds the tenant, a string.
   * @param scopesClaim Name of the claim that holds the scopes: a list of strings, or one
   *     space-separated string.
   */
  public record Jwt(
      @NotBlank @DefaultValue("tenant") String tenantClaim,
      @NotBlank @DefaultValue("scope") String scopesClaim) {}

  /**
   * Settings of mode mtls.
   *
   * @param tenantFrom Name in the client certificate that holds the tenant: the common name of its
   *     subject, a URI or a DNS name among its alternative names.
   * @param tenantPattern Regular expression that the whole name must match. Its first group is the
   *     tenant.
   * @param scopes Scopes of every caller with a valid certificate.
   */
  public record Mtls(
      @NotNull @DefaultValue("subject-cn") Source tenantFrom,
      @NotNull @DefaultValue("(.+)") Pattern tenantPattern,
      @NotNull @DefaultValue({"ops:run", "tensors:read", "tensors:write"}) Set<Scope> scopes) {}

  /** The name in a certificate that holds the tenant. */
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
