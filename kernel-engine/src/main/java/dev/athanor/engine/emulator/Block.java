package dev.athanor.engine.emulator;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Target;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;

/** What the steps of a worker see of the block that they execute. */
final class Block {

  final Registers registers;

  /** The lanes of each warp that execute the current step. */
  final int[] active;

  /** The lanes of each warp that have not exited. */
  final int[] live;

  /** A place for each lane, for the use of one step. */
  final long[] scratch;

  /** Shared memory by words; the last may be more than there is. */
  final int[] words;

  final MemorySegment shared;
  final MemorySegment parameters;
  final GlobalMemory.Snapshot memory;
  final Target target;
  final AsyncCopies copies;

  private final String kernel;
  private final Dim3 grid;
  private final Dim3 shape;
  private long number;

  Block(LaunchedKernel launch, Registers registers) {
    this.registers = registers;
    int warps = registers.warps();
    this.active = new int[warps];
    this.live = new int[warps];
    this.scratch = new long[32 * warps];
    this.words = new int[Math.ceilDiv(launch.sharedBytes(), Integer.BYTES)];
    this.shared = MemorySegment.ofArray(words).asSlice(0, launch.sharedBytes());
    this.parameters = launch.parameters();
    this.memory = launch.memory();
    this.target = launch.options().target();
    this.copies = new AsyncCopies(this, launch.options().asyncTiming());
    this.kernel = launch.program().kernel().name();
    this.grid = launch.grid();
    this.shape = launch.block();
    registers
        .special()
        .forEach((register, kept) -> {
          int[] lanes = kept.ints();
          switch (register) {
            case TID_X, TID_Y, TID_Z, LANEID, WARPID ->
                Arrays.setAll(
                    lanes,
                    lane ->
                        switch (register) {
                          case TID_X -> lane % shape.x();
                          case TID_Y -> lane / shape.x() % shape.y();
                          case TID_Z -> lane / shape.x() / shape.y();
                          case LANEID -> lane % 32;
                          default -> lane / 32;
                        });
            case NTID_X -> Arrays.fill(lanes, shape.x());
            case NTID_Y -> Arrays.fill(lanes, shape.y());
            case NTID_Z -> Arrays.fill(lanes, shape.z());
            case NCTAID_X -> Arrays.fill(lanes, grid.x());
            case NCTAID_Y -> Arrays.fill(lanes, grid.y());
            case NCTAID_Z -> Arrays.fill(lanes, grid.z());
            case CTAID_X, CTAID_Y, CTAID_Z -> {} // begin fills them
            case NWARPID -> Arrays.fill(lanes, warps);
            case SMID -> {} // the one multiprocessor that there seems to be
            case NSMID -> Arrays.fill(lanes, 1);
            case LANEMASK_EQ -> Arrays.setAll(lanes, lane -> 1 << lane);
            case LANEMASK_LT -> Arrays.setAll(lanes, lane -> (1 << lane) - 1);
            case LANEMASK_LE -> Arrays.setAll(lanes, lane -> (2 << lane) - 1);
            case LANEMASK_GT -> Arrays.setAll(lanes, lane -> -(2 << lane));
            case LANEMASK_GE -> Arrays.setAll(lanes, lane -> -(1 << lane));
            case TOTAL_SMEM_SIZE -> Arrays.fill(lanes, launch.sharedBytes());
            case DYNAMIC_SMEM_SIZE ->
                Arrays.fill(
                    lanes, launch.sharedBytes() - launch.program().kernel().staticSharedBytes());
            default ->
                throw new IllegalArgumentException("the emulator has no register " + register);
          }
        });
  }

  /** Starts a block of the grid, by its number with x running fastest. */
  void begin(long block) {
    number = block;
    registers.poison();
    GlobalMemory.poison(shared);
    copies.clear();
    int threads = (int) shape.count();
    for (int warp = 0; warp < live.length; warp++) {
      int lanes = Math.min(32, threads - 32 * warp);
      live[warp] = lanes == 32 ? -1 : (1 << lanes) - 1;
    }
    registers
        .special()
        .forEach((register, kept) -> {
          int[] lanes = kept.ints();
          switch (register) {
            case CTAID_X -> Arrays.fill(lanes, blockX());
            case CTAID_Y -> Arrays.fill(lanes, blockY());
            case CTAID_Z -> Arrays.fill(lanes, blockZ());
            default -> {} // the same for all blocks
          }
        });
  }

  private int blockX() {
    return (int) (number % grid.x());
  }

  private int blockY() {
    return (int) (number / grid.x() % grid.y());
  }

  private int blockZ() {
    return (int) (number / grid.x() / grid.y());
  }

  boolean isActive(int lane) {
    return ((active[lane >> 5] >>> lane) & 1) != 0;
  }

  /** One sentence about a thread that did something wrong. */
  String report(int lane, Instruction instruction, String what) {
    var text = instruction.toString();
    return "%s of block (%d,%d,%d) of kernel %s, \"%s\" at %s: %s"
        .formatted(
            thread(lane),
            blockX(),
            blockY(),
            blockZ(),
            kernel,
            text.substring(0, text.length() - 1),
            instruction.source(),
            what);
  }

  /** The name of a thread by its number in the block. */
  String thread(int lane) {
    return "thread (%d,%d,%d)"
        .formatted(lane % shape.x(), lane / shape.x() % shape.y(), lane / shape.x() / shape.y());
  }

  Fault fault(int lane, Instruction instruction, String what) {
    return new Fault(List.of(report(lane, instruction, what)));
  }
}
