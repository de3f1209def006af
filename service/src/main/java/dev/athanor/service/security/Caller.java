package dev.athanor.service.security;

import dev.athanor.service.tensor.Tenant;
import java.util.EnumSet;
import java.util.Set;

/**
 * An authenticated caller.
 *
 * @param id the name of a key, or the subject of a token or certificate; never a secret
 * @param tenant the tenant that owns the caller's tensors and quota
 */
public record Caller(String id, Tenant tenant, Set<Scope> scopes) {

  /** The caller of all requests if authentication is disabled. */
  public static final Caller LOCAL = new Caller("local", Tenant.LOCAL, EnumSet.allOf(Scope.class));

  public Caller {
    scopes = Set.copyOf(scopes);
  }

  /** Whether the caller has a scope, or the one that includes all others. */
  public boolean has(Scope scope) {
    return scopes.contains(scope) || scopes.contains(Scope.ADMIN);
  }
}
