package dev.athanor.service.schedule;

import java.util.HashMap;
import java.util.Map;

/**
 * A limit that tenants share. A tenant may hold its share of what the others leave (a dynamic
 * threshold; Choudhury and Hahne, 1998): with a share of one half, one tenant may hold half of the
 * limit, and two that want everything hold a third each. Unless a share is 1, something is always
 * left for another tenant. Thread-safe.
 */
public final class SharedLimit {

  private final long total;
  private final TenantShares shares;
  private final Map<String, Long> held = new HashMap<>();
  private long used;

  public SharedLimit(long total, TenantShares shares) {
    this.total = total;
    this.shares = shares;
  }

  /** Returns the limit of all tenants together. */
  public long total() {
    return total;
  }

  /** Returns how much all tenants hold. */
  public synchronized long used() {
    return used;
  }

  /** Returns how much a tenant holds. */
  public synchronized long held(String tenant) {
    return held.getOrDefault(tenant, 0L);
  }

  /** Returns how much a tenant may hold while the others hold nothing. */
  public long most(String tenant) {
    return (long) Math.ceil(shares.share(tenant) * total);
  }

  /** Returns how much a tenant may hold now. */
  synchronized long limit(String tenant) {
    long left = Math.max(0, total - (used - held(tenant)));
    return (long) Math.ceil(shares.share(tenant) * left);
  }

  /** Whether a tenant may hold more by an amount. */
  synchronized boolean fits(String tenant, long amount) {
    return amount <= limit(tenant) - held(tenant);
  }

  /** Adds to what a tenant holds, regardless of the limit. */
  synchronized void add(String tenant, long amount) {
    long now = held(tenant) + amount;
    used += amount;
    if (now == 0) {
      held.remove(tenant);
    } else {
      held.put(tenant, now);
    }
  }

  /** Adds to what a tenant holds if it fits, and returns whether it does. */
  public synchronized boolean tryAdd(String tenant, long amount) {
    boolean fits = fits(tenant, amount);
    if (fits) {
      add(tenant, amount);
    }
    return fits;
  }

  /** Subtracts from what a tenant holds. */
  public void remove(String tenant, long amount) {
    add(tenant, -amount);
  }
}
