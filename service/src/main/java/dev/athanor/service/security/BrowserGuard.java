package dev.athanor.service.security;

import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.security.SecuritySettings.Mode;
import java.net.InetAddress;
import java.net.URI;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Refuses requests that a browser sends on behalf of a foreign web page, where the browser alone is
 * enough to be authorized: in mode none, and in mode mtls, since browsers present certificates.
 *
 * @param checksHost whether {@code Host} must be a loopback name, so that a foreign name that
 *     resolves to loopback is refused (DNS rebinding)
 * @param checksOrigin whether {@code Origin}, which browsers add to cross-origin requests and which
 *     pages cannot forge, must be the service itself
 * @param allowedHosts other host names, in lower case
 */
public record BrowserGuard(boolean checksHost, boolean checksOrigin, Set<String> allowedHosts) {

  /**
   * Returns the guard for a mode.
   *
   * @param isLoopback whether the service listens on loopback addresses only
   */
  public static BrowserGuard of(SecuritySettings settings, boolean isLoopback) {
    var mode = settings.mode();
    return new BrowserGuard(
        mode == Mode.NONE && isLoopback,
        mode == Mode.NONE || mode == Mode.MTLS,
        settings.allowedHosts().stream()
            .map(each -> each.toLowerCase(Locale.ROOT))
            .collect(Collectors.toUnmodifiableSet()));
  }

  /**
   * Returns why a request is refused; empty if it is not.
   *
   * @param host the header {@code Host}; null if absent, which no browser sends
   * @param origin the header {@code Origin}; null if absent
   */
  public Optional<Failure> refusal(@Nullable String host, @Nullable String origin) {
    if (checksHost && host != null && !isLoopback(name(host)) && !isAllowed(name(host))) {
      return Optional.of(
          new Failure.Refused(
              Code.FORBIDDEN,
              "Host",
              ("Host is \"%s\"; without authentication the service accepts only loopback names such as localhost."
                      + " Add other names to athanor.security.allowed-hosts or set athanor.security.mode.")
                  .formatted(Tensors.excerpt(host))));
    }
    if (checksOrigin && origin != null && !isOwn(origin, host)) {
      return Optional.of(
          new Failure.Refused(
              Code.FORBIDDEN,
              "Origin",
              ("Origin is \"%s\"; the service refuses requests of web pages from other origins."
                      + " Add its host to athanor.security.allowed-hosts to trust it.")
                  .formatted(Tensors.excerpt(origin))));
    }
    return Optional.empty();
  }

  private boolean isAllowed(String name) {
    return allowedHosts.contains(name);
  }

  /** Whether an origin is the service as the browser addressed it, or an allowed host. */
  private boolean isOwn(String origin, @Nullable String host) {
    try {
      var authority = URI.create(origin).getRawAuthority();
      return authority != null && (authority.equalsIgnoreCase(host) || isAllowed(name(authority)));
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  /** Returns the name in {@code name:port}, in lower case. */
  private static String name(String authority) {
    return authority.replaceFirst(":\\d*$", "").toLowerCase(Locale.ROOT);
  }

  /** Looks up no names. */
  private static boolean isLoopback(String name) {
    if (name.equals("localhost") || name.endsWith(".localhost")) {
      return true;
    }
    try {
      return InetAddress.ofLiteral(name.replaceAll("^\\[|]$", "")).isLoopbackAddress();
    } catch (IllegalArgumentException e) {
      return false;
    }
  }
}
