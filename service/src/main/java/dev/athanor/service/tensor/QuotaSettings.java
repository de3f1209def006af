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
 * Quotas of individual tenants that override the defaults.
 *
 * @param tenants Quotas by tenant. A quota that is not set has the default for all tenants.
 */
public record QuotaSettings(@DefaultValue Map<String, @Valid TenantQuota> tenants) {

  /** No overrides. */
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

  /** Rejects names that no tenant can have, since their quotas would never apply. */
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
   * Returns the share of the inline memory that a tenant may use.
   *
   * @param all the default share, from 0 to 1
   */
  public double inlineShare(Tenant tenant, double all) {
    return Objects.requireNonNullElse(of(tenant).inlineShare, all);
  }
}
