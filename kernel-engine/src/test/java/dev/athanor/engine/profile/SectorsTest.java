package dev.athanor.engine.profile;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.profile.Sectors.RequestSectors;
import dev.athanor.testing.TestTier;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.function.IntToLongFunction;
import org.junit.jupiter.api.Test;

class SectorsTest {

  private final Sectors sectors = new Sectors();

  private RequestSectors load(int bytes, int mask, IntToLongFunction address) {
    var addresses = new long[32];
    Arrays.setAll(addresses, address);
    return sectors.of(addresses, bytes, mask);
  }

  @Test
  void adjacentLanesShareSectors() {
    assertThat(load(4, -1, lane -> 4L * lane)).isEqualTo(new RequestSectors(4, 1, 4, 128));
    assertThat(load(16, -1, lane -> 16L * lane)).isEqualTo(new RequestSectors(16, 4, 16, 512));
    assertThat(load(2, -1, lane -> 2L * (31 - lane))).isEqualTo(new RequestSectors(2, 1, 2, 64));
  }

  @Test
  void misalignedRequestsTakeOneMoreSector() {
    var request = load(4, -1, lane -> 4 + 4L * lane);
    assertThat(request).isEqualTo(new RequestSectors(5, 2, 4, 128));
    assertThat(request.wastedBytes()).isEqualTo(32);
  }

  @Test
  void stridesTakeASectorPerLane() {
    for (int stride = 1; stride <= 64; stride++) {
      int step = 4 * stride;
      var request = load(4, -1, lane -> (long) lane * step);
      assertThat(request.sectors())
          .as("stride %d", stride)
          .isEqualTo(stride >= 8 ? 32 : Math.ceilDiv(31 * step + 4, 32));
      assertThat(request.wastedBytes()).isEqualTo(32 * request.sectors() - 128);
    }
  }

  @Test
  void broadcastsTakeOneSector() {
    assertThat(load(4, -1, _ -> 1000 * 4)).isEqualTo(new RequestSectors(1, 1, 1, 4));
  }

  @Test
  void countsOnlyActiveLanes() {
    assertThat(load(4, 0x8000_0001, lane -> 4L * lane)).isEqualTo(new RequestSectors(2, 1, 1, 8));
    assertThat(load(4, 0, lane -> 4L * lane)).isEqualTo(new RequestSectors(0, 0, 0, 0));
  }

  @Test
  void randomRequestsMatchTheirBytes() {
    long seed = TestTier.seed();
    var random = new SplittableRandom(seed);
    for (int round = 0; round < TestTier.choose(2_000, 20_000, 20_000); round++) {
      long base = random.nextLong(1L << 48);
      int range = 1 << random.nextInt(2, 14);
      var addresses = new long[32];
      int size = random.nextInt(1, 129);
      for (int lane = 0; lane < 32; lane++) {
        addresses[lane] = base + random.nextInt(range);
      }
      int mask = random.nextInt();
      var bytes = new TreeSet<Long>();
      for (int lane = 0; lane < 32; lane++) {
        for (int i = 0; i < size && (mask >>> lane & 1) != 0; i++) {
          bytes.add(addresses[lane] + i);
        }
      }
      assertThat(sectors.of(addresses, size, mask))
          .as("seed %d, round %d", seed, round)
          .isEqualTo(
              new RequestSectors(
                  (int) bytes.stream().mapToLong(b -> b / 32).distinct().count(),
                  (int) bytes.stream().mapToLong(b -> b / 128).distinct().count(),
                  Math.ceilDiv(bytes.size(), 32),
                  bytes.size()));
    }
  }
}
