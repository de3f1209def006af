package dev.athanor.ops.attention;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.ops.DType;
import dev.athanor.ops.cost.BlockWork;
import dev.athanor.ops.cost.Machine;

/**
 * A cost model of the blocks of attention kernels.
 *
 * @param d columns of queries and keys in shared memory
 * @param dv columns of values
 * @param depth total depth of all products of a tile: {@code d + dv} for forward attention
 * @param sharedBytes of the block
 */
public record TileWork(
    Machine machine, Tile tile, DType dtype, int d, int dv, int depth, int sharedBytes) {

  /**
   * Instructions per score: scale, compare, exponentiate, sum and convert. Source of this and the
   * next constant: the ledger of first choices.
   */
  private static final double SCORE_INSTRUCTIONS = 8;

  /** Instructions per multiply-add of f32 without tensor cores, including operand loads. */
  private static final double FMA_INSTRUCTIONS = 1.25;

  /** The same for 16-bit elements, which are converted. Source: the machine code for a V100. */
  private static final double WIDENED_FMA_INSTRUCTIONS = 1.6;

  /** Multiply-adds of an {@code mma}. */
  private static final double MMA = 16 * 8 * 16;

  /** Registers per thread for addresses, limits and the softmax. */
  private static final int OTHER_REGISTERS = 80;

  /** The columns of queries kept in registers. */
  private static final int KEPT = 128;

  /**
   * Returns the work of a block.
   *
   * @param tiles number of tiles that the block processes
   * @param ownBytes bytes that the block reads and writes once
   */
  public BlockWork over(double tiles, double ownBytes) {
    int bytes = dtype.bytes();
    double scores = (double) tile.rows() * tile.columns();
    double multiplyAdds = scores * depth;
    var type = FlashVariant.type(dtype);
    boolean tensor = tile.unit() == Tile.Unit.TENSOR;
    double multiplying =
        tensor ? machine.tensorCycles(multiplyAdds, type) : machine.laneCycles(multiplyAdds, type);
    double instructions =
        (tensor
                ? Machine.MMA_INSTRUCTIONS * multiplyAdds / MMA
                : (bytes < Float.BYTES ? WIDENED_FMA_INSTRUCTIONS : FMA_INSTRUCTIONS)
                    * multiplyAdds
                    / KernelBuilder.WARP)
            + SCORE_INSTRUCTIONS * scores / KernelBuilder.WARP;
    // the warps of each row read the whole tile
    double read = (double) tile.rows() / tile.warpRows() * tile.columns() * depth * bytes;
    double busy =
        Math.max(
            Math.max(multiplying, machine.issueCycles(instructions)),
            Math.max(machine.sharedCycles(read), machine.specialCycles(scores)));
    double tileBytes = (double) tile.columns() * (d + dv) * bytes;
    return new BlockWork(
        tile.threads(),
        registers(tensor),
        sharedBytes,
        tiles * busy,
        tiles * Machine.BARRIER_CYCLES,
        tiles * tileBytes + ownBytes,
        // copies of values overlap with products of keys and vice versa
        tileBytes / 2);
  }

  private int registers(boolean tensor) {
    int ofLane = tile.warpRows() * (dv / tile.across() + tile.columns()) / KernelBuilder.WARP;
    int kept = tensor ? tile.warpRows() * Math.min(d, KEPT) / KernelBuilder.WARP / 2 : 0;
    return Math.min(Machine.MOST_REGISTERS, ofLane + kept + OTHER_REGISTERS);
  }
}
