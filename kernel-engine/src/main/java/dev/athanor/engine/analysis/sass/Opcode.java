package dev.athanor.engine.analysis.sass;

/** Operations that the decoder looks into: the low 9 bits of an opcode. */
final class Opcode {

  static final int HFMA2 = 0x031;

  /** {@code HFMA2.MMA} up to sm_90; later targets have another instruction of this opcode. */
  static final int HFMA2_MMA = 0x035;

  static final int IMAD = 0x024;
  static final int BRA = 0x147;
  static final int BRX = 0x149;
  static final int JMP = 0x14a;
  static final int JMX = 0x14c;
  static final int EXIT = 0x14d;
  static final int RET = 0x150;
  static final int BRXU = 0x158;
  static final int KILL = 0x15b;

  /** An operation on an mbarrier. */
  static final int SYNCS = 0x1a7;

  /** {@code setmaxnreg}. */
  static final int USETMAXREG = 0x1c8;

  /** The whole opcode of the instruction that pads code. */
  static final int NOP = 0x918;

  private Opcode() {}
}
