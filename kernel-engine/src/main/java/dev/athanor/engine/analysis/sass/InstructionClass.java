package dev.athanor.engine.analysis.sass;

import java.util.HashMap;
import java.util.Map;

/**
 * What a machine instruction does, as far as the report tells instructions apart. A class is named
 * after the mnemonic of {@code nvdisasm} and covers all its modifiers.
 */
public enum InstructionClass {
  /** Matrix product of f16, bf16 or tf32. */
  HMMA(true, 0x03c),
  /** Matrix product of integers. */
  IMMA(true, 0x037),
  /** Matrix product of fp8, fp6 or fp4. */
  QMMA(true, 0x07a),
  /** Matrix product of fp4 with block scales. */
  OMMA(true, 0x07f),
  /** Matrix product of f64. */
  DMMA(true, 0x03f),
  /** Warpgroup matrix product of f16, bf16 or tf32. */
  HGMMA(true, 0x1f0),
  /** Warpgroup matrix product of integers. */
  IGMMA(true, 0x1f1),
  /** Warpgroup matrix product of fp8. */
  QGMMA(true, 0x1f3),
  /** Load of matrix fragments from shared memory. */
  LDSM(false, 0x03b),
  /** Load from shared memory. */
  LDS(false, 0x184),
  /** Store to shared memory. */
  STS(false, 0x188),
  /** Load from global memory. */
  LDG(false, 0x181),
  /** Store to global memory. */
  STG(false, 0x186),
  /** Asynchronous copy from global to shared memory. */
  LDGSTS(false, 0x1ae),
  /** Load from local memory: a spilled register or an array. */
  LDL(false, 0x183),
  /** Store to local memory: a spilled register or an array. */
  STL(false, 0x187),
  /** Multiply-add of f32. */
  FFMA(false, 0x023),
  /** Sum of f32. */
  FADD(false, 0x021),
  /** Product of f32. */
  FMUL(false, 0x020),
  /** Approximated function of the special function unit. */
  MUFU(false, 0x108),
  /**
   * Move to a register: {@code MOV}, {@code IMAD.MOV} with two zero factors, and {@code HFMA2} with
   * two zero factors, which loads a constant.
   */
  MOV(false, 0x002),
  /** Move to a uniform register. */
  UMOV(false, 0x082),
  /** Multiply-add of integers, also {@code IMAD.WIDE} and {@code IMAD.HI}; no moves. */
  IMAD(false, 0x024, 0x025, 0x027),
  /** Logical function of three operands. */
  LOP3(false, 0x012),
  /** Permutation of bytes. */
  PRMT(false, 0x016),
  /** Conversion of f32 to pairs of a narrower type. */
  F2FP(false, 0x03e),
  /** Branch. */
  BRA(false, Opcode.BRA),
  /** Barrier of a block. */
  BAR(false, 0x11d),
  /** Any other instruction, and opcodes that are not known here. */
  OTHER(false);

  private static final Map<Integer, InstructionClass> BY_OPERATION = new HashMap<>();

  static {
    for (var each : values()) {
      for (int operation : each.operations) {
        BY_OPERATION.put(operation, each);
      }
    }
  }

  private final boolean matrix;
  private final int[] operations;

  InstructionClass(boolean matrix, int... operations) {
    this.matrix = matrix;
    this.operations = operations;
  }

  /** Returns whether it multiplies matrices on the tensor cores. */
  public boolean isMatrix() {
    return matrix;
  }

  /** Returns the class of an operation, the low 9 bits of an opcode. */
  static InstructionClass of(int operation) {
    return BY_OPERATION.getOrDefault(operation, OTHER);
  }
}
