package dev.athanor.service.security;

import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import java.util.List;

/** Authenticates callers. Each {@link SecuritySettings.Mode} has an implementation. */
public interface Callers {

  /**
   * Authenticates credentials.
   *
   * @throws Failure with {@code unauthenticated}, whose message reveals nothing that the caller
   *     does not know, or with {@code identity-provider-unavailable}
   */
  Caller identify(Credentials credentials);

  /** Returns the challenge for {@code WWW-Authenticate} (RFC 9110, section 11.6.1). */
  String challenge();

  /**
   * Returns the security schemes of openapi.yaml by which callers may authenticate; any of them
   * suffices.
   */
  List<String> schemes();

  /** Returns the kind of credential for messages, such as "API key" or "token". */
  String credential();

  /** Returns the failure of a caller that lacks a scope. */
  default Failure lacks(Scope scope, Caller caller) {
    return new Failure.Refused(
        Code.FORBIDDEN,
        "This request needs the scope %s; the %s has %s."
            .formatted(
                scope.text(),
                credential(),
                caller.scopes().isEmpty()
                    ? "no scope"
                    : Scope.list(caller.scopes()).replace(",", ", ")));
  }

  /** Reloads files that have changed; called every few seconds. */
  default void refresh() {}

  /** Returns callers without authentication, which only their addresses distinguish. */
  static Callers anonymous() {
    return new Callers() {
      @Override
      public Caller identify(Credentials credentials) {
        return Caller.local(credentials.address());
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

  /** Returns the failure for missing or invalid credentials. */
  static Failure unauthenticated(String sentence) {
    return new Failure.Refused(Code.UNAUTHENTICATED, sentence);
  }
}
