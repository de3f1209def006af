package dev.athanor.service.security;

import dev.athanor.service.tensor.Tenant;
import java.util.EnumSet;
import java.util.Set;

/**
 * An authenticated caller.
 *
 * @param id the name of a key, or the subject of a token or certificate; never a secret
 * @param tenant the tenant that owns the caller's tensors and quota
 * @param account who is charged for shared resources: the tenant or, without authentication, the
 *     client's address
 */
public record Caller(String id, Tenant tenant, Set<Scope> scopes, String account) {

  /** The caller if authentication is disabled and the address does not matter. */
  public static final Caller LOCAL = local(Tenant.LOCAL.name());

  public Caller {
    scopes = Set.copyOf(scopes);
  }

  /** Creates an authenticated caller. */
  public Caller(String id, Tenant tenant, Set<Scope> scopes) {
    this(id, tenant, scopes, tenant.name());
  }

  /** Returns the caller at an address if authentication is disabled. */
  static Caller local(String address) {
    return new Caller("local", Tenant.LOCAL, EnumSet.allOf(Scope.class), address);
  }

  /** Whether the caller has a scope, or the one that includes all others. */
  public boolean has(Scope scope) {
    return scopes.contains(scope) || scopes.contains(Scope.ADMIN);
  }
}
