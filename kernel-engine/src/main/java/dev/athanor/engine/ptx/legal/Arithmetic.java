package dev.athanor.engine.ptx.legal;

import static dev.athanor.engine.ptx.RegisterClass.B16;
import static dev.athanor.engine.ptx.RegisterClass.B32;
import static dev.athanor.engine.ptx.RegisterClass.F32;
import static dev.athanor.engine.ptx.RegisterClass.PRED;
import static dev.athanor.engine.ptx.legal.Sequence.literal;

import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Immediate;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Type;

/** The replacements of conversions and arithmetic. */
final class Arithmetic {

  private Arithmetic() {}

  static void toBf16(Sequence out) {
    out.guarded("cvt.u16.u32", out.operand(0), bf16(out, out.operand(1)));
  }

  /**
   * Rounds the bits of an f32 to the nearest bf16, to even if both are as near: adds half of the
   * last place, less one if the last place is even, and truncates. NaN becomes the canonical NaN.
   */
  static Register bf16(Sequence out, Operand value) {
    var bits = out.compute(B32, "mov.b32", value);
    var last = out.compute(B32, "bfe.u32", bits, literal(16), literal(1));
    var raised = out.compute(B32, "add.u32", bits, literal(0x7FFF));
    var rounded = out.compute(B32, "add.u32", raised, last);
    var top = out.compute(B32, "shr.u32", rounded, literal(16));
    var isNaN = out.compute(PRED, "setp.nan.f32", value, value);
    return out.compute(B32, "selp.b32", literal(0x7FFF), top, isNaN);
  }

  static Register f16(Sequence out, Operand value) {
    var half = out.compute(B16, "cvt.rn.f16.f32", value);
    return out.compute(B32, "cvt.u32.u16", half);
  }

  /** Converts two e5m2, which are the upper halves of f16. */
  static void fromE5m2(Sequence out) {
    var bytes = bytes(out);
    canonical(out, bytes, bytes, 0x7C00);
  }

  /** Converts two e4m3: moves exponent and fraction to those of f16, whose bias is greater by 8. */
  static void fromE4m3(Sequence out) {
    var bytes = bytes(out);
    var sign = out.compute(B32, "and.b32", bytes, literal(0x8000_8000));
    var magnitude = out.compute(B32, "and.b32", bytes, literal(0x7F00_7F00));
    var moved = out.compute(B32, "shr.u32", magnitude, literal(1));
    var small = out.compute(B32, "or.b32", sign, moved);
    var number =
        out.compute(B32, "mul.rn.f16x2", small, out.compute(B32, "mov.b32", literal(0x5C00_5C00)));
    canonical(out, number, bytes, 0x7EFF);
  }

  /** Returns two bytes in the upper halves of 16 bits each. */
  private static Register bytes(Sequence out) {
    var bytes = out.compute(B32, "cvt.u32.u16", out.operand(1));
    return out.compute(B32, "prmt.b32", bytes, literal(0), literal(0x1404));
  }

  /**
   * Writes two f16, each the canonical NaN where the magnitude of the byte in the upper half of 16
   * bits exceeds a limit.
   */
  private static void canonical(Sequence out, Register numbers, Register bytes, int limit) {
    var low = maskOfNaN(out, bytes, 0, limit);
    var high = maskOfNaN(out, bytes, 16, limit);
    var mask = out.compute(B32, "or.b32", low, high);
    var kept = out.compute(B32, "not.b32", mask);
    var number = out.compute(B32, "and.b32", numbers, kept);
    var nan = out.compute(B32, "and.b32", mask, literal(0x7FFF_7FFF));
    out.guarded("or.b32", out.operand(0), number, nan);
  }

  private static Register maskOfNaN(Sequence out, Register bytes, int from, int limit) {
    var magnitude = out.compute(B32, "bfe.u32", bytes, literal(from), literal(15));
    var isNaN = out.compute(PRED, "setp.gt.u32", magnitude, literal(limit));
    return out.compute(B32, "selp.b32", literal(0xFFFF << from), literal(0), isNaN);
  }

  /** Converts one f32 to bits in the lower half of a register. */
  interface Narrowing {
    Register apply(Sequence out, Operand value);
  }

  /**
   * Rounds the bits of an f32 to the nearest tf32, away from 0 if two are as near: adds half of the
   * last place and truncates. Infinity and NaN are only truncated.
   */
  static void toTf32(Sequence out) {
    var bits = out.compute(B32, "mov.b32", out.operand(1));
    var magnitude = out.compute(B32, "and.b32", bits, literal(0x7FFF_FFFF));
    var isFinite = out.compute(PRED, "setp.lt.u32", magnitude, literal(0x7F80_0000));
    var half = out.compute(B32, "selp.b32", literal(0x1000), literal(0), isFinite);
    var raised = out.compute(B32, "add.u32", bits, half);
    out.guarded("and.b32", out.operand(0), raised, literal(0xFFFF_E000));
  }

  /** Converts two f32, the first to the upper half. */
  static void pack(Sequence out, Narrowing narrowing) {
    var high = narrowing.apply(out, out.operand(1));
    var low = narrowing.apply(out, out.operand(2));
    out.guarded("prmt.b32", out.operand(0), low, high, literal(0x5410));
  }

  /** Returns NaN if an operand is NaN, where {@code max} would return the other. */
  static void orNaN(Sequence out, String opcode) {
    var a = out.operand(1);
    var b = out.operand(2);
    var number = out.compute(F32, opcode, a, b);
    var isNaN = out.compute(PRED, "setp.nan.f32", a, b);
    out.guarded("selp.f32", out.operand(0), new Immediate(Type.F32, 0x7FFF_FFFFL), number, isNaN);
  }

  static void fmaOfBf16Pairs(Sequence out) {
    var low = fmaOfBf16(out, false);
    var high = fmaOfBf16(out, true);
    out.guarded("prmt.b32", out.operand(0), low, high, literal(0x5410));
  }

  /**
   * Computes one half in f32. The sum is rounded to odd, so that the second rounding, to bf16, is
   * that of the exact result (Boldo and Melquiond, Emulation of a FMA and Correctly Rounded Sums).
   */
  private static Register fmaOfBf16(Sequence out, boolean high) {
    var a = half(out, out.operand(1), high);
    var b = half(out, out.operand(2), high);
    var c = half(out, out.operand(3), high);
    var down = out.compute(F32, "fma.rm.f32", a, b, c);
    var up = out.compute(F32, "fma.rp.f32", a, b, c);
    var truncated = out.compute(B32, "mov.b32", out.compute(F32, "fma.rz.f32", a, b, c));
    var isInexact = out.compute(PRED, "setp.ne.f32", down, up);
    var sticky = out.compute(B32, "selp.b32", literal(1), literal(0), isInexact);
    var odd = out.compute(B32, "or.b32", truncated, sticky);
    return bf16(out, out.compute(F32, "mov.b32", odd));
  }

  static Register half(Sequence out, Operand pair, boolean high) {
    var bits =
        high
            ? out.compute(B32, "and.b32", pair, literal(0xFFFF_0000))
            : out.compute(B32, "shl.b32", pair, literal(16));
    return out.compute(F32, "mov.b32", bits);
  }
}
