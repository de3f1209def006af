package dev.athanor.engine.debug;

import dev.athanor.engine.device.Report.Index;
import dev.athanor.engine.emulator.memory.Allocation;
import dev.athanor.engine.emulator.memory.Registers;
import dev.athanor.engine.emulator.watch.BlockState.Position;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.RegisterClass;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.Warps;
import dev.athanor.engine.ptx.symbol.SourceFrame;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.LinkedHashMap;
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
          : isUnwritten(lane) ? "not written" : format.apply(bits.get(lane));
    }

    /** Returns whether the register still has the value with which a block begins. */
    private boolean isUnwritten(int lane) {
      return switch (type) {
        case PRED -> false;
        case B16, B32, F32 -> bits.get(lane).intValue() == Registers.POISON;
        case B64 -> bits.get(lane) == Registers.POISON * 0x1_0000_0001L;
        case F64 -> bits.get(lane) == Double.doubleToRawLongBits(Double.NaN);
      };
    }
  }

  /**
   * Bytes of memory as an array.
   *
   * @param address of the first element; an offset outside of global memory
   */
  public record MemoryArray(
      String name, Space space, long address, Type element, MemorySegment bytes) {

    /** Returns the number of whole elements. */
    public long count() {
      return bytes.byteSize() / element.bytes();
    }

    /** Returns the bits of an element, zero-extended. */
    public long bits(long index) {
      return Elements.bits(bytes, index * element.bytes(), element);
    }

    /** Returns the text of an element. */
    public String text(long index) {
      return Elements.text(element, bits(index));
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
    return Probe.index(warp.block(), grid.x(), grid.y());
  }

  /** Returns the index of a lane's thread in its block. */
  public Index threadIndex(WarpId warp, int lane) {
    var shape = block(warp).observed().block();
    return Probe.index(Warps.thread(warp.warp(), lane), shape.x(), shape.y());
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
    var kernel = kernel(warp);
    var memory = block(warp).state().parameters().segment();
    var offsets = kernel.parameterOffsets();
    return kernel.parameters().stream()
        .map(each -> {
          int offset = offsets.getOrDefault(each.name(), 0);
          return new MemoryArray(
              each.name(), Space.PARAM, offset, each.type(), memory.asSlice(offset, each.bytes()));
        })
        .toList();
  }

  /** Returns the buffers that the debuggee has named or that parameters point into. */
  public List<MemoryArray> buffers(WarpId warp) {
    var all = new LinkedHashMap<Long, MemoryArray>();
    var named = new LinkedHashMap<Long, Debuggee.NamedBuffer>();
    run.buffers().forEach(each -> named.put(each.buffer().address(), each));
    for (var parameter : parameters(warp)) {
      if (parameter.element().bytes() == Long.BYTES && parameter.count() == 1) {
        long pointer = Elements.bits(parameter.bytes(), 0, Type.U64);
        var buffer = block(warp).state().buffers().find(pointer, 1);
        if (buffer != null && !named.containsKey(buffer.address())) {
          all.put(buffer.address(), array(parameter.name(), buffer, Type.B32));
        }
      }
    }
    named.forEach((address, each) -> {
      var buffer = block(warp).state().buffers().find(address, 1);
      if (buffer != null) {
        all.put(address, array(each.name(), buffer, each.element()));
      }
    });
    return List.copyOf(all.values());
  }

  private static MemoryArray array(String name, Allocation buffer, Type element) {
    return new MemoryArray(name, Space.GLOBAL, buffer.address(), element, buffer.segment());
  }

  /**
   * Returns the memory of an array.
   *
   * @param address of the first element; an offset outside of global memory
   * @return empty if it is not within one buffer or shared memory
   */
  public Optional<MemoryArray> array(
      WarpId warp, String name, Space space, Type element, long address, long length) {
    var state = block(warp).state();
    MemorySegment memory;
    long offset = address;
    if (space == Space.SHARED) {
      memory = state.shared().segment();
    } else {
      var buffer = state.buffers().find(address, 1);
      if (buffer == null) {
        return Optional.empty();
      }
      memory = buffer.segment();
      offset -= buffer.address();
    }
    long bytes = length * element.bytes();
    return offset < 0 || bytes < 0 || offset + bytes > memory.byteSize()
        ? Optional.empty()
        : Optional.of(
            new MemoryArray(name, space, address, element, memory.asSlice(offset, bytes)));
  }

  /** Returns the shared arrays of a warp's block, dynamic ones up to the end of shared memory. */
  public List<MemoryArray> shared(WarpId warp) {
    var kernel = kernel(warp);
    var memory = block(warp).state().shared().segment();
    var element = sharedElement(kernel);
    var offsets = kernel.sharedOffsets();
    return kernel.shared().stream()
        .map(each -> {
          long offset = offsets.getOrDefault(each.name(), 0);
          long bytes = each.isDynamic() ? memory.byteSize() - offset : each.bytes();
          return new MemoryArray(
              each.name(), Space.SHARED, offset, element, memory.asSlice(offset, bytes));
        })
        .toList();
  }

  /** Returns the type of the first load from shared memory or store to it, else of a word. */
  private static Type sharedElement(Kernel kernel) {
    return kernel
        .instructions()
        .filter(each ->
            each.form().semantics() instanceof Semantics.Load
                || each.form().semantics() instanceof Semantics.Store)
        .filter(each -> each.opcode().contains(".shared"))
        .flatMap(each -> typeOf(each.opcode()).stream())
        .findFirst()
        .orElse(Type.B32);
  }

  private static Optional<Type> typeOf(String opcode) {
    var word = opcode.substring(opcode.lastIndexOf('.') + 1);
    for (var type : Type.values()) {
      if (type.word().equals(word) && type.bytes() > 0) {
        return Optional.of(type);
      }
    }
    return Optional.empty();
  }

  /** Returns the named buffer that contains an address, and the offset there, as in {@code x+4}. */
  public Optional<String> describe(WarpId warp, long address) {
    return buffers(warp).stream()
        .filter(
            each -> address >= each.address() && address < each.address() + each.bytes().byteSize())
        .map(each ->
            each.name() + (address == each.address() ? "" : "+" + (address - each.address())))
        .findFirst();
  }

  /**
   * Reads memory of global or shared space, as far as there is any.
   *
   * @param warp of the block whose shared memory is read
   * @param address in global memory, or the offset in shared memory
   */
  public byte[] read(WarpId warp, Space space, long address, int count) {
    var state = block(warp).state();
    MemorySegment memory;
    long offset;
    if (space == Space.SHARED) {
      memory = state.shared().segment();
      offset = address;
    } else {
      var buffer = state.buffers().find(address, 1);
      if (buffer == null) {
        return new byte[0];
      }
      memory = buffer.segment();
      offset = address - buffer.address();
    }
    if (offset < 0 || offset >= memory.byteSize() || count <= 0) {
      return new byte[0];
    }
    return memory
        .asSlice(offset, Math.min(count, memory.byteSize() - offset))
        .toArray(ValueLayout.JAVA_BYTE);
  }

  private Probe block(WarpId warp) {
    var block = run.block(warp);
    if (block == null) {
      throw new IllegalArgumentException("block %d is not running".formatted(warp.block()));
    }
    return block;
  }
}
