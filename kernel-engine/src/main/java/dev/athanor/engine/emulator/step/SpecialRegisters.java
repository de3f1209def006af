package dev.athanor.engine.emulator.step;

import static dev.athanor.engine.ptx.SpecialRegister.IS_EXPLICIT_CLUSTER;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.memory.RegisterStorage;
import dev.athanor.engine.emulator.memory.Registers;
import dev.athanor.engine.ptx.SpecialRegister;
import dev.athanor.engine.ptx.Warps;
import java.util.Arrays;

/** The values of the special registers of a block (PTX ISA 10). */
final class SpecialRegisters {

  private SpecialRegisters() {}

  /** Sets the registers that are the same for all blocks of one rank of a launch. */
  static void launch(Registers registers, LaunchContext launch, int rank) {
    registers
        .special()
        .forEach((register, lanes) -> {
          if (register == IS_EXPLICIT_CLUSTER) {
            Arrays.fill(lanes.ints(), launch.cluster().count() > 1 ? -1 : 0);
          } else if (lanes.storage() == RegisterStorage.INT) { // wider ones are set when read
            launch(register, lanes.ints(), launch, rank);
          }
        });
  }

  private static void launch(
      SpecialRegister register, int[] lanes, LaunchContext launch, int rank) {
    var grid = launch.grid();
    var block = launch.block();
    var cluster = launch.cluster();
    int staticBytes = launch.kernel().staticSharedBytes();
    switch (register) {
      case TID_X -> Arrays.setAll(lanes, lane -> lane % block.x());
      case TID_Y -> Arrays.setAll(lanes, lane -> lane / block.x() % block.y());
      case TID_Z -> Arrays.setAll(lanes, lane -> lane / block.x() / block.y());
      case LANEID -> Arrays.setAll(lanes, Warps::laneOf);
      case WARPID -> Arrays.setAll(lanes, Warps::warpOf);
      case NTID_X -> Arrays.fill(lanes, block.x());
      case NTID_Y -> Arrays.fill(lanes, block.y());
      case NTID_Z -> Arrays.fill(lanes, block.z());
      case NCTAID_X -> Arrays.fill(lanes, grid.x());
      case NCTAID_Y -> Arrays.fill(lanes, grid.y());
      case NCTAID_Z -> Arrays.fill(lanes, grid.z());
      case NWARPID -> Arrays.fill(lanes, lanes.length / Warps.SIZE);
      case NSMID -> Arrays.fill(lanes, 1); // one multiprocessor, whose %smid is 0
      case LANEMASK_EQ -> Arrays.setAll(lanes, lane -> 1 << lane);
      case LANEMASK_LT -> Arrays.setAll(lanes, lane -> (1 << lane) - 1);
      case LANEMASK_LE -> Arrays.setAll(lanes, lane -> (2 << lane) - 1);
      case LANEMASK_GT -> Arrays.setAll(lanes, lane -> -(2 << lane));
      case LANEMASK_GE -> Arrays.setAll(lanes, lane -> -(1 << lane));
      case TOTAL_SMEM_SIZE, AGGR_SMEM_SIZE -> Arrays.fill(lanes, launch.sharedBytes());
      case DYNAMIC_SMEM_SIZE -> Arrays.fill(lanes, launch.sharedBytes() - staticBytes);
      // The driver sets these for cooperative groups, as the PTX of nvcc shows.
      case ENVREG1 -> Arrays.fill(lanes, (int) (launch.workspace() >>> 32));
      case ENVREG2 -> Arrays.fill(lanes, (int) launch.workspace());
      case NCLUSTERID_X -> Arrays.fill(lanes, grid.x() / cluster.x());
      case NCLUSTERID_Y -> Arrays.fill(lanes, grid.y() / cluster.y());
      case NCLUSTERID_Z -> Arrays.fill(lanes, grid.z() / cluster.z());
      case CLUSTER_NCTAID_X -> Arrays.fill(lanes, cluster.x());
      case CLUSTER_NCTAID_Y -> Arrays.fill(lanes, cluster.y());
      case CLUSTER_NCTAID_Z -> Arrays.fill(lanes, cluster.z());
      case CLUSTER_NCTARANK -> Arrays.fill(lanes, (int) cluster.count());
      case CLUSTER_CTARANK -> Arrays.fill(lanes, rank);
      default -> {} // depends on the block, is set when read (clocks), or is zero
    }
  }

  /**
   * Sets the registers that depend on the block.
   *
   * @param number of the block in the grid, x running fastest
   */
  static void begin(Registers registers, Dim3 grid, Dim3 cluster, long number) {
    int x = (int) (number % grid.x());
    int y = (int) (number / grid.x() % grid.y());
    int z = (int) (number / grid.x() / grid.y());
    registers
        .special()
        .forEach((register, lanes) -> {
          if (lanes.storage() != RegisterStorage.INT) {
            return;
          }
          switch (register) {
            case CTAID_X -> Arrays.fill(lanes.ints(), x);
            case CTAID_Y -> Arrays.fill(lanes.ints(), y);
            case CTAID_Z -> Arrays.fill(lanes.ints(), z);
            case CLUSTERID_X -> Arrays.fill(lanes.ints(), x / cluster.x());
            case CLUSTERID_Y -> Arrays.fill(lanes.ints(), y / cluster.y());
            case CLUSTERID_Z -> Arrays.fill(lanes.ints(), z / cluster.z());
            case CLUSTER_CTAID_X -> Arrays.fill(lanes.ints(), x % cluster.x());
            case CLUSTER_CTAID_Y -> Arrays.fill(lanes.ints(), y % cluster.y());
            case CLUSTER_CTAID_Z -> Arrays.fill(lanes.ints(), z % cluster.z());
            default -> {} // the same for all blocks
          }
        });
  }
}
