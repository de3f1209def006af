package dev.athanor.engine.debug;

import dev.athanor.engine.debug.Debuggee.NamedBuffer;
import dev.athanor.engine.emulator.memory.Allocation;
import dev.athanor.engine.emulator.watch.BlockState;
import dev.athanor.engine.emulator.watch.Observer.Observed;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Type;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;

/** The memory that a block can access. */
final class BlockMemory {
  private final Kernel kernel;
  private final int localBytes;
  private final BlockState state;
  private final List<NamedBuffer> named;

  /**
   * @param named the buffers that the debuggee has named
   */
  BlockMemory(Observed observed, BlockState state, List<NamedBuffer> named) {
    this.kernel = observed.kernel();
    this.localBytes = observed.localBytes();
    this.state = state;
    this.named = named;
  }

  /** Returns the parameters of the kernel, each an array of one or more elements. */
  List<MemoryArray> parameters() {
    var memory = state.parameters().segment();
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
  List<MemoryArray> buffers() {
    var all = new LinkedHashMap<Long, MemoryArray>();
    var byAddress = new LinkedHashMap<Long, Debuggee.NamedBuffer>();
    named.forEach(each -> byAddress.put(each.buffer().address(), each));
    for (var parameter : parameters()) {
      if (parameter.element().bytes() == Long.BYTES && parameter.count() == 1) {
        long pointer = Elements.bits(parameter.bytes(), 0, Type.U64);
        var buffer = state.buffers().find(pointer, 1);
        if (buffer != null && !byAddress.containsKey(buffer.address())) {
          all.put(buffer.address(), array(parameter.name(), buffer, Type.B32));
        }
      }
    }
    byAddress.forEach((address, each) -> {
      var buffer = state.buffers().find(address, 1);
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
   * @param thread whose local memory may contain it
   * @return empty if it is not within one buffer, shared memory or the thread's local memory
   */
  Optional<MemoryArray> array(
      String name, Space space, Type element, long address, long length, int thread) {
    MemorySegment memory;
    long offset = address;
    if (space == Space.SHARED) {
      memory = state.shared().segment();
    } else if (space == Space.LOCAL) {
      memory = local(thread);
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
  List<MemoryArray> shared() {
    var memory = state.shared().segment();
    var element = elementOf(".shared");
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

  private MemorySegment local(int thread) {
    return state.local().segment().asSlice((long) thread * localBytes, localBytes);
  }

  /** Returns the arrays in a thread's local memory. */
  List<MemoryArray> locals(int thread) {
    var memory = local(thread);
    var element = elementOf(".local");
    var offsets = kernel.localOffsets();
    return kernel.locals().stream()
        .filter(each -> each.space() == Space.LOCAL)
        .map(each -> {
          long offset = offsets.getOrDefault(each.name(), 0);
          var type = each.type() == Type.B8 ? element : each.type();
          return new MemoryArray(
              each.name(), Space.LOCAL, offset, type, memory.asSlice(offset, each.bytes()));
        })
        .toList();
  }

  /** Returns the type of the first load from a state space or store to it, else of a word. */
  private Type elementOf(String space) {
    return kernel
        .instructions()
        .filter(each ->
            each.form().semantics() instanceof Semantics.Load
                || each.form().semantics() instanceof Semantics.Store)
        .filter(each -> each.opcode().contains(space))
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
  Optional<String> describe(long address) {
    return buffers().stream()
        .filter(
            each -> address >= each.address() && address < each.address() + each.bytes().byteSize())
        .map(each ->
            each.name() + (address == each.address() ? "" : "+" + (address - each.address())))
        .findFirst();
  }

  /**
   * Reads memory of global or shared space, as far as there is any.
   *
   * @param address in global memory, or the offset in shared memory
   */
  byte[] read(Space space, long address, int count) {
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
}
