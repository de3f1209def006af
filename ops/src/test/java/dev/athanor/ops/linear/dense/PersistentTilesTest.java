package dev.athanor.ops.linear.dense;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.profile.OpProfile;
import dev.athanor.ops.tile.persistent.PersistentTile;
import org.junit.jupiter.api.Test;

/** Checks the balance of the tiles of persistent products. */
class PersistentTilesTest {

  /** Elements of 16 bits along K of a stage. */
  private static final int DEPTH = 64;

  /**
   * Records the cycles of tensor cores per stage, and the bytes per cycle that they demand from L2
   * and of shared memory. Shared memory moves 128; L2 sends 34 to 47 to each of 132
   * multiprocessors.
   */
  @Test
  void tilesDemandBytesPerCycle() {
    assertThat(PersistentPlanner.TILES.stream().map(PersistentTilesTest::demand))
        .containsExactly(
            "256x192x3_cluster2 1536 29 123",
            "128x256x4_cluster2 1024 32 128",
            "128x256x4 1024 48 128",
            "128x192x4_cluster2 768 37 139",
            "128x192x4 768 53 139",
            "128x128x6_cluster2 512 48 160",
            "128x128x6 512 64 160",
            "128x64x8 256 96 224",
            "64x256x5 512 80 160",
            "64x128x8 256 96 192");
  }

  private static String demand(PersistentTile tile) {
    double cycles =
        Machine.of(OpProfile.capability(Gpu.H200))
            .peakTensorCycles((double) tile.m() * tile.n() * DEPTH, Type.BF16);
    return "%s %.0f %.0f %.0f"
        .formatted(tile, cycles, tile.copiedBytes() / cycles, tile.movedBytes() / cycles);
  }
}
