package dev.athanor.engine.emulator.program;

import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.OperandSlot;
import dev.athanor.engine.ptx.RegisterClass;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Statement.Guard;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.table.Instructions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Rewrites a kernel into normal form, in which every operand slot holds a register of the width
 * that the instruction reads or writes:
 *
 * <ul>
 *   <li>A negated predicate becomes a register, which a {@code not} before the instruction writes.
 *   <li>A sink {@code _} becomes a register that no instruction reads.
 *   <li>A register wider than its type (PTX ISA 9.4.1) becomes a register of the type's width, with
 *       a conversion before or after the instruction.
 *   <li>A generic address by the name of a shared or local variable becomes a register.
 * </ul>
 */
final class Normalizer {

  private final Set<String> taken;
  private final Set<Instruction> added;
  private final Map<String, Space> spaces = new HashMap<>();
  private final List<Statement> body = new ArrayList<>();
  private int fresh;

  private Normalizer(Kernel kernel, Set<Instruction> added) {
    this.added = added;
    kernel.shared().forEach(array -> spaces.put(array.name(), Space.SHARED));
    kernel.locals().stream()
        .filter(local -> local.space() == Space.LOCAL)
        .forEach(local -> spaces.put(local.name(), Space.LOCAL));
    this.taken =
        kernel.registers().stream()
            .map(Register::name)
            .collect(Collectors.toCollection(HashSet::new));
  }

  /**
   * Returns a kernel in normal form; the kernel itself when it is.
   *
   * @param added collects the instructions without a counterpart in the text
   */
  static Kernel normal(Kernel kernel, Set<Instruction> added) {
    var normalizer = new Normalizer(kernel, added);
    for (var statement : kernel.body()) {
      if (statement instanceof Instruction instruction) {
        normalizer.add(instruction);
      } else {
        normalizer.body.add(statement);
      }
    }
    return normalizer.body.equals(kernel.body()) ? kernel : kernel.withBody(normalizer.body);
  }

  private void add(Instruction given) {
    var after = new ArrayList<Statement>();
    var operands = new ArrayList<Operand>();
    for (int i = 0; i < given.operands().size(); i++) {
      operands.add(operand(given, given.form().operands().get(i), given.operands().get(i), after));
    }
    body.add(
        operands.equals(given.operands())
            ? given
            : new Instruction(
                    given.form(), given.modifiers(), operands, given.guard(), given.source())
                .asReplacementOf(given));
    body.addAll(after);
  }

  private Operand operand(
      Instruction given, OperandSlot slot, Operand operand, List<Statement> after) {
    return switch (operand) {
      case Operand.Vector v ->
          Operand.Vector.of(
              v.elements().stream().map(e -> operand(given, slot, e, after)).toList());
      case Operand.Pair p when slot.second() != null ->
          new Operand.Pair(
              operand(given, slot, p.first(), after),
              operand(given, slot.second(), p.second(), after));
      case Operand.Negation n -> {
        var opposite = register(RegisterClass.PRED);
        body.add(added(Instructions.not(opposite, n.register(), given.source()), given));
        yield opposite;
      }
      case Operand.Sink _ when slot.kind() == OperandSlot.Kind.RESULT ->
          register(slot.type(given.modifiers()).registerClass());
      case Register r when slot.kind() == OperandSlot.Kind.RESULT ->
          result(given, slot.type(given.modifiers()), r, after);
      case Register r when slot.kind() == OperandSlot.Kind.SOURCE ->
          source(given, slot.type(given.modifiers()), r);
      case Operand.Address(Operand.Symbol s, var offset)
          when slot.kind() == OperandSlot.Kind.MEMORY
              && slot.space(given.modifiers()) == null
              && spaces.containsKey(s.name()) ->
          new Operand.Address(genericAddress(given, s), offset);
      default -> operand;
    };
  }

  private Register genericAddress(Instruction given, Operand.Symbol variable) {
    var address = register(RegisterClass.B64);
    var space = Objects.requireNonNull(spaces.get(variable.name()));
    body.add(added(Instructions.toGeneric(space, address, variable, given.source()), given));
    return address;
  }

  private Register source(Instruction given, Type type, Register wide) {
    var registerClass = wide.registerClass();
    if (registerClass.isBits()
        ? registerClass != RegisterClass.B64 || type.bits() > 32
        : type == Type.PRED || type.bits() >= registerClass.bits()) {
      return wide;
    }
    var bits = wide;
    if (!registerClass.isBits()) {
      bits = register(untypedClass(registerClass.bits()));
      body.add(added(move(registerClass.bits(), bits, wide, null, given), given));
    }
    if (registerClass.bits() == 32) {
      return bits;
    }
    var low = register(RegisterClass.B32);
    body.add(
        added(Instructions.convert(Type.U32, Type.U64, low, bits, null, given.source()), given));
    return low;
  }

  private Register result(Instruction given, Type type, Register wide, List<Statement> after) {
    boolean loads = given.form().semantics() instanceof Semantics.Load;
    int bits = wide.registerClass().bits();
    if (bits <= type.registerClass().bits() || (bits == 32 && !loads)) {
      return wide;
    }
    // a load extends from the width of its type; a conversion has already extended to 32 bits
    var narrow = register(loads ? untypedClass(type.bits()) : RegisterClass.B32);
    var extended = wide.registerClass().isBits() ? wide : register(untypedClass(bits));
    boolean signed = type.kind() == Type.Kind.SIGNED;
    var from = Instructions.integerType(signed, loads ? type.bits() : 32);
    var to = Instructions.integerType(signed, bits);
    var guard = given.guard();
    after.add(
        added(Instructions.convert(to, from, extended, narrow, guard, given.source()), given));
    if (!extended.equals(wide)) {
      after.add(added(move(bits, wide, extended, guard, given), given));
    }
    return narrow;
  }

  /** Returns the class of untyped registers that hold a number of bits. */
  private static RegisterClass untypedClass(int bits) {
    return bits > 32 ? RegisterClass.B64 : bits > 16 ? RegisterClass.B32 : RegisterClass.B16;
  }

  private static Instruction move(
      int bits, Register to, Register from, @Nullable Guard guard, Instruction given) {
    return Instructions.move(Instructions.bitType(bits), to, from, guard, given.source());
  }

  /** Marks an instruction as added for a given one. */
  private Instruction added(Instruction instruction, Instruction given) {
    var marked = instruction.asReplacementOf(given);
    added.add(marked);
    return marked;
  }

  private Register register(RegisterClass registerClass) {
    var name = "%normal" + fresh++;
    while (!taken.add(name)) {
      name = "%normal" + fresh++;
    }
    return new Register(registerClass, name);
  }
}
