package dev.athanor.service.tensor;

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
 * Quotas of single tenants, where they differ from those of all.
 *
 * @param tenants Quotas by tenant. What is not set for a tenant is as for all others.
 */
public record QuotaSettings(@DefaultValue Map<String, @Valid TenantQuota> tenants) {

  /** No tenant has quotas of its own. */
  public static final QuotaSettings NONE = new QuotaSettings(Map.of());

  private static final TenantQuota AS_ALL = new TenantQuota(null, null, null);

  /**
   * The quotas of one tenant.
   *
   * @param maxBytes Bytes of all resident tensors of the tenant. By default
   *     athanor.tensors.max-bytes.
   * @param maxCount Number of resident tensors of the tenant. By default athanor.tensors.max-count.
   * @param inlineShare Share of athanor.run.inline-bytes that the requests of the tenant may use
   *     together. By default athanor.run.inline-tenant-share.
   */
  public record TenantQuota(
      @Min(1) @Nullable Long maxBytes,
      @Min(1) @Nullable Integer maxCount,
      @DecimalMin("0.01") @DecimalMax("1") @Nullable Double inlineShare) {}

  public QuotaSettings {
    tenants = Map.copyOf(tenants);
  }

  /** A quota for a name that no tenant can have would never apply. */
  @AssertTrue(
      message =
          "the name of a tenant in athanor.quota.tenants must have 1 to 64 letters, digits, dots, hyphens and underscores")
  public boolean isEveryNameATenants() {
    return tenants.keySet().stream().allMatch(Tenant::isName);
  }

  private TenantQuota of(Tenant tenant) {
    return tenants.getOrDefault(tenant.name(), AS_ALL);
  }

  long maxBytes(Tenant tenant, TensorSettings all) {
    return Objects.requireNonNullElse(of(tenant).maxBytes, all.maxBytes());
  }

  int maxCount(Tenant tenant, TensorSettings all) {
    return Objects.requireNonNullElse(of(tenant).maxCount, all.maxCount());
  }

  /**
   * Returns the share of the memory for tensors inside requests that a tenant may use.
   *
   * @param all the share of tenants without one of their own, from 0 to 1
   */
  public double inlineShare(Tenant tenant, double all) {
    return Objects.requireNonNullElse(of(tenant).inlineShare, all);
  }
}
