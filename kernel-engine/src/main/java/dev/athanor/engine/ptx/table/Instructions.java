package dev.athanor.engine.ptx.table;

import dev.athanor.engine.ptx.Modifier;
import dev.athanor.engine.ptx.Modifier.Comparison;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Modifiers;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Address;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Operand.Symbol;
import dev.athanor.engine.ptx.Source;
import dev.athanor.engine.ptx.Statement.Guard;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Type;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Builds the instructions that transformations add to a kernel. */
public final class Instructions {

  private Instructions() {}

  public static Instruction branch(String label, @Nullable Guard guard, Source source) {
    return InstructionTable.instruction(
        "bra", List.of(), List.of(new Symbol(label)), guard, source);
  }

  public static Instruction trap(Source source) {
    return InstructionTable.instruction("trap", List.of(), List.of(), null, source);
  }

  /** Builds a move. {@code from} may also be a literal or a symbol's address. */
  public static Instruction move(
      Type type, Operand to, Operand from, @Nullable Guard guard, Source source) {
    return InstructionTable.instruction("mov", List.of(type), List.of(to, from), guard, source);
  }

  public static Instruction add(Type type, Register to, Operand a, Operand b, Source source) {
    return InstructionTable.instruction("add", List.of(type), List.of(to, a, b), null, source);
  }

  /** Builds {@code predicate = a comparison b}. */
  public static Instruction compare(
      Comparison comparison, Type type, Register predicate, Operand a, Operand b, Source source) {
    return InstructionTable.instruction(
        "setp", List.of(comparison, type), List.of(predicate, a, b), null, source);
  }

  /** Builds {@code to = !from}, for predicates. */
  public static Instruction not(Register to, Register from, Source source) {
    return InstructionTable.instruction("not", List.of(Type.PRED), List.of(to, from), null, source);
  }

  /** Builds a conversion between integer types, which extends or truncates. */
  public static Instruction convert(
      Type toType,
      Type fromType,
      Register to,
      Register from,
      @Nullable Guard guard,
      Source source) {
    return InstructionTable.instruction(
        "cvt", List.of(toType, fromType), List.of(to, from), guard, source);
  }

  /** Builds the conversion of a variable's address to a generic address. */
  public static Instruction toGeneric(Space space, Register to, Symbol variable, Source source) {
    return InstructionTable.instruction(
        "cvta", List.of(space, Type.U64), List.of(to, variable), null, source);
  }

  /** Builds the wait for all {@code wgmma} products that ptxas inserts before an instruction. */
  public static Instruction waitForProducts(Instruction before) {
    return new Instruction(
            WgmmaRows.WAIT_ALL, new Modifiers(List.of()), List.of(), null, before.source())
        .asReplacementOf(before);
  }

  public static Instruction load(
      Space space, Type type, Operand to, Address address, Source source) {
    return InstructionTable.instruction(
        "ld", List.of(space, type), List.of(to, address), null, source);
  }

  public static Instruction store(
      Space space, Type type, Address address, Operand value, Source source) {
    return InstructionTable.instruction(
        "st", List.of(space, type), List.of(address, value), null, source);
  }

  /** Returns the untyped type of a width: {@link Type#B32} for 32 bits. */
  public static Type bitType(int bits) {
    return (Type) Modifier.of("b" + bits);
  }

  /** Returns the integer type of a width: {@link Type#S32} for signed and 32 bits. */
  public static Type integerType(boolean signed, int bits) {
    return (Type) Modifier.of((signed ? "s" : "u") + bits);
  }
}
