package dev.athanor.engine.emulator.step;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Report;
import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.device.Report.Place;
import dev.athanor.engine.emulator.memory.Fault;
import dev.athanor.engine.emulator.memory.GlobalMemory;
import dev.athanor.engine.emulator.memory.Memory;
import dev.athanor.engine.emulator.memory.RegisterStorage;
import dev.athanor.engine.emulator.memory.Registers;
import dev.athanor.engine.emulator.watch.AsyncObserver;
import dev.athanor.engine.emulator.watch.LaunchGeometry;
import dev.athanor.engine.emulator.watch.MemoryRequest;
import dev.athanor.engine.emulator.watch.Observer;
import dev.athanor.engine.ptx.Arithmetic;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.SpecialRegister;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Target;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What the steps of a worker see of the block that they execute. */
public final class Block {

  /** How far clocks go on from one look to the next. */
  private static final int TICK = 32;

  public final Registers registers;

  /** The lanes of each warp that execute the current step. */
  public final int[] active;

  /** The lanes of each warp that have not exited. */
  public final int[] live;

  /** A place for each lane, for the use of one step. */
  public final long[] scratch;

  /** Shared memory by words; the last may be more than there is. */
  public final int[] words;

  public final MemorySegment shared;
  public final Memory sharedMemory;
  public final Memory constants;
  public final Memory localMemory;

  /** The local memory of one thread. */
  public final int localBytes;

  /** The blocks that are resident together with this one. */
  public final Cluster cluster;

  /** Which of them this one is. */
  public final int rank;

  /** Who watches; null = nobody. */
  final @Nullable Observer observer;

  /** The observer of asynchronous operations; null = there is none. */
  public final @Nullable AsyncObserver asyncObserver;

  public final Target target;
  public final Arithmetic arithmetic;

  /** What the current launch has. */
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
   * @param observer who watches; null = nobody
   * @param rank in the cluster
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
    this.scratch = new long[32 * warps];
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
    this.arithmetic = launch.options().arithmetic();
    this.grid = launch.grid();
    this.shape = launch.block();
    this.places = new LaunchGeometry(launch.kernel().name(), grid, shape, clusterShape);
    SpecialRegisters.launch(registers, launch, rank);
    cluster.add(this);
  }

  /** Goes over to another launch of the same shape. */
  public void launch(LaunchContext launch) {
    parameterMemory = launch.parameters();
    memory = launch.memory();
    printed = launch.printed();
  }

  /** The bytes of local memory that each thread of a kernel has. */
  public static int localBytes(Kernel kernel) {
    return Math.ceilDiv(kernel.localBytes(), 16) * 16;
  }

  /** Starts a block of the grid, by its number with x running fastest. */
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
      int lanes = Math.min(32, threads - 32 * warp);
      live[warp] = lanes == 32 ? -1 : (1 << lanes) - 1;
    }
    SpecialRegisters.begin(registers, grid, clusterShape, block);
  }

  /** Takes note that memory has changed that is there when the block has ended. */
  public void stored() {
    hasStored = true;
    progress();
  }

  /** Prints what a thread has formatted, which is there when the block has ended. */
  void print(byte[] text) {
    printed.add(number, text);
    hasStored = true;
  }

  /** Whether memory has changed, since the block began, that is there when it has ended. */
  public boolean hasStored() {
    return hasStored;
  }

  /** Takes note that something has changed for which others may wait. */
  public void progress() {
    progress++;
  }

  /** Grows when something changes for which others may wait. */
  public long progressed() {
    return progress;
  }

  /** Lets who watches see what is about to be touched. */
  public void observe(MemoryRequest touch) {
    if (observer != null) {
      observer.touch(touch);
    }
  }

  /** Lets who watches see what was touched. */
  void observed(MemoryRequest touch) {
    if (observer != null) {
      observer.touched(touch);
    }
  }

  /** Lets who watches know of a broken rule that does not stop the block. */
  public void complain(Kind kind, int lane, Instruction instruction, String what, String remedy) {
    if (observer != null) {
      observer.complain(kind, lane, instruction, what, remedy);
    }
  }

  /** The time, which goes on with each look at it, so that runs are alike. */
  long tick() {
    ticks += TICK;
    return ticks;
  }

  public boolean isActive(int lane) {
    return ((active[lane >> 5] >>> lane) & 1) != 0;
  }

  /** A thread of the block at an instruction. */
  Place place(int lane, Instruction instruction) {
    return places.of(number, lane, instruction);
  }

  /** What is known of a thread that did something wrong. */
  public Report report(Kind kind, int lane, Instruction instruction, String what) {
    return new Report(kind, places.of(number, lane, instruction), null, "", what, "", 1);
  }

  public Fault fault(Kind kind, int lane, Instruction instruction, String what) {
    return new Fault(List.of(report(kind, lane, instruction, what)));
  }

  /** A fault against a rule that has no kind of its own. */
  public Fault fault(int lane, Instruction instruction, String what) {
    return fault(Kind.RULE, lane, instruction, what);
  }
}
