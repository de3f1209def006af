package dev.athanor.service.security;

import org.jspecify.annotations.Nullable;

/**
 * Who may ask for one operation.
 *
 * @param operation a route, {@code GET /tensors/{handle}}, or the full name of an RPC, {@code
 *     athanor.v1.Ops/Run}
 * @param open whether nobody has to say who they are
 * @param scope what a caller needs; null when any caller may
 */
public record Rule(String operation, boolean open, @Nullable Scope scope) {

  /** For probes, which cannot say who they are. */
  static Rule open(String operation) {
    return new Rule(operation, true, null);
  }

  /** For what tells nothing of any tenant. */
  static Rule anyCaller(String operation) {
    return new Rule(operation, false, null);
  }

  static Rule needs(Scope scope, String operation) {
    return new Rule(operation, false, scope);
  }

  /** Whether a caller may. */
  public boolean admits(Caller caller) {
    return open || scope == null || caller.has(scope);
  }
}
