package dev.athanor.engine.emulator.step;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Report;
import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.device.Report.Place;
import dev.athanor.engine.emulator.memory.Fault;
import dev.athanor.engine.emulator.memory.GlobalMemory;
import dev.athanor.engine.emulator.memory.Memory;
import dev.athanor.engine.emulator.memory.Registers;
import dev.athanor.engine.emulator.watch.AsyncObserver;
import dev.athanor.engine.emulator.watch.LaunchGeometry;
import dev.athanor.engine.emulator.watch.MemoryRequest;
import dev.athanor.engine.emulator.watch.Observer;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Warps;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The state of a block that its steps access: registers, memories, and the active and live lanes.
 */
public final class Block {

  /** Clock ticks between two reads of a clock. */
  private static final int TICK = 32;

  public final Registers registers;

  /** Masks of the lanes of each warp that execute the current step. */
  public final int[] active;

  /** Masks of the lanes of each warp that have not exited. */
  public final int[] live;

  /** An element for each lane, for use within one step. */
  public final long[] scratch;

  /** Shared memory as 32-bit words, rounded up. */
  public final int[] words;

  public final MemorySegment shared;
  public final Memory sharedMemory;
  public final Memory constants;
  public final Memory localMemory;

  /** Local memory of a thread, in bytes. */
  public final int localBytes;

  /** The cluster of this block. */
  public final Cluster cluster;

  /** The rank of this block in its cluster. */
  public final int rank;

  /** Observes the block; null = none. */
  final @Nullable Observer observer;

  /** Observes asynchronous operations; null = none. */
  public final @Nullable AsyncObserver asyncObserver;

  public final Target target;

  /** The parameters of the current launch. */
  public Memory parameterMemory;

  public GlobalMemory.Snapshot memory;

  private PrintBuffer printed;
  private final LaunchGeometry places;
  private final Dim3 grid;
  private final Dim3 shape;
  private final Dim3 clusterShape;
  private long number;
  private long progress;
  private boolean hasStored;
  private long ticks;

  /**
   * @param observer observes the block; null = none
   * @param rank the rank of the block in its cluster
   */
  public Block(
      LaunchContext launch,
      Registers registers,
      @Nullable Observer observer,
      Cluster cluster,
      int rank) {
    this.observer = observer;
    this.cluster = cluster;
    this.rank = rank;
    this.clusterShape = launch.cluster();
    this.registers = registers;
    int warps = registers.warps();
    this.active = new int[warps];
    this.live = new int[warps];
    this.scratch = new long[Warps.SIZE * warps];
    this.words = new int[Math.ceilDiv(launch.sharedBytes(), Integer.BYTES)];
    this.shared = MemorySegment.ofArray(words).asSlice(0, launch.sharedBytes());
    this.sharedMemory = new Memory.Small(Space.SHARED, shared);
    var clusterObserver = cluster.observer();
    if (clusterObserver != null) {
      clusterObserver.ownsShared(rank, sharedMemory);
    }
    this.asyncObserver = clusterObserver == null ? null : clusterObserver.asyncObserver(rank);
    this.parameterMemory = launch.parameters();
    this.constants = launch.constants();
    this.localBytes = localBytes(launch.kernel());
    long locals = 32L * warps * localBytes;
    this.localMemory =
        new Memory.Small(
            Space.LOCAL, Arena.ofAuto().allocate(Math.max(1, locals), 16).asSlice(0, locals));
    this.memory = launch.memory();
    this.printed = launch.printed();
    this.target = launch.options().target();
    this.grid = launch.grid();
    this.shape = launch.block();
    this.places = new LaunchGeometry(launch.kernel().name(), grid, shape, clusterShape);
    SpecialRegisters.launch(registers, launch, rank);
    cluster.add(this);
  }

  /** Reuses the block for another launch of the same shape. */
  public void launch(LaunchContext launch) {
    parameterMemory = launch.parameters();
    memory = launch.memory();
    printed = launch.printed();
  }

  /** Returns the bytes of local memory that each thread of a kernel has. */
  public static int localBytes(Kernel kernel) {
    return Math.ceilDiv(kernel.localBytes(), 16) * 16;
  }

  /**
   * Starts a block of the grid.
   *
   * @param block the number of the block, x running fastest
   */
  public void begin(long block) {
    number = block;
    registers.poison();
    GlobalMemory.poison(shared);
    GlobalMemory.poison(localMemory.segment());
    ticks = 0;
    hasStored = false;
    if (observer != null) {
      observer.begin(block);
    }
    int threads = (int) shape.count();
    for (int warp = 0; warp < live.length; warp++) {
      int lanes = Math.min(Warps.SIZE, threads - Warps.SIZE * warp);
      live[warp] = lanes == 32 ? -1 : (1 << lanes) - 1;
    }
    SpecialRegisters.begin(registers, grid, clusterShape, block);
  }

  /** Returns how many threads of the block have exited. */
  public int exited() {
    int exited = (int) shape.count();
    for (int lanes : live) {
      exited -= Integer.bitCount(lanes);
    }
    return exited;
  }

  /** Records a change of memory that outlives the block. */
  public void stored() {
    hasStored = true;
    progress();
  }

  /** Prints formatted text. */
  void print(byte[] text) {
    printed.add(number, text);
    hasStored = true;
  }

  /** Returns whether the block has had effects that outlive it. */
  public boolean hasStored() {
    return hasStored;
  }

  /** Records a change for which other threads may be waiting. */
  public void progress() {
    progress++;
  }

  /** Returns a counter of changes for which threads may be waiting. */
  public long progressed() {
    return progress;
  }

  /** Announces an access to the observer. */
  public void observe(MemoryRequest touch) {
    if (observer != null) {
      observer.touch(touch);
    }
  }

  /** Notifies the observer that lanes of a warp synchronize. */
  public void observeSynchronization(int warp, int lanes) {
    if (observer != null) {
      observer.synchronize(warp, lanes);
    }
  }

  /** Notifies the observer of a completed access. */
  void observed(MemoryRequest touch) {
    if (observer != null) {
      observer.touched(touch);
    }
  }

  /** Reports a violated rule that does not stop the block. */
  public void reportViolation(
      Kind kind, int lane, Instruction instruction, String what, String remedy) {
    if (observer != null) {
      observer.reportViolation(kind, lane, instruction, what, remedy);
    }
  }

  /** Returns the time, which advances with each read, so that runs are reproducible. */
  long tick() {
    ticks += TICK;
    return ticks;
  }

  public boolean isActive(int lane) {
    return ((active[lane >> 5] >>> lane) & 1) != 0;
  }

  /** Returns the position of a thread at an instruction. */
  Place place(int lane, Instruction instruction) {
    return places.of(number, lane, instruction);
  }

  /** Returns a report on a thread. */
  public Report report(Kind kind, int lane, Instruction instruction, String what) {
    return new Report(kind, places.of(number, lane, instruction), null, "", what, "", 1);
  }

  public Fault fault(Kind kind, int lane, Instruction instruction, String what) {
    return new Fault(List.of(report(kind, lane, instruction, what)));
  }

  /** Returns a fault against a rule without a kind of its own. */
  public Fault fault(int lane, Instruction instruction, String what) {
    return fault(Kind.RULE, lane, instruction, what);
  }
}
