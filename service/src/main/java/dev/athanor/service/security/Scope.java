package dev.athanor.service.security;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** A permission of a caller, always limited to the tensors of its own tenant. */
public enum Scope {
  /** Run ops and pipelines, read and write the tensors that they name, and keep results. */
  OPS_RUN,
  /** List, describe and read tensors. */
  TENSORS_READ,
  /** Create, replace, renew and delete tensors. */
  TENSORS_WRITE,
  /** Read metrics, detailed health and build information. */
  METRICS,
  /** Request a priority above the default. */
  PRIORITY,
  /** All of the above. */
  ADMIN;

  /** Returns the scope in the form {@code ops:run}. */
  public String text() {
    return name().toLowerCase(Locale.ROOT).replace('_', ':');
  }

  /** Parses a scope; empty if unknown. */
  public static Optional<Scope> of(String text) {
    return Arrays.stream(values()).filter(scope -> scope.text().equals(text)).findFirst();
  }

  /**
   * Parses comma-separated scopes.
   *
   * @throws IllegalArgumentException if the text is empty or contains an unknown scope
   */
  public static Set<Scope> list(String text) {
    var scopes = EnumSet.noneOf(Scope.class);
    for (var each : text.split(",", -1)) {
      scopes.add(
          of(each)
              .orElseThrow(() ->
                  new IllegalArgumentException(
                      "scopes must be a comma-separated list of %s"
                          .formatted(list(EnumSet.allOf(Scope.class))))));
    }
    return scopes;
  }

  /** Formats scopes for {@link #list(String)}. */
  static String list(Set<Scope> scopes) {
    return scopes.stream().sorted().map(Scope::text).collect(Collectors.joining(","));
  }
}
