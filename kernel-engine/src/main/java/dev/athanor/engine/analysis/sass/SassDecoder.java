package dev.athanor.engine.analysis.sass;

import dev.athanor.engine.analysis.sass.SassInstruction.Branch;
import dev.athanor.engine.analysis.sass.SassInstruction.End;
import dev.athanor.engine.analysis.sass.SassInstruction.Flow;
import dev.athanor.engine.analysis.sass.SassInstruction.Indirect;
import dev.athanor.engine.analysis.sass.SassInstruction.Next;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * Decodes the 128-bit instructions of sm_70 and later.
 *
 * <p>Bits 0 to 8 are the operation and bits 9 to 11 the form of its operands; bits 12 to 15 the
 * guard, a predicate and its negation, with 7 for "always". A branch has its distance from the next
 * instruction, in units of 4 bytes, in bits 34 to 81; from sm_90 on, these are above 8 lower bits
 * at bit 16. It has a second predicate at bit 87.
 */
final class SassDecoder {

  private static final int ALWAYS = 7;
  private static final int ZERO_REGISTER = 255;

  /** Forms of operands: all registers, and those with another third operand. */
  private static final int REGISTERS = 1;

  private static final int IMMEDIATE_THIRD = 2;
  private static final int CONSTANT_THIRD = 3;
  private static final int UNIFORM_THIRD = 7;

  /** The bit of {@code IMAD.X} in the upper half, which adds a carry. */
  private static final int CARRY_IN = 10;

  /**
   * Modes of a branch: {@code BRA.DIV} leads diverged warps to a slow copy of a collective, and
   * {@code BRA.CONV} leads converged warps past one. The slow copies are no part of a loop, so that
   * warps are taken to be converged.
   */
  private static final int IF_DIVERGED = 2;

  private static final int IF_CONVERGED = 3;

  private final int sm;

  SassDecoder(int sm) {
    this.sm = sm;
  }

  /** Decodes a section, whose size is a multiple of 16 bytes. */
  List<SassInstruction> decode(ByteBuffer code) {
    var instructions = new ArrayList<SassInstruction>();
    for (int at = 0; at < code.limit(); at += SassInstruction.BYTES) {
      instructions.add(decode(at, code.getLong(at), code.getLong(at + Long.BYTES)));
    }
    return List.copyOf(instructions);
  }

  private SassInstruction decode(int address, long low, long high) {
    int opcode = (int) low & 0xfff;
    int operation = opcode & 0x1ff;
    boolean guarded = bits(low, 12, 4) != ALWAYS;
    return new SassInstruction(
        address, opcode, kind(operation, low, high), guarded, flow(address, opcode, low, high));
  }

  private InstructionClass kind(int operation, long low, long high) {
    boolean mayMove =
        switch (operation) {
          case Opcode.IMAD -> bits(high, CARRY_IN, 1) == 0;
          case Opcode.HFMA2 -> form(low) == IMMEDIATE_THIRD;
          case Opcode.HFMA2_MMA -> form(low) == IMMEDIATE_THIRD && sm < 100;
          default -> false;
        };
    return mayMove && hasZeroFactors(low, high)
        ? InstructionClass.MOV
        : InstructionClass.of(operation);
  }

  /** Returns whether both factors of a multiply-add are the zero register. */
  private static boolean hasZeroFactors(long low, long high) {
    int second =
        switch (form(low)) {
          case REGISTERS -> bits(low, 32, 8);
          case IMMEDIATE_THIRD, CONSTANT_THIRD, UNIFORM_THIRD -> bits(high, 0, 8);
          default -> 0;
        };
    return bits(low, 24, 8) == ZERO_REGISTER && second == ZERO_REGISTER;
  }

  private Flow flow(int address, int opcode, long low, long high) {
    boolean conditional = bits(low, 12, 4) != ALWAYS || bits(high, 23, 4) != ALWAYS;
    return switch (opcode & 0x1ff) {
      case Opcode.BRA -> branch(address, opcode, low, high, conditional);
      case Opcode.JMP, Opcode.JMX, Opcode.BRX, Opcode.BRXU -> new Indirect(conditional);
      case Opcode.EXIT, Opcode.RET, Opcode.KILL -> new End(conditional);
      default -> new Next();
    };
  }

  private Flow branch(int address, int opcode, long low, long high, boolean conditional) {
    int mode = bits(low, 32, 2);
    if (mode == IF_DIVERGED) {
      return new Next();
    }
    boolean ifUniform = opcode >> 9 == 2;
    boolean mayFallThrough = mode != IF_CONVERGED && (conditional || ifUniform);
    long upper = (high << 46 >> 16) | (low >>> 34);
    long distance = sm >= 90 ? (upper << 8) | bits(low, 16, 8) : upper;
    long target = address + SassInstruction.BYTES + distance * Integer.BYTES;
    return new Branch(Math.clamp(target, -1, Integer.MAX_VALUE), mayFallThrough);
  }

  private static int form(long low) {
    return bits(low, 9, 3);
  }

  private static int bits(long word, int from, int count) {
    return (int) (word >>> from) & ((1 << count) - 1);
  }
}
