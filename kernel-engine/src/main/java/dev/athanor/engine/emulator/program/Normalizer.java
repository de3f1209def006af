package dev.athanor.engine.emulator.program;

import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.OperandSlot;
import dev.athanor.engine.ptx.RegisterClass;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Statement.Guard;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.table.InstructionTable;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Takes from a kernel what only its text needs, so that registers stand where operands are read and
 * have the widths that are read:
 *
 * <ul>
 *   <li>a negated predicate becomes a register that a {@code not} before writes;
 *   <li>a result that nobody wants becomes a register that nobody reads;
 *   <li>a register wider than its type (PTX ISA 9.4.1) becomes one of the type's width, and a
 *       conversion before or behind.
 * </ul>
 */
final class Normalizer {

  private final Set<String> taken;
  private final Set<Instruction> added;
  private final List<Statement> body = new ArrayList<>();
  private int fresh;

  private Normalizer(Kernel kernel, Set<Instruction> added) {
    this.added = added;
    this.taken =
        kernel.registers().stream()
            .map(Register::name)
            .collect(Collectors.toCollection(HashSet::new));
  }

  /**
   * The kernel in normal form; the kernel itself where it has that.
   *
   * @param added takes the instructions that are not those of the text, nor in their stead
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
    return normalizer.body.equals(kernel.body())
        ? kernel
        : new Kernel(
            kernel.name(),
            kernel.parameters(),
            kernel.shared(),
            kernel.locals(),
            kernel.limits(),
            normalizer.body);
  }

  private void add(Instruction given) {
    var behind = new ArrayList<Statement>();
    var operands = new ArrayList<Operand>();
    for (int i = 0; i < given.operands().size(); i++) {
      operands.add(operand(given, given.form().operands().get(i), given.operands().get(i), behind));
    }
    body.add(
        operands.equals(given.operands())
            ? given
            : new Instruction(
                    given.form(), given.modifiers(), operands, given.guard(), given.source())
                .insteadOf(given));
    body.addAll(behind);
  }

  private Operand operand(
      Instruction given, OperandSlot slot, Operand operand, List<Statement> behind) {
    return switch (operand) {
      case Operand.Vector v ->
          Operand.Vector.of(
              v.elements().stream().map(e -> operand(given, slot, e, behind)).toList());
      case Operand.Pair p when slot.second() != null ->
          new Operand.Pair(
              operand(given, slot, p.first(), behind),
              operand(given, slot.second(), p.second(), behind));
      case Operand.Negation n -> {
        var opposite = register(RegisterClass.PRED);
        body.add(made("not.pred", opposite, n.register(), null, given));
        yield opposite;
      }
      case Operand.Sink _ when slot.kind() == OperandSlot.Kind.RESULT ->
          register(slot.type(given.modifiers()).registerClass());
      case Register r when slot.kind() == OperandSlot.Kind.RESULT ->
          result(given, slot.type(given.modifiers()), r, behind);
      case Register r when slot.kind() == OperandSlot.Kind.SOURCE ->
          source(given, slot.type(given.modifiers()), r);
      default -> operand;
    };
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
      bits = register(bits(registerClass.bits()));
      body.add(made("mov.b" + registerClass.bits(), bits, wide, null, given));
    }
    if (registerClass.bits() == 32) {
      return bits;
    }
    var low = register(RegisterClass.B32);
    body.add(made("cvt.u32.u64", low, bits, null, given));
    return low;
  }

  private Register result(Instruction given, Type type, Register wide, List<Statement> behind) {
    boolean loads = given.form().semantics() instanceof Semantics.Load;
    int bits = wide.registerClass().bits();
    if (bits <= type.registerClass().bits() || (bits == 32 && !loads)) {
      return wide;
    }
    // loads extend from their own width; conversions have done so up to 32 bits
    var narrow = register(loads ? bits(type.bits()) : RegisterClass.B32);
    var extended = wide.registerClass().isBits() ? wide : register(bits(bits));
    var sign = type.kind() == Type.Kind.SIGNED ? "s" : "u";
    behind.add(
        made(
            "cvt.%s%s.%s%s".formatted(sign, bits, sign, loads ? type.bits() : 32),
            extended,
            narrow,
            given.guard(),
            given));
    if (!extended.equals(wide)) {
      behind.add(made("mov.b" + bits, wide, extended, given.guard(), given));
    }
    return narrow;
  }

  /** The class of registers that hold so many bits of no type. */
  private static RegisterClass bits(int bits) {
    return bits > 32 ? RegisterClass.B64 : bits > 16 ? RegisterClass.B32 : RegisterClass.B16;
  }

  private Instruction made(
      String opcode, Register d, Register a, @Nullable Guard guard, Instruction from) {
    var made =
        InstructionTable.instruction(opcode, List.of(d, a), guard, from.source()).insteadOf(from);
    added.add(made);
    return made;
  }

  private Register register(RegisterClass registerClass) {
    var name = "%normal" + fresh++;
    while (!taken.add(name)) {
      name = "%normal" + fresh++;
    }
    return new Register(registerClass, name);
  }
}
