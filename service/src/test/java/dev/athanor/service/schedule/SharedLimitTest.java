package dev.athanor.service.schedule;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;

class SharedLimitTest {

  private static SharedLimit of(long total, double share) {
    return new SharedLimit(total, new History.Shares(share, Map.of()));
  }

  /** Adds what fits, one by one, and returns what the tenant then holds. */
  private static long fill(SharedLimit limit, String tenant) {
    while (limit.tryAdd(tenant, 1)) {}
    return limit.held(tenant);
  }

  @Test
  void somethingIsLeftForOtherTenants() {
    var limit = of(64, 0.5);
    assertThat(fill(limit, "a")).isEqualTo(limit.most("a")).isEqualTo(32);
    assertThat(fill(limit, "b")).isEqualTo(16);
    assertThat(fill(limit, "c")).isEqualTo(8);
    assertThat(limit.tryAdd("a", 1)).isFalse();
    assertThat(limit.used()).isEqualTo(56);
  }

  @Test
  void tenantsThatWantEverythingConvergeToEqualShares() {
    var limit = of(90, 0.5);
    fill(limit, "a");
    for (int round = 0; round < 100; round++) {
      fill(limit, "b");
      limit.remove("a", 1);
      fill(limit, "a");
      limit.remove("b", 1);
    }
    assertThat(limit.held("a")).isBetween(29L, 31L);
    assertThat(limit.held("b")).isBetween(29L, 31L);
  }

  @Test
  void shareOfOneAllowsEverything() {
    var limit = of(5, 1);
    assertThat(limit.tryAdd("a", 6)).isFalse();
    assertThat(limit.tryAdd("a", 5)).isTrue();
    assertThat(limit.tryAdd("b", 1)).isFalse();
    limit.remove("a", 5);
    assertThat(limit.used()).isZero();
    assertThat(fill(limit, "b")).isEqualTo(5);
  }

  @Test
  void smallLimitsAdmitOneTenant() {
    var limit = of(1, 0.01);
    assertThat(fill(limit, "a")).isEqualTo(1);
    assertThat(fill(limit, "b")).isZero();
  }
}
