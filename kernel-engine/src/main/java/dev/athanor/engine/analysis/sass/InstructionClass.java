package dev.athanor.engine.analysis.sass;

/**
 * What a machine instruction does, as far as the report tells instructions apart. A class is named
 * after the mnemonic of {@code nvdisasm} and covers all its modifiers.
 */
public enum InstructionClass {
  /** Matrix product of f16, bf16 or tf32. */
  HMMA,
  /** Matrix product of integers. */
  IMMA,
  /** Matrix product of fp8, fp6 or fp4. */
  QMMA,
  /** Matrix product of fp4 with block scales. */
  OMMA,
  /** Matrix product of f64. */
  DMMA,
  /** Warpgroup matrix product of f16, bf16 or tf32. */
  HGMMA,
  /** Warpgroup matrix product of integers. */
  IGMMA,
  /** Warpgroup matrix product of fp8. */
  QGMMA,
  /** Load of matrix fragments from shared memory. */
  LDSM,
  /** Load from shared memory. */
  LDS,
  /** Store to shared memory. */
  STS,
  /** Load from global memory. */
  LDG,
  /** Store to global memory. */
  STG,
  /** Asynchronous copy from global to shared memory. */
  LDGSTS,
  /** Load from local memory: a spilled register or an array. */
  LDL,
  /** Store to local memory: a spilled register or an array. */
  STL,
  /** Multiply-add of f32. */
  FFMA,
  /** Sum of f32. */
  FADD,
  /** Product of f32. */
  FMUL,
  /** Approximated function of the special function unit. */
  MUFU,
  /**
   * Move to a register: {@code MOV}, {@code IMAD.MOV} with two zero factors, and {@code HFMA2} with
   * two zero factors, which loads a constant.
   */
  MOV,
  /** Move to a uniform register. */
  UMOV,
  /** Multiply-add of integers, also {@code IMAD.WIDE} and {@code IMAD.HI}; no moves. */
  IMAD,
  /** Logical function of three operands. */
  LOP3,
  /** Permutation of bytes. */
  PRMT,
  /** Conversion of f32 to pairs of a narrower type. */
  F2FP,
  /** Branch. */
  BRA,
  /** Barrier of a block. */
  BAR,
  /** Any other instruction, and opcodes that are not known here. */
  OTHER;

  /** Returns whether it multiplies matrices on the tensor cores. */
  public boolean isMatrix() {
    return switch (this) {
      case HMMA, IMMA, QMMA, OMMA, DMMA, HGMMA, IGMMA, QGMMA -> true;
      default -> false;
    };
  }

  /** Returns the class of an operation, the low 9 bits of an opcode. */
  static InstructionClass of(int operation) {
    return switch (operation) {
      case 0x03c -> HMMA;
      case 0x037 -> IMMA;
      case 0x07a -> QMMA;
      case 0x07f -> OMMA;
      case 0x03f -> DMMA;
      case 0x1f0 -> HGMMA;
      case 0x1f1 -> IGMMA;
      case 0x1f3 -> QGMMA;
      case 0x03b -> LDSM;
      case 0x184 -> LDS;
      case 0x188 -> STS;
      case 0x181 -> LDG;
      case 0x186 -> STG;
      case 0x1ae -> LDGSTS;
      case 0x183 -> LDL;
      case 0x187 -> STL;
      case 0x023 -> FFMA;
      case 0x021 -> FADD;
      case 0x020 -> FMUL;
      case 0x108 -> MUFU;
      case 0x002 -> MOV;
      case 0x082 -> UMOV;
      case 0x024, 0x025, 0x027 -> IMAD;
      case 0x012 -> LOP3;
      case 0x016 -> PRMT;
      case 0x03e -> F2FP;
      case Opcode.BRA -> BRA;
      case 0x11d -> BAR;
      default -> OTHER;
    };
  }
}
