package dev.athanor.engine.author;

import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Type;

/** A value that a thread holds: a number, or the bits of one. */
public class Value {
  final KernelBuilder k;
  private final Type type;
  private final Operand operand;

  Value(KernelBuilder k, Type type, Operand operand) {
    this.k = k;
    this.type = type;
    this.operand = operand;
  }

  public Type type() {
    return type;
  }

  Operand operand() {
    return operand;
  }

  /** This number as f32, or as f64 where it is that. */
  public Real widen() {
    return switch (type) {
      case F32, F64 -> new Real(k, type, operand);
      case F16 -> new Real(k, Type.F32, k.result(Type.F32, "cvt.f32.f16", operand));
      case BF16 -> {
        // a bf16 is the upper half of an f32; the conversion itself is newer than the oldest target
        var zero = k.pure(Type.B16, "mov.b16", Operand.Immediate.of(0));
        var bits =
            k.result(Type.B32, "mov.b32", Operand.Vector.of(java.util.List.of(zero, operand)));
        yield new Real(k, Type.F32, k.result(Type.F32, "mov.b32", bits));
      }
      default ->
          throw new IllegalStateException("." + type.word() + " is no floating-point number");
    };
  }
}
