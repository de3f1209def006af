package dev.athanor.engine.emulator.step;

import static java.util.Objects.requireNonNull;

import dev.athanor.engine.device.Report;
import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.emulator.memory.DeviceHeap;
import dev.athanor.engine.emulator.memory.Fault;
import dev.athanor.engine.emulator.memory.RegisterStorage;
import dev.athanor.engine.emulator.memory.Registers.Lanes;
import dev.athanor.engine.emulator.watch.MemoryRequest;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.RuntimeFunction;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Warps;
import dev.athanor.engine.ptx.meaning.AddressWindow;
import dev.athanor.engine.ptx.meaning.PrintFormat;
import java.io.ByteArrayOutputStream;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** A call to a function of CUDA's device runtime, lane by lane. */
public final class RuntimeCall implements Step {

  /** The result of vprintf for a null format. */
  private static final int NO_FORMAT = -1;

  private final Block block;
  private final Instruction instruction;
  private final RuntimeFunction function;

  /** Generic addresses of the result variable, if there is one, and of the argument variables. */
  private final long[] variables;

  private final Lanes pointer;
  private final Addresses addresses;
  private final MemoryRequest load;
  private final MemoryRequest store;

  /**
   * @param offsets local-memory offsets of the result, if the function has one, and of the
   *     arguments
   */
  public RuntimeCall(
      Block block, Instruction instruction, RuntimeFunction function, long[] offsets) {
    this.block = block;
    this.instruction = instruction;
    this.function = function;
    this.variables = new long[offsets.length];
    for (int i = 0; i < offsets.length; i++) {
      variables[i] = AddressWindow.start(Space.LOCAL) + offsets[i];
    }
    this.pointer = block.registers.constant(RegisterStorage.LONG, 0L);
    this.addresses = new Addresses(block, instruction, null, pointer, 0);
    this.load = new MemoryRequest(instruction, MemoryRequest.Kind.LOAD);
    this.store = new MemoryRequest(instruction, MemoryRequest.Kind.STORE);
  }

  @Override
  public void execute(int first, int end, boolean whole) {
    for (int warp = first; warp < end; warp++) {
      if (function == RuntimeFunction.ASSERTFAIL) {
        assertionsFail(warp);
        continue;
      }
      for (int left = block.active[warp]; left != 0; left &= left - 1) {
        int lane = Warps.firstThread(warp, left);
        switch (function) {
          case VPRINTF -> print(lane);
          case MALLOC -> allocate(lane);
          case FREE -> free(lane);
          case ASSERTFAIL -> throw new IllegalStateException("it ends the block");
        }
      }
    }
  }

  private void print(int lane) {
    long format = argument(lane, 0);
    if (format == 0) {
      result(lane, NO_FORMAT);
      return;
    }
    var text =
        PrintFormat.format(
            string(lane, format, Integer.MAX_VALUE), new Variadic(lane, argument(lane, 1)));
    block.print(text.text());
    result(lane, text.taken());
  }

  /** The variadic arguments of a lane in memory, each aligned to its size. */
  private final class Variadic implements PrintFormat.Arguments {
    private final int lane;
    private long at;

    Variadic(int lane, long at) {
      this.lane = lane;
      this.at = at;
    }

    @Override
    public int next32() {
      return (int) next(Integer.BYTES);
    }

    @Override
    public long next64() {
      return next(Long.BYTES);
    }

    private long next(int bytes) {
      at = Math.ceilDiv(at, bytes) * bytes;
      long value = read(lane, at, bytes);
      at += bytes;
      return value;
    }

    @Override
    public byte[] string(long address, int most) {
      return RuntimeCall.this.string(lane, address, most);
    }
  }

  private void assertionsFail(int warp) {
    var reports = new ArrayList<Report>();
    for (int left = block.active[warp]; left != 0; left &= left - 1) {
      int lane = Warps.firstThread(warp, left);
      reports.add(
          block.report(
              Kind.ASSERTION,
              lane,
              instruction,
              "%s:%d: %s: Assertion '%s' failed"
                  .formatted(
                      text(lane, argument(lane, 1)),
                      argument(lane, 2),
                      text(lane, argument(lane, 3)),
                      text(lane, argument(lane, 0)))));
    }
    if (!reports.isEmpty()) {
      throw new Fault(reports);
    }
  }

  private String text(int lane, long address) {
    return address == 0
        ? "?"
        : new String(string(lane, address, Integer.MAX_VALUE), StandardCharsets.UTF_8);
  }

  private DeviceHeap heap() {
    return requireNonNull(block.memory.heap(), "a kernel that allocates was loaded with a heap");
  }

  private void allocate(int lane) {
    long bytes = argument(lane, 0);
    long address = heap().allocate(bytes, block.place(lane, instruction));
    if (address != 0 && block.observer != null) {
      var buffer = heap().buffer();
      block.observer.allocated(buffer, address - buffer.address(), bytes);
    }
    block.stored();
    result(lane, address);
  }

  private void free(int lane) {
    long address = argument(lane, 0);
    if (address == 0) {
      return;
    }
    var problem = heap().free(address, block.place(lane, instruction));
    if (problem != null) {
      throw new Fault(List.of(block.report(Kind.INVALID_FREE, lane, instruction, problem)));
    }
    block.stored();
  }

  private long argument(int lane, int number) {
    int results = function.resultBytes() == 0 ? 0 : 1;
    return read(lane, variables[results + number], function.argumentBytes().get(number));
  }

  private void result(int lane, long value) {
    int bytes = function.resultBytes();
    long offset = find(lane, variables[0], bytes, store);
    var segment = addresses.segment();
    if (bytes == Integer.BYTES) {
      segment.set(ValueLayout.JAVA_INT_UNALIGNED, offset, (int) value);
    } else {
      segment.set(ValueLayout.JAVA_LONG_UNALIGNED, offset, value);
    }
  }

  private byte[] string(int lane, long address, int most) {
    var bytes = new ByteArrayOutputStream();
    while (bytes.size() < Math.min(most, PrintBuffer.CAPACITY)) {
      int next = (int) read(lane, address + bytes.size(), 1);
      if (next == 0) {
        break;
      }
      bytes.write(next);
    }
    return bytes.toByteArray();
  }

  private long read(int lane, long address, int bytes) {
    long offset = find(lane, address, bytes, load);
    var segment = addresses.segment();
    return switch (bytes) {
      case 1 -> segment.get(ValueLayout.JAVA_BYTE, offset) & 0xFF;
      case Integer.BYTES -> segment.get(ValueLayout.JAVA_INT_UNALIGNED, offset) & 0xFFFF_FFFFL;
      default -> segment.get(ValueLayout.JAVA_LONG_UNALIGNED, offset);
    };
  }

  /** Resolves an address to an offset in its segment, after notifying the observer. */
  private long find(int lane, long address, int bytes, MemoryRequest touch) {
    pointer.set(lane, address);
    long offset = addresses.offset(lane, bytes, bytes);
    if (offset < 0) {
      throw addresses.fault(lane, bytes, bytes);
    }
    if (block.observer != null) {
      touch.warp = lane >> 5;
      touch.mask = 1 << Warps.laneOf(lane);
      touch.bytes = bytes;
      touch.offsets[Warps.laneOf(lane)] = offset;
      touch.memories[Warps.laneOf(lane)] = addresses.memory();
      block.observe(touch);
    }
    return offset;
  }
}
