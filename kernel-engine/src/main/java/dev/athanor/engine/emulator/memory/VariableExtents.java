package dev.athanor.engine.emulator.memory;

import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.OperandSlot;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Statement.Instruction;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The extents of the variables of a kernel in their state spaces, and the variable from which the
 * address of an instruction is derived.
 */
public final class VariableExtents {

  /**
   * The bytes of a variable.
   *
   * @param end the first byte after it
   */
  public record Extent(String name, Space space, long start, long end) {}

  private final List<Extent> extents = new ArrayList<>();
  private final Map<Operand.Register, Set<String>> origins = new HashMap<>();

  /**
   * @param sharedBytes the shared memory of a block, at whose end a dynamic array ends
   */
  public VariableExtents(Kernel kernel, List<Instruction> instructions, int sharedBytes) {
    var sharedOffsets = kernel.sharedOffsets();
    for (var array : kernel.shared()) {
      int start = sharedOffsets.getOrDefault(array.name(), 0);
      extents.add(
          new Extent(
              array.name(),
              Space.SHARED,
              start,
              array.isDynamic() ? sharedBytes : start + array.bytes()));
    }
    var localOffsets = kernel.localOffsets();
    for (var local : kernel.declaredLocals()) {
      int start = localOffsets.getOrDefault(local.name(), 0);
      extents.add(new Extent(local.name(), Space.LOCAL, start, start + local.bytes()));
    }
    var parameterOffsets = kernel.parameterOffsets();
    for (var parameter : kernel.parameters()) {
      int start = parameterOffsets.getOrDefault(parameter.name(), 0);
      extents.add(new Extent(parameter.name(), Space.PARAM, start, start + parameter.bytes()));
    }
    for (boolean changed = true; changed; ) {
      changed = false;
      for (var instruction : instructions) {
        changed |= propagate(instruction);
      }
    }
  }

  /** Propagates origins: a value computed from the address of a variable is derived from it. */
  private boolean propagate(Instruction instruction) {
    if (!(instruction.form().semantics() instanceof Semantics.Pure)) {
      return false;
    }
    var from = new HashSet<String>();
    for (int i = 0; i < instruction.operands().size(); i++) {
      if (instruction.form().operands().get(i).kind() != OperandSlot.Kind.RESULT) {
        collect(instruction.operands().get(i), from);
      }
    }
    boolean changed = false;
    if (!from.isEmpty()) {
      for (var register : instruction.writes()) {
        changed |= origins.computeIfAbsent(register, _ -> new HashSet<>()).addAll(from);
      }
    }
    return changed;
  }

  private void collect(Operand operand, Set<String> into) {
    switch (operand) {
      case Operand.Symbol symbol -> into.add(symbol.name());
      case Operand.Register register -> into.addAll(origins.getOrDefault(register, Set.of()));
      case Operand.Vector vector -> vector.elements().forEach(each -> collect(each, into));
      case Operand.Address address -> collect(address.base(), into);
      default -> {} // no address
    }
  }

  /** The variable from which the address of an instruction is derived; null = none, or several. */
  public @Nullable Extent of(Operand address) {
    var from = new HashSet<String>();
    collect(address, from);
    if (from.size() != 1) {
      return null;
    }
    var name = from.iterator().next();
    return extents.stream().filter(each -> each.name().equals(name)).findFirst().orElse(null);
  }

  /** The variable that contains a byte; null = none. */
  public @Nullable Extent at(Space space, long offset) {
    return extents.stream()
        .filter(each -> each.space() == space && offset >= each.start() && offset < each.end())
        .findFirst()
        .orElse(null);
  }
}
