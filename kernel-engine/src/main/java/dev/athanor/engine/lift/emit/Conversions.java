package dev.athanor.engine.lift.emit;

import dev.athanor.engine.lift.ir.ValueType;
import dev.athanor.engine.ptx.Operand.Immediate;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Type;

/** Conversions between number types, as Java's casts. */
final class Conversions {
  private final RegisterFile out;

  Conversions(RegisterFile out) {
    this.out = out;
  }

  void convert(Register d, ValueType to, Register from, ValueType origin) {
    if (origin.isFloating() && to.isInteger()) {
      truncate(d, to, from, origin);
    } else if (origin == ValueType.LONG && to == ValueType.INT) {
      out.emit("cvt.u32.u64", d, from);
    } else {
      boolean rounds =
          to.isFloating() && !(origin == ValueType.FLOAT && to == ValueType.DOUBLE);
      out.emit(
          "cvt%s.%s.%s".formatted(rounds ? ".rn" : "", to.ptx().word(), origin.ptx().word()),
          d,
          from);
    }
  }

  /**
   * Rounds to zero and saturates. NaN becomes 0, as in Java; the instruction does so only from f32
   * to s32 (PTX ISA 9.7.9.21).
   */
  private void truncate(Register d, ValueType to, Register from, ValueType origin) {
    var opcode = "cvt.rzi.%s.%s".formatted(to.ptx().word(), origin.ptx().word());
    if (origin == ValueType.FLOAT && to == ValueType.INT) {
      out.emit(opcode, d, from);
      return;
    }
    var number = out.result(to.ptx(), opcode, from);
    var nan = out.result(Type.PRED, "setp.nan." + origin.ptx().word(), from, from);
    out.emit(
        "selp." + to.ptx().word(),
        d,
        to == ValueType.LONG ? new Immediate(Type.S64, 0) : Immediate.of(0),
        number,
        nan);
  }
}
