package dev.athanor.service.security;

import dev.athanor.service.tensor.Tenant;
import java.util.EnumSet;
import java.util.Set;

/**
 * Who calls.
 *
 * @param id of a key, the subject of a token or certificate; never a secret
 * @param tenant whose tensors and whose share of the device these are
 */
public record Caller(String id, Tenant tenant, Set<Scope> scopes) {

  /** Whoever can reach the service, where nobody has to say who they are. */
  public static final Caller LOCAL = new Caller("local", Tenant.LOCAL, EnumSet.allOf(Scope.class));

  public Caller {
    scopes = Set.copyOf(scopes);
  }

  /** Whether the caller has a scope, or the one that includes all others. */
  public boolean has(Scope scope) {
    return scopes.contains(scope) || scopes.contains(Scope.ADMIN);
  }
}
