package dev.athanor.service.security;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.service.tensor.Tenant;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class CallersTest {

  /** Tensors belong to one tenant, but each client is charged for its own requests. */
  @Test
  void withoutAuthenticationTheAddressIsCharged() {
    var caller =
        Callers.anonymous().identify(new Credentials(List.of(), List.of(), List.of(), "192.0.2.1"));
    assertThat(caller.tenant()).isEqualTo(Tenant.LOCAL);
    assertThat(caller.account()).isEqualTo("192.0.2.1");
  }

  @Test
  void authenticatedCallersChargeTheirTenant() {
    assertThat(new Caller("key", new Tenant("lab"), Set.of()).account()).isEqualTo("lab");
  }
}
