package dev.athanor.ops.attention;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.ops.DType;
import dev.athanor.ops.cost.BlockWork;
import dev.athanor.ops.cost.Machine;

/**
 * The work of a block of attention, which goes over the columns tile by tile.
 *
 * @param d columns of queries and keys, as in shared memory
 * @param dv columns of values
 * @param depth summed columns of all products of a tile: {@code d + dv} of forward attention
 * @param sharedBytes of the block
 */
public record TileWork(
    Machine machine, Tile tile, DType dtype, int d, int dv, int depth, int sharedBytes) {

  /**
   * Instructions of a score: it is scaled, compared, exponentiated, summed and converted. Source:
   * the ledger of first choices, as the next constant.
   */
  private static final double SCORE_INSTRUCTIONS = 8;

  /** Instructions for each multiply-add without tensor cores: itself, and reads of factors. */
  private static final double FMA_INSTRUCTIONS = 1.25;

  /** Multiply-adds of an {@code mma}. */
  private static final double MMA = 16 * 8 * 16;

  /** Registers of a thread for addresses, limits and the softmax. */
  private static final int OTHER_REGISTERS = 80;

  /** Columns of queries that stay in registers. */
  private static final int KEPT = 128;

  /**
   * The work.
   *
   * @param tiles that the block goes over
   * @param ownBytes that the block reads and writes once
   */
  public BlockWork over(double tiles, double ownBytes) {
    int warps = tile.threads() / KernelBuilder.WARP;
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
                : FMA_INSTRUCTIONS * multiplyAdds / KernelBuilder.WARP)
            + SCORE_INSTRUCTIONS * scores / KernelBuilder.WARP;
    // each warp reads the whole tile
    double read = (double) warps * tile.columns() * depth * bytes;
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
        // while keys are multiplied values are copied, and the other way round
        tileBytes / 2);
  }

  private int registers(boolean tensor) {
    int ofLane = tile.warpRows() * (dv + tile.columns()) / KernelBuilder.WARP;
    int kept = tensor ? tile.warpRows() * Math.min(d, KEPT) / KernelBuilder.WARP / 2 : 0;
    return Math.min(Machine.MOST_REGISTERS, ofLane + kept + OTHER_REGISTERS);
  }
}
