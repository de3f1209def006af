package dev.athanor.service.security;

import org.jspecify.annotations.Nullable;

/**
 * The access rule of one operation.
 *
 * @param operation a route such as {@code GET /tensors/{handle}}, or the full name of an RPC such
 *     as {@code athanor.v1.Ops/Run}
 * @param open whether no authentication is required
 * @param scope the required scope; null if any authenticated caller is allowed
 */
public record Rule(String operation, boolean open, @Nullable Scope scope) {

  /** Returns a rule without authentication, for probes. */
  static Rule open(String operation) {
    return new Rule(operation, true, null);
  }

  /** Returns a rule for operations that reveal nothing about tenants. */
  static Rule anyCaller(String operation) {
    return new Rule(operation, false, null);
  }

  static Rule needs(Scope scope, String operation) {
    return new Rule(operation, false, scope);
  }

  /** Whether the rule allows a caller. */
  public boolean admits(Caller caller) {
    return open || scope == null || caller.has(scope);
  }
}
