package dev.athanor.service.run;

import dev.athanor.service.failure.Deadline;
import dev.athanor.service.tensor.Tenant;

/** For whom a request is served, and how long that may take. */
public record Terms(Tenant tenant, Deadline deadline) {

  /** The service's own work. */
  public static final Terms OWN = new Terms(Tenant.LOCAL, Deadline.none());
}
