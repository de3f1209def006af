package dev.athanor.engine.profile;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.testing.TestTier;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class LastRequestCacheTest {

  private static long[] addresses(long start, int step) {
    var addresses = new long[32];
    Arrays.setAll(addresses, lane -> start + (long) lane * step);
    return addresses;
  }

  @Test
  void shiftedRequestsCostTheSame() {
    var latest = new LastRequestCache<String>();
    assertThat(latest.find(addresses(0, 4), -1)).isNull();
    latest.put(addresses(64, 4), -1, "four");
    assertThat(latest.find(addresses(64, 4), -1)).isEqualTo("four");
    assertThat(latest.find(addresses(64 + 1280, 4), -1)).isEqualTo("four");
    assertThat(latest.shift(addresses(64 + 1280, 4))).isEqualTo(1280);
    assertThat(latest.find(addresses(96, 4), -1)).as("other banks").isNull();
    assertThat(latest.find(addresses(64, 8), -1)).as("another stride").isNull();
    assertThat(latest.find(addresses(64, 4), 1)).as("other lanes").isNull();
    var last = addresses(64, 4);
    last[31] += 128;
    assertThat(latest.find(last, -1)).isNull();
  }

  @Test
  void comparesOnlyActiveLanes() {
    var latest = new LastRequestCache<String>();
    latest.put(addresses(0, 4), 0x8000_0010, "two");
    var other = new long[32];
    other[4] = 16 - 256;
    other[31] = 124 - 256;
    assertThat(latest.find(other, 0x8000_0010)).isEqualTo("two");
    other[31] += 4;
    assertThat(latest.find(other, 0x8000_0010)).isNull();
  }

  /** Requests that are reported as equal in cost are. */
  @Test
  void randomRequestsShiftedByAPeriodCostTheSame() {
    long seed = TestTier.seed();
    var random = new SplittableRandom(seed);
    var banks = new Banks();
    var sectors = new Sectors();
    for (int round = 0; round < 2000; round++) {
      int mask = random.nextInt();
      long further = 128L * random.nextInt(1000);
      var now = new long[32];
      Arrays.setAll(now, _ -> 4L * random.nextInt(2000));
      var then = Arrays.stream(now).map(address -> address + further).toArray();
      assertThat(banks.of(then, 4, mask, false))
          .as("seed %d", seed)
          .isEqualTo(banks.of(now, 4, mask, false));
      assertThat(sectors.of(then, 4, mask)).as("seed %d", seed).isEqualTo(sectors.of(now, 4, mask));
    }
  }
}
