package dev.athanor.engine.debug;

import dev.athanor.engine.debug.expression.Scope;
import dev.athanor.engine.device.Report.Index;
import dev.athanor.engine.emulator.memory.Registers;
import dev.athanor.engine.emulator.watch.BlockState.Position;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.RegisterClass;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.Warps;
import dev.athanor.engine.ptx.symbol.SourceFrame;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.LongFunction;
import java.util.stream.IntStream;

/** The registers and memories of stopped launches. */
public final class StoppedState {

  /**
   * Lanes of a warp at an instruction.
   *
   * @param number of the instruction in the kernel
   * @param lanes lane 0 in the lowest bit
   * @param waits whether they wait for other threads or for an event
   * @param frame the source-level frame of the instruction
   */
  public record Fragment(
      int number, Instruction instruction, int lanes, boolean waits, Optional<SourceFrame> frame) {}

  /**
   * The values of a register in the lanes of a warp.
   *
   * @param lanes those that have not exited
   * @param bits zero-extended, an element for each lane
   */
  public record LaneValues(String name, RegisterClass type, int lanes, List<Long> bits) {

    /** Returns the text of a lane's value. */
    public String text(int lane) {
      return text(lane, value -> Elements.text(type, value));
    }

    /** Returns the text of a lane's value; of its bits, if it has a value. */
    public String text(int lane, LongFunction<String> format) {
      return ((lanes >>> lane) & 1) == 0
          ? "exited"
          : Elements.isUnwritten(type, bits.get(lane))
              ? "not written"
              : format.apply(bits.get(lane));
    }
  }

  private final Run run;
  private final Stop stop;

  StoppedState(Run run, Stop stop) {
    this.run = run;
    this.stop = stop;
  }

  public Stop stop() {
    return stop;
  }

  /** Returns the live warps of all blocks that have begun. */
  public List<WarpId> warps() {
    var all = new ArrayList<WarpId>();
    for (var block : run.blocks()) {
      for (int warp = 0; warp < block.state().warps(); warp++) {
        if (!block.state().positions(warp).isEmpty()) {
          all.add(new WarpId(block.observed().number(), block.block(), warp));
        }
      }
    }
    return all;
  }

  /** Returns the lanes of a warp, those that execute an instruction together in one fragment. */
  public List<Fragment> fragments(WarpId warp) {
    var block = block(warp);
    return block.state().positions(warp.warp()).stream()
        .map(each ->
            new Fragment(
                each.number(),
                block.observed().instructions().get(each.number()),
                each.lanes(),
                each.waits(),
                block.frame(each.number())))
        .toList();
  }

  public Kernel kernel(WarpId warp) {
    return block(warp).observed().kernel();
  }

  /** Returns the instructions of the kernel. */
  public List<Instruction> instructions(WarpId warp) {
    return block(warp).observed().instructions();
  }

  /** Returns the index of a warp's block in its grid. */
  public Index blockIndex(WarpId warp) {
    var grid = block(warp).observed().grid();
    return FrameScope.index(warp.block(), grid.x(), grid.y());
  }

  /** Returns the index of a lane's thread in its block. */
  public Index threadIndex(WarpId warp, int lane) {
    var shape = block(warp).observed().block();
    return FrameScope.index(Warps.thread(warp.warp(), lane), shape.x(), shape.y());
  }

  /** Returns the registers of a warp, in the order in which the kernel names them. */
  public List<LaneValues> registers(WarpId warp) {
    var block = block(warp);
    return block.observed().kernel().registers().stream()
        .map(register -> values(warp, register))
        .toList();
  }

  /** Returns the special registers of a warp that the kernel reads. */
  public List<LaneValues> specialRegisters(WarpId warp) {
    var special = block(warp).state().registers().special();
    return special.keySet().stream()
        .sorted()
        .map(register ->
            values(
                warp,
                register.toString(),
                register.type().registerClass(),
                Objects.requireNonNull(special.get(register))))
        .toList();
  }

  /** Returns the register of a name. */
  public Optional<LaneValues> register(WarpId warp, String name) {
    var register = block(warp).registers().get(name);
    return register == null
        ? specialRegisters(warp).stream().filter(each -> each.name().equals(name)).findFirst()
        : Optional.of(values(warp, register));
  }

  /** Returns the values of a register of the kernel. */
  public LaneValues values(WarpId warp, Register register) {
    return values(
        warp,
        register.name(),
        register.registerClass(),
        block(warp).state().registers().of(register));
  }

  private LaneValues values(WarpId warp, String name, RegisterClass type, Registers.Lanes lanes) {
    int live =
        block(warp).state().positions(warp.warp()).stream()
            .mapToInt(Position::lanes)
            .reduce(0, (a, b) -> a | b);
    var bits =
        IntStream.range(0, Warps.SIZE)
            .mapToObj(lane -> lanes.bits(Warps.thread(warp.warp(), lane)))
            .toList();
    return new LaneValues(name, type, live, bits);
  }

  /** Returns the parameters of the kernel, each an array of one or more elements. */
  public List<MemoryArray> parameters(WarpId warp) {
    return block(warp).memory().parameters();
  }

  /** Returns the buffers that the debuggee has named or that parameters point into. */
  public List<MemoryArray> buffers(WarpId warp) {
    return block(warp).memory().buffers();
  }

  /**
   * Returns the memory of an array.
   *
   * @param address of the first element; an offset outside of global memory
   * @return empty if it is not within one buffer or shared memory
   */
  public Optional<MemoryArray> array(
      WarpId warp, String name, Space space, Type element, long address, long length) {
    return space == Space.LOCAL
        ? Optional.empty() // each thread has its own
        : block(warp).memory().array(name, space, element, address, length, 0);
  }

  /** Returns the shared arrays of a warp's block, dynamic ones up to the end of shared memory. */
  public List<MemoryArray> shared(WarpId warp) {
    return block(warp).memory().shared();
  }

  /** Returns the named buffer that contains an address, and the offset there, as in {@code x+4}. */
  public Optional<String> describe(WarpId warp, long address) {
    return block(warp).memory().describe(address);
  }

  /**
   * Reads memory of global or shared space, as far as there is any.
   *
   * @param warp of the block whose shared memory is read
   * @param address in global memory, or the offset in shared memory
   */
  public byte[] read(WarpId warp, Space space, long address, int count) {
    return block(warp).memory().read(space, address, count);
  }

  /** Returns the names that expressions can use in a frame of a warp. */
  public Scope scope(WarpId warp, Optional<SourceFrame> frame) {
    return block(warp).scope(frame);
  }

  private Probe block(WarpId warp) {
    var block = run.block(warp);
    if (block == null) {
      throw new IllegalArgumentException("block %d is not running".formatted(warp.block()));
    }
    return block;
  }
}
