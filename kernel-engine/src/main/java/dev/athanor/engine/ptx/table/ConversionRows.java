package dev.athanor.engine.ptx.table;

import static dev.athanor.engine.ptx.Semantics.LaneOperation.CONVERSION;
import static dev.athanor.engine.ptx.table.Row.pure;

import dev.athanor.engine.ptx.InstructionForm;
import dev.athanor.engine.ptx.Modifiers;
import dev.athanor.engine.ptx.Type;
import java.util.List;

/** Conversions (PTX ISA 9.7.9.21). */
final class ConversionRows {

  // spotless:off
  static final List<InstructionForm> ALL =
      Row.forms(
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt.<u8|u16|u32|u64|s8|s16|s32|s64>.<s8|s16|s32|s64> d:0, a:1", "identity"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt.<u8|u16|u32|u64|s8|s16|s32|s64>.<u8|u16|u32|u64> d:0, a:1", "zeroExtend"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt.sat.<u8|u16|u32|u64|s8|s16|s32|s64>.<s8|s16|s32|s64> d:0, a:1", ConversionRows::narrows, "clamp"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt.sat.<u8|u16|u32|u64|s8|s16|s32|s64>.<u8|u16|u32|u64> d:0, a:1", ConversionRows::narrows, "clampUnsigned"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt.rn{.ftz}{.sat}.f32.<s8|s16|s32|s64> d:0, a:1", "toFloat"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt.rn{.sat}.f64.<s8|s16|s32|s64> d:0, a:1", "toDouble"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt.<rz|rm|rp>{.ftz}{.sat}.f32.<s8|s16|s32|s64> d:0, a:1", "toFloatDirected"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt.<rz|rm|rp>{.sat}.f64.<s8|s16|s32|s64> d:0, a:1", "toDoubleDirected"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt.<rn|rz|rm|rp>{.sat}.f16.<s8|s16|s32|s64> d:0, a:1", "toDoubleToOdd"),
          pure(CONVERSION, "9.7.9.21", "7.8", 90, "cvt.<rn|rz|rm|rp>.bf16.<s16|s32|s64> d:0, a:1", "toDoubleToOdd"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt.rn{.ftz}{.sat}.f32.<u8|u16|u32|u64> d:0, a:1", "toFloatUnsigned"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt.rn{.sat}.f64.<u8|u16|u32|u64> d:0, a:1", "toDoubleUnsigned"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt.<rz|rm|rp>{.ftz}{.sat}.f32.<u8|u16|u32|u64> d:0, a:1", "toFloatDirectedUnsigned"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt.<rz|rm|rp>{.sat}.f64.<u8|u16|u32|u64> d:0, a:1", "toDoubleDirectedUnsigned"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt.<rn|rz|rm|rp>{.sat}.f16.<u8|u16|u32|u64> d:0, a:1", "toDoubleToOddUnsigned"),
          pure(CONVERSION, "9.7.9.21", "7.8", 90, "cvt.<rn|rz|rm|rp>.bf16.<u16|u32|u64> d:0, a:1", "toDoubleToOddUnsigned"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt.<rni|rzi|rmi|rpi>{.ftz}{.sat}.s32.f32 d:0, a:1", "toInt"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt.<rni|rzi|rmi|rpi>{.ftz}{.sat}.u32.f32 d:0, a:1", "toIntUnsigned"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt.<rni|rzi|rmi|rpi>{.ftz}{.sat}.s64.f32 d:0, a:1", "toLong"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt.<rni|rzi|rmi|rpi>{.ftz}{.sat}.<u8|u16|u64|s8|s16>.f32 d:0, a:1", "toInteger"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt.<rni|rzi|rmi|rpi>{.sat}.s32.f64 d:0, a:1", "toInt"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt.<rni|rzi|rmi|rpi>{.sat}.s64.f64 d:0, a:1", "toLong"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt.<rni|rzi|rmi|rpi>{.sat}.<u8|u16|u32|u64|s8|s16>.f64 d:0, a:1", "toInteger"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt.<rni|rzi|rmi|rpi>{.sat}.<u8|u16|u32|u64|s8|s16|s32|s64>.f16 d:0, a:1", "toInteger"),
          pure(CONVERSION, "9.7.9.21", "7.8", 90, "cvt.<rni|rzi|rmi|rpi>.<u16|u32|u64|s16|s32|s64>.bf16 d:0, a:1", "toInteger"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt{.sat}.f32.f32 d:0, a:1", "identity"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt.ftz{.sat}.f32.f32 d:0, a:1", "canonical"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt{.sat}.f64.f64 d:0, a:1", "identity"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt{.sat}.f16.f16 d:0, a:1", "identity"),
          pure(CONVERSION, "9.7.9.21", "7.8", 90, "cvt.bf16.bf16 d:0, a:1", "identity"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt.<rni|rzi|rmi|rpi>{.ftz}{.sat}.f32.f32 d:0, a:1", "integral"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt.<rni|rzi|rmi|rpi>{.sat}.f64.f64 d:0, a:1", "integral"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt.<rni|rzi|rmi|rpi>{.sat}.f16.f16 d:0, a:1", "integral"),
          pure(CONVERSION, "9.7.9.21", "7.8", 90, "cvt.<rni|rzi|rmi|rpi>.bf16.bf16 d:0, a:1", "integral"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt{.sat}.f64.f32 d:0, a:1", "widen"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt.ftz{.sat}.f64.f32 d:0, a:1", "canonical>widen"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt.rn{.ftz}{.sat}.f32.f64 d:0, a:1", "narrow"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt.<rz|rm|rp>{.ftz}{.sat}.f32.f64 d:0, a:1", "narrowDirected"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt{.ftz}{.sat}.f32.f16 d:0, a:1", "canonical"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt{.sat}.f64.f16 d:0, a:1", "widenHalf"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt.<rn|rz|rm|rp>{.ftz}{.sat}.f16.f32 d:0, a:1", "identity"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt.<rn|rz|rm|rp>.f16.f64 d:0, a:1", "narrowHalf"),
          pure(CONVERSION, "9.7.9.21", "1.0", 20, "cvt.<rn|rz|rm|rp>.sat.f16.f64 d:0, a:1", "identity"),
          pure(CONVERSION, "9.7.9.21", "7.0", 80, "cvt.<rn|rz>.relu.f16.f32 d:0, a:1", "identity"),
          pure(CONVERSION, "9.7.9.21", "7.0", 80, "cvt.<rn|rz>{.relu}.bf16.f32 d:0, a:1", "identity"),
          pure(CONVERSION, "9.7.9.21", "7.0", 80, "cvt.<rm|rp>.bf16.f32 d:0, a:1", "identity"),
          pure(CONVERSION, "9.7.9.21", "7.1", 80, "cvt{.<rn|rz|rm|rp>}.f32.bf16 d:0, a:1", "identity"),
          pure(CONVERSION, "9.7.9.21", "7.8", 90, "cvt{.<rn|rz|rm|rp>}.f64.bf16 d:0, a:1", "widenHalf"),
          pure(CONVERSION, "9.7.9.21", "7.8", 90, "cvt{.<rn|rz|rm|rp>}.bf16.f16 d:0, a:1", "identity"),
          pure(CONVERSION, "9.7.9.21", "7.8", 90, "cvt.<rn|rz|rm|rp>.bf16.f64 d:0, a:1", "narrowHalf"),
          pure(CONVERSION, "9.7.9.21", "7.8", 90, "cvt{.<rn|rz|rm|rp>}.f16.bf16 d:0, a:1", "identity"),
          pure(CONVERSION, "9.7.9.21", "8.1", 70, "cvt.<rn|rz>.satfinite.f16.f32 d:0, a:1", "identity"),
          pure(CONVERSION, "9.7.9.21", "8.1", 80, "cvt.<rn|rz>.relu.satfinite.f16.f32 d:0, a:1", "identity"),
          pure(CONVERSION, "9.7.9.21", "8.1", 80, "cvt.<rn|rz>{.relu}.satfinite.bf16.f32 d:0, a:1", "identity"),
          pure(CONVERSION, "9.7.9.21", "7.0", 80, "cvt.rna.tf32.f32 d:0, a:1", "toTf32"),
          pure(CONVERSION, "9.7.9.21", "8.1", 80, "cvt.rna.satfinite.tf32.f32 d:0, a:1", "toTf32StepBack"),
          pure(CONVERSION, "9.7.9.21", "7.8", 90, "cvt.<rn|rz>.tf32.f32 d:0, a:1", "toTf32"),
          pure(CONVERSION, "9.7.9.21", "7.8", 90, "cvt.<rn|rz>.relu.tf32.f32 d:0, a:1", "toTf32Relu"),
          pure(CONVERSION, "9.7.9.21", "8.6", 100, "cvt.<rn|rz>.satfinite.tf32.f32 d:0, a:1", "toTf32Finite"),
          pure(CONVERSION, "9.7.9.21", "8.6", 100, "cvt.<rn|rz>.relu.satfinite.tf32.f32 d:0, a:1", "toTf32FiniteRelu"),
          pure(CONVERSION, "9.7.9.21", "7.0", 80, "cvt.<rn|rz>{.relu}.<f16x2|bf16x2>.f32 d:0, a:1, b:1", "pairOf"),
          pure(CONVERSION, "9.7.9.21", "8.1", 80, "cvt.<rn|rz>{.relu}.satfinite.<f16x2|bf16x2>.f32 d:0, a:1, b:1", "pairOf"),
          pure(CONVERSION, "9.7.9.21", "8.1", 89, "cvt.rn.satfinite{.relu}.<e4m3x2|e5m2x2>.f32 d:0, a:1, b:1", "pairOf").since("7.8", 90),
          pure(CONVERSION, "9.7.9.21", "8.1", 89, "cvt.rn.satfinite{.relu}.<e4m3x2|e5m2x2>.f16x2 d:0, a:1", "identity").since("7.8", 90),
          pure(CONVERSION, "9.7.9.21", "8.1", 89, "cvt.rn{.relu}.f16x2.<e4m3x2|e5m2x2> d:0, a:1", "identity").since("7.8", 90),
          pure(CONVERSION, "9.7.9.22", "6.5", 72, "cvt.pack.sat.<u16|s16>.s32 d:u32, a, b", "packHalves"),
          pure(CONVERSION, "9.7.9.22", "6.5", 72, "cvt.pack.sat.<u8|s8>.s32.b32 d:u32, a:s32, b:s32, c:u32", "packBytes"));
  // spotless:on

  /**
   * Returns whether the source type has values outside the destination type; only then is {@code
   * .sat} legal.
   */
  private static boolean narrows(Modifiers modifiers) {
    var to = modifiers.types().getFirst();
    var from = modifiers.types().getLast();
    boolean toSigned = to.kind() == Type.Kind.SIGNED;
    return from.kind() == Type.Kind.SIGNED
        ? !toSigned || to.bits() < from.bits()
        : to.bits() < from.bits() || (toSigned && to.bits() == from.bits());
  }

  private ConversionRows() {}
}
