package dev.athanor.engine.analysis.sass;

/**
 * A decoded machine instruction.
 *
 * @param address bytes from the start of the kernel's code
 * @param opcode the low 12 bits: 9 of the operation and 3 of the form of its operands
 * @param kind what it does
 * @param conditional whether a predicate guards it
 * @param flow where execution continues
 */
public record SassInstruction(
    int address, int opcode, InstructionClass kind, boolean conditional, Flow flow) {

  /** Bytes of an instruction. */
  public static final int BYTES = 16;

  /** Returns the operation, the low 9 bits of the opcode. */
  int operation() {
    return opcode & 0x1ff;
  }

  /** Where execution continues after an instruction. */
  public sealed interface Flow {}

  /** At the next instruction. */
  public record Next() implements Flow {}

  /**
   * At a target, or at the next instruction if the branch is conditional.
   *
   * @param target bytes from the start of the kernel's code
   */
  public record Branch(int target, boolean conditional) implements Flow {}

  /** Nowhere, or at the next instruction if the end of the thread or function is conditional. */
  public record End(boolean conditional) implements Flow {}

  /** At an address in a register. */
  public record Indirect(boolean conditional) implements Flow {}
}
