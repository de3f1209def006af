package dev.athanor.engine.emulator.memory;

import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Variable;
import dev.athanor.engine.ptx.meaning.AddressWindow;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/**
 * The variables of a loaded module. Each variable in global memory has its own buffer; all
 * constants share one memory. They live as long as the device.
 */
public final class ModuleVariables {

  /** The maximum size of the constants of a module in bytes (PTX ISA 5.1.3). */
  private static final long MAX_CONSTANT_BYTES = 64 << 10;

  private final Map<String, Allocation> buffers = new HashMap<>();
  private final Map<String, Long> constantOffsets = new HashMap<>();
  private final Memory constants;

  /**
   * Allocates and initializes the variables of a module, whose functions are named by numbers.
   *
   * @throws IllegalArgumentException if a variable is external or in a wrong state space, or if the
   *     constants are too large
   */
  public ModuleVariables(List<Variable> variables, GlobalMemory memory) {
    long end = 0;
    for (var variable : variables) {
      switch (variable.space()) {
        case GLOBAL -> buffers.put(variable.name(), buffer(variable, memory));
        case CONST -> {
          long at = Math.ceilDiv(end, variable.alignment()) * variable.alignment();
          constantOffsets.put(variable.name(), at);
          end = at + variable.bytes();
        }
        default ->
            throw new IllegalArgumentException(
                "%s is in a state space that a variable of a module cannot have; use .global or .const"
                    .formatted(variable));
      }
    }
    if (end > MAX_CONSTANT_BYTES) {
      throw new IllegalArgumentException(
          "the module has %d bytes of constants; the maximum is %d; use .global"
              .formatted(end, MAX_CONSTANT_BYTES));
    }
    constants =
        new Memory.Small(
            Space.CONST, Arena.ofAuto().allocate(Math.max(1, end), 256).asSlice(0, end));
    for (var variable : variables) {
      var buffer = buffers.get(variable.name());
      var offset = constantOffsets.get(variable.name());
      if (buffer != null) {
        initialize(variable, buffer.segment());
        buffer.define(0, buffer.bytes());
      } else if (offset != null) {
        initialize(variable, constants.segment().asSlice(offset, variable.bytes()));
      }
    }
  }

  private static Allocation buffer(Variable variable, GlobalMemory memory) {
    if (variable.count() == Variable.UNSIZED) {
      throw new IllegalArgumentException(
          "%s is defined in another module, and modules are not linked".formatted(variable));
    }
    return memory.allocate(Math.max(1, variable.bytes()), "variable " + variable.name());
  }

  private void initialize(Variable variable, MemorySegment segment) {
    segment.fill((byte) 0);
    int size = variable.type().bytes();
    for (int i = 0; i < variable.initializers().size(); i++) {
      var value = variable.initializers().get(i);
      long bits = value.number().bits();
      if (!value.symbol().isEmpty()) {
        long address =
            address(value.symbol())
                .orElseThrow(() ->
                    new IllegalArgumentException(
                        "%s names %s, which the module does not have"
                            .formatted(variable.name(), value.symbol())));
        boolean isConstant = constantOffsets.containsKey(value.symbol());
        bits =
            value.bits(
                value.generic() && isConstant
                    ? address + AddressWindow.CONSTANTS.start()
                    : address);
      }
      for (int at = 0; at < size; at++) {
        segment.set(ValueLayout.JAVA_BYTE, (long) i * size + at, (byte) (bits >>> (8 * at)));
      }
    }
  }

  public Memory constants() {
    return constants;
  }

  /** The address of a variable in its state space; empty = the module has no such variable. */
  public OptionalLong address(String name) {
    var buffer = buffers.get(name);
    if (buffer != null) {
      return OptionalLong.of(buffer.address());
    }
    var offset = constantOffsets.get(name);
    return offset == null ? OptionalLong.empty() : OptionalLong.of(offset);
  }
}
