package dev.athanor.service.schedule;

/** How tenants share the service. Without authentication, a tenant is a remote address. */
public interface TenantShares {

  /** Each tenant may use all of every limit, and all have the same weight. */
  TenantShares UNLIMITED =
      new TenantShares() {
        @Override
        public double share(String tenant) {
          return 1;
        }

        @Override
        public double weight(String tenant) {
          return 1;
        }
      };

  /** Returns the share of a limit that a tenant may use of what other tenants leave, up to 1. */
  double share(String tenant);

  /** Returns the weight of a tenant: its device time relative to that of waiting tenants. */
  double weight(String tenant);
}
