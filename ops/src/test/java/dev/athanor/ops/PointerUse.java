package dev.athanor.ops;

import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Type;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * The accesses of a kernel to the memory that its parameters address.
 *
 * @param written parameters through which it stores
 * @param readOnly parameters through which it loads by {@code ld.global.nc}, so that it must not
 *     write their memory (PTX ISA, 9.7.9.9)
 */
record PointerUse(Set<String> written, Set<String> readOnly) {

  static PointerUse of(Kernel kernel) {
    var origins = origins(kernel);
    var written = new TreeSet<String>();
    var readOnly = new TreeSet<String>();
    kernel
        .instructions()
        .filter(each -> each.form().semantics() instanceof Semantics.Access)
        .forEach(each -> {
          var through = addresses(each).flatMap(a -> from(a, origins)).toList();
          if (!(each.form().semantics() instanceof Semantics.Load)) {
            written.addAll(through);
          } else if (each.opcode().contains(".nc")) {
            readOnly.addAll(through);
          }
        });
    return new PointerUse(written, readOnly);
  }

  /** Returns the parameters from which each register is computed. */
  private static Map<Operand.Register, Set<String>> origins(Kernel kernel) {
    var pointers = new TreeSet<String>();
    kernel.parameters().stream()
        .filter(each -> each.type() == Type.U64)
        .forEach(each -> pointers.add(each.name()));
    var origins = new HashMap<Operand.Register, Set<String>>();
    boolean changed = true;
    while (changed) {
      changed = false;
      for (var each : kernel.instructions().toList()) {
        Set<String> found = new TreeSet<>();
        if (each.opcode().startsWith("ld.param")) {
          addresses(each)
              .filter(a -> a.base() instanceof Operand.Symbol s && pointers.contains(s.name()))
              .forEach(a -> found.add(((Operand.Symbol) a.base()).name()));
        } else if (each.form().semantics() instanceof Semantics.Computation) {
          each.reads().forEach(read -> found.addAll(origins.getOrDefault(read, Set.of())));
        }
        for (var register : each.writes()) {
          changed |= origins.computeIfAbsent(register, _ -> new TreeSet<>()).addAll(found);
        }
      }
    }
    return origins;
  }

  private static Stream<Operand.Address> addresses(Instruction instruction) {
    return instruction.operands().stream()
        .filter(Operand.Address.class::isInstance)
        .map(Operand.Address.class::cast);
  }

  private static Stream<String> from(
      Operand.Address address, Map<Operand.Register, Set<String>> origins) {
    return address.base() instanceof Operand.Register register
        ? origins.getOrDefault(register, Set.of()).stream()
        : Stream.of();
  }
}
