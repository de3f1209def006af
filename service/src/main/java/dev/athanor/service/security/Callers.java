package dev.athanor.service.security;

import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import java.util.List;

/** Finds out who calls; one for each {@link SecuritySettings.Mode}. */
public interface Callers {

  /**
   * Who has these credentials.
   *
   * @throws Failure with {@code unauthenticated}, which tells nothing of why they are not accepted
   *     beyond what the caller knows, or {@code identity-provider-unavailable}
   */
  Caller identify(Credentials credentials);

  /** What {@code WWW-Authenticate} asks for (RFC 9110, 11.6.1). */
  String challenge();

  /**
   * Returns the security schemes of openapi.yaml by which callers may authenticate; any will do.
   */
  List<String> schemes();

  /** Returns what callers present, as messages name it: "API key", "token". */
  String credential();

  /** Returns the refusal of a caller whose credential lacks a scope. */
  default Failure lacks(Scope scope) {
    return new Failure.Refused(
        Code.FORBIDDEN,
        "This request needs the scope %s, which the %s lacks."
            .formatted(scope.text(), credential()));
  }

  /** Looks again at what has been read from files; is called every few seconds. */
  default void refresh() {}

  /** Everyone is {@link Caller#LOCAL}. */
  static Callers nobodyAsked() {
    return new Callers() {
      @Override
      public Caller identify(Credentials credentials) {
        return Caller.LOCAL;
      }

      @Override
      public String challenge() {
        return Credentials.BEARER;
      }

      @Override
      public List<String> schemes() {
        return List.of();
      }

      @Override
      public String credential() {
        return "caller";
      }
    };
  }

  /** The refusal of credentials. */
  static Failure unauthenticated(String sentence) {
    return new Failure.Refused(Code.UNAUTHENTICATED, sentence);
  }
}
