package dev.athanor.engine.lift.intrinsic;

import dev.athanor.engine.lift.ir.Instructions;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Immediate;
import dev.athanor.engine.ptx.Type;
import java.util.List;

/** Instructions of the fast functions of {@code Gpu}, and conversions of 16-bit floats. */
final class Approximations {
  private static final Immediate LOG2_E = Immediate.of((float) (1 / Math.log(2)));
  private static final Immediate LN_2 = Immediate.of((float) Math.log(2));

  private Approximations() {}

  static void exp(Instructions out, Operand d, List<Operand> x) {
    out.emit("ex2.approx.f32", d, out.result(Type.F32, "mul.rn.f32", x.getFirst(), LOG2_E));
  }

  static void log(Instructions out, Operand d, List<Operand> x) {
    out.emit("mul.rn.f32", d, out.result(Type.F32, "lg2.approx.f32", x.getFirst()), LN_2);
  }

  static void fromHalf(Instructions out, Operand d, List<Operand> x) {
    out.emit("cvt.f32.f16", d, out.result(Type.B16, "cvt.u16.u32", x.getFirst()));
  }

  static void toHalf(Instructions out, Operand d, List<Operand> x) {
    out.emit("cvt.s32.s16", d, out.result(Type.B16, "cvt.rn.f16.f32", x.getFirst()));
  }

  static void fromBfloat16(Instructions out, Operand d, List<Operand> x) {
    out.emit("mov.b32", d, out.result(Type.B32, "shl.b32", x.getFirst(), Immediate.of(16)));
  }

  static void toBfloat16(Instructions out, Operand d, List<Operand> x) {
    out.emit("cvt.s32.s16", d, out.result(Type.B16, "cvt.rn.bf16.f32", x.getFirst()));
  }
}
