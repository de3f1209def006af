package dev.athanor.engine.analysis;

import dev.athanor.engine.ptx.Target;

/**
 * What a GPU holds in each multiprocessor. Source: the table of technical specifications by compute
 * capability in the CUDA programming guide.
 *
 * @param multiprocessors how many it has
 * @param warps the most warps that are resident in one
 * @param blocks the most blocks that are resident in one
 * @param registers 32-bit registers of one
 * @param sharedBytes shared memory of one
 */
public record Gpu(
    String name,
    Target target,
    int multiprocessors,
    int warps,
    int blocks,
    int registers,
    int sharedBytes) {

  public static final Gpu H200 =
      new Gpu("H200", new Target(90, true), 132, 64, 32, 65_536, 228 << 10);
  public static final Gpu H100 =
      new Gpu("H100", new Target(90, true), 132, 64, 32, 65_536, 228 << 10);
  public static final Gpu A100 = new Gpu("A100", Target.SM_80, 108, 64, 32, 65_536, 164 << 10);
  public static final Gpu RTX_4090 =
      new Gpu("RTX 4090", Target.SM_89, 128, 48, 24, 65_536, 100 << 10);
  public static final Gpu L4 = new Gpu("L4", Target.SM_89, 58, 48, 24, 65_536, 100 << 10);

  /** A warp's registers come in units of this many. */
  private static final int REGISTER_UNIT = 256;

  /** Warps come in units of this many, one for each scheduler. */
  private static final int WARP_UNIT = 4;

  private static final int SHARED_UNIT = 128;

  /** What the system keeps of shared memory for every block. */
  private static final int SHARED_RESERVED = 1024;

  /**
   * How many blocks of a kernel a multiprocessor holds.
   *
   * @param threads of a block
   * @param registersPerThread as the assembler says
   * @param shared bytes of a block, static and dynamic
   */
  public Occupancy occupancy(int threads, int registersPerThread, int shared) {
    int blockWarps = Math.ceilDiv(threads, 32);
    int warpRegisters =
        Math.ceilDiv(Math.max(registersPerThread, 1) * 32, REGISTER_UNIT) * REGISTER_UNIT;
    int byRegisters = registers / warpRegisters / WARP_UNIT * WARP_UNIT / blockWarps;
    int byShared =
        sharedBytes / (Math.ceilDiv(shared + SHARED_RESERVED, SHARED_UNIT) * SHARED_UNIT);
    int byWarps = warps / blockWarps;
    int resident = Math.min(Math.min(blocks, byWarps), Math.min(byRegisters, byShared));
    var limit =
        resident == byRegisters
            ? Occupancy.Limit.REGISTERS
            : resident == byShared
                ? Occupancy.Limit.SHARED_MEMORY
                : resident == byWarps ? Occupancy.Limit.WARPS : Occupancy.Limit.BLOCKS;
    return new Occupancy(
        resident, resident * blockWarps, (double) (resident * blockWarps) / warps, limit);
  }
}
