package dev.athanor.engine.analysis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.analysis.Occupancy.Limit;
import org.junit.jupiter.api.Test;

/** Compares with results computed by hand from the CUDA occupancy calculator. */
class OccupancyTest {

  @Test
  void smallKernelsFillAMultiprocessor() {
    assertThat(Gpu.A100.occupancy(256, 32, 0)).isEqualTo(new Occupancy(8, 64, 1, Limit.REGISTERS));
    assertThat(Gpu.A100.occupancy(256, 16, 0)).isEqualTo(new Occupancy(8, 64, 1, Limit.WARPS));
    assertThat(Gpu.L4.occupancy(256, 16, 0)).isEqualTo(new Occupancy(6, 48, 1, Limit.WARPS));
    assertThat(Gpu.H200.occupancy(32, 16, 0)).isEqualTo(new Occupancy(32, 32, 0.5, Limit.BLOCKS));
  }

  @Test
  void registersAreAllocatedInUnits() {
    // 157 registers count as 160: 12.8 warps fit, which is one block of 8 warps
    assertThat(Gpu.H100.occupancy(256, 157, 0))
        .isEqualTo(new Occupancy(1, 8, 0.125, Limit.REGISTERS));
    assertThat(Gpu.H100.occupancy(128, 157, 0))
        .isEqualTo(new Occupancy(3, 12, 0.1875, Limit.REGISTERS));
  }

  @Test
  void blocksReserveAKilobyteOfSharedMemory() {
    assertThat(Gpu.A100.occupancy(128, 32, 48 << 10))
        .isEqualTo(new Occupancy(3, 12, 0.1875, Limit.SHARED_MEMORY));
    assertThat(Gpu.H200.occupancy(128, 32, 227 << 10))
        .isEqualTo(new Occupancy(1, 4, 0.0625, Limit.SHARED_MEMORY));
    assertThat(Gpu.RTX_4090.occupancy(128, 32, 100 << 10).blocks()).isZero();
  }

  /** A block of 1024 threads uses all registers with 64 per thread and does not fit with more. */
  @Test
  void registersBeyond64LimitOccupancy() {
    assertThat(Gpu.H100.occupancy(1024, 64, 0))
        .isEqualTo(new Occupancy(1, 32, 0.5, Limit.REGISTERS));
    assertThat(Gpu.H100.occupancy(1024, 65, 0)).isEqualTo(new Occupancy(0, 0, 0, Limit.REGISTERS));
    assertThat(Gpu.H100.occupancy(256, 64, 0).blocks()).isEqualTo(4);
    assertThat(Gpu.H100.occupancy(256, 65, 0).blocks()).isEqualTo(3);
  }
}
