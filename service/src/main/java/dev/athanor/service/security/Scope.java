package dev.athanor.service.security;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** What a caller may be allowed, always among the tensors of its own tenant. */
public enum Scope {
  /** Runs ops and pipelines, on every tensor of the tenant that a call names; keeps results. */
  OPS_RUN,
  /** Lists, describes and reads tensors. */
  TENSORS_READ,
  /** Creates, replaces, renews and deletes tensors. */
  TENSORS_WRITE,
  /** Reads metrics, health in detail and what runs here. */
  METRICS,
  /** Asks for a priority above the normal one. */
  PRIORITY,
  /** All of the above. */
  ADMIN;

  /** {@code ops:run}. */
  public String text() {
    return name().toLowerCase(Locale.ROOT).replace('_', ':');
  }

  /** The scope of a text, if there is one. */
  public static Optional<Scope> of(String text) {
    return Arrays.stream(values()).filter(scope -> scope.text().equals(text)).findFirst();
  }

  /**
   * The scopes in a text with commas between them.
   *
   * @throws IllegalArgumentException when it names none, or one that there is not
   */
  public static Set<Scope> list(String text) {
    var scopes = EnumSet.noneOf(Scope.class);
    for (var each : text.split(",", -1)) {
      scopes.add(
          of(each)
              .orElseThrow(() ->
                  new IllegalArgumentException(
                      "the scopes must be some of %s, with commas between them"
                          .formatted(list(EnumSet.allOf(Scope.class))))));
    }
    return scopes;
  }

  /** The text that {@link #list(String)} reads. */
  static String list(Set<Scope> scopes) {
    return scopes.stream().sorted().map(Scope::text).collect(Collectors.joining(","));
  }
}
