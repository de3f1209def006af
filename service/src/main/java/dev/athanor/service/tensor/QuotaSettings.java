package dev.athanor.service.tensor;

import dev.athanor.service.schedule.TenantShares;
import jakarta.validation.Valid;
import jakarta.validation.constraints.AssertTrue;
import jakarta.validation.constraints.DecimalMax;
import jakarta.validation.constraints.DecimalMin;
import jakarta.validation.constraints.Min;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The shares of all tenants, and the quotas of individual tenants that override the defaults.
 *
 * @param share Share of the queue, of inline-bytes and of the requests in progress that one tenant
 *     may hold of what other tenants leave. Without authentication, each client address is a tenant
 *     here.
 * @param tenants Quotas by tenant. A quota that is not set has the default for all tenants.
 */
public record QuotaSettings(
    @DecimalMin("0.01") @DecimalMax("1") @DefaultValue("0.5") double share,
    @DefaultValue Map<String, @Valid TenantQuota> tenants)
    implements TenantShares {

  /** No overrides, and no shares. */
  public static final QuotaSettings NONE = new QuotaSettings(1, Map.of());

  private static final TenantQuota AS_ALL = new TenantQuota(null, null, null, null);

  /**
   * The quotas of one tenant.
   *
   * @param maxBytes Bytes of all resident tensors of the tenant. By default
   *     athanor.tensors.max-bytes.
   * @param maxCount Number of resident tensors of the tenant. By default athanor.tensors.max-count.
   * @param share Share that the tenant may hold instead of athanor.quota.share.
   * @param weight Device time of the tenant relative to that of other waiting tenants. By default
   *     1.
   */
  public record TenantQuota(
      @Min(1) @Nullable Long maxBytes,
      @Min(1) @Nullable Integer maxCount,
      @DecimalMin("0.01") @DecimalMax("1") @Nullable Double share,
      @DecimalMin("0.01") @DecimalMax("100") @Nullable Double weight) {}

  public QuotaSettings {
    tenants = Map.copyOf(tenants);
  }

  /** Rejects names that no tenant can have, since their quotas would never apply. */
  @AssertTrue(
      message =
          "the name of a tenant in athanor.quota.tenants must have 1 to 64 letters, digits, dots, hyphens and underscores")
  public boolean isEveryNameATenants() {
    return tenants.keySet().stream().allMatch(Tenant::isName);
  }

  private TenantQuota of(String tenant) {
    return tenants.getOrDefault(tenant, AS_ALL);
  }

  long maxBytes(Tenant tenant, TensorSettings all) {
    return Objects.requireNonNullElse(of(tenant.name()).maxBytes, all.maxBytes());
  }

  int maxCount(Tenant tenant, TensorSettings all) {
    return Objects.requireNonNullElse(of(tenant.name()).maxCount, all.maxCount());
  }

  @Override
  public double share(String tenant) {
    return Objects.requireNonNullElse(of(tenant).share, share);
  }

  @Override
  public double weight(String tenant) {
    return Objects.requireNonNullElse(of(tenant).weight, 1.0);
  }
}
