package dev.athanor.engine.author;

import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.RegisterClass;
import dev.athanor.engine.ptx.Type;
import java.util.List;
import java.util.function.Supplier;

/**
 * A value that a thread holds: a number, or the bits of one. It never changes; only a variable
 * does, of which each operation reads what it holds where the operation is written.
 */
public class Value {
  final KernelBuilder k;
  private final Type type;
  private final Supplier<? extends Operand> operand;

  /** The value that an operand has here. */
  Value(KernelBuilder k, Type type, Operand operand) {
    this(k, type, k.held(operand));
  }

  /** What the operand is that is given wherever this is used. */
  Value(KernelBuilder k, Type type, Supplier<? extends Operand> operand) {
    this.k = k;
    this.type = type;
    this.operand = operand;
  }

  public Type type() {
    return type;
  }

  Operand operand() {
    return operand.get();
  }

  /** This number as f32, or as f64 where it is that. Integers beyond 2^24 are rounded. */
  public Real widen() {
    return switch (type) {
      case F32, F64 -> new Real(k, type, operand());
      case F16 -> new Real(k, Type.F32, k.result(Type.F32, "cvt.f32.f16", operand()));
      case BF16 -> {
        // a bf16 is the upper half of an f32; the conversion itself is newer than the oldest target
        var zero = k.pure(Type.B16, "mov.b16", Operand.Immediate.of(0));
        var bits = k.result(Type.B32, "mov.b32", Operand.Vector.of(List.of(zero, operand())));
        yield new Real(k, Type.F32, k.result(Type.F32, "mov.b32", bits));
      }
      case S8, U8, S16, U16, S32, U32 ->
          new Real(k, Type.F32, k.result(Type.F32, "cvt.rn.f32." + type.word(), operand()));
      default -> throw new IllegalStateException("." + type.word() + " is no number");
    };
  }

  /** This integer of at most 32 bits, extended by its sign or by zeros as its type says. */
  public Int integer() {
    return switch (type) {
      case S32, U32, B32 -> new Int(k, k.register(operand()), 0);
      case S8, S16 -> new Int(k, k.result(Type.S32, "cvt.s32." + type.word(), operand()), 0);
      case U8, U16 -> new Int(k, k.result(Type.U32, "cvt.u32." + type.word(), operand()), 0);
      default -> throw new IllegalStateException("." + type.word() + " is no 32-bit integer");
    };
  }

  /** This integer, extended to 64 bits by its sign or by zeros as its type says. */
  public Wide wide() {
    if (operand() instanceof Register register && type.registerClass() == RegisterClass.B64) {
      return new Wide(k, register);
    }
    var extended = type == Type.U32 || type == Type.U16 || type == Type.U8 ? "u64" : "s64";
    return new Wide(k, k.result(Type.S64, "cvt.%s.%s".formatted(extended, type.word()), operand()));
  }

  /** The bits of this value of at most 32 bits, zeros above them. */
  public Int bits() {
    return switch (type.registerClass()) {
      case B32 -> new Int(k, k.register(operand()), 0);
      case F32 -> new Int(k, k.result(Type.B32, "mov.b32", operand()), 0);
      case B16 -> new Int(k, k.result(Type.U32, "cvt.u32.u16", operand()), 0);
      default ->
          throw new IllegalStateException("the bits of ." + type.word() + " do not fit 32 bits");
    };
  }

  /** The same bits, as of another type of the same width. */
  public Value as(Type other) {
    if (other.registerClass() == type.registerClass()) {
      return other == Type.F32 || other == Type.F64
          ? new Real(k, other, operand())
          : new Value(k, other, operand());
    }
    if (other.registerClass().bits() != type.registerClass().bits()) {
      throw new IllegalStateException(
          ".%s is not as wide as .%s".formatted(other.word(), type.word()));
    }
    var moved = k.result(other, "mov.b" + type.registerClass().bits(), operand());
    return other == Type.F32 || other == Type.F64
        ? new Real(k, other, moved)
        : new Value(k, other, moved);
  }

  /** The two 16-bit values that this 32-bit value is made of, the low half first. */
  public List<Value> halves(Type element) {
    var low = k.register(element);
    var high = k.register(element);
    k.emit("mov.b32", Operand.Vector.of(List.of(low, high)), operand());
    return List.of(new Value(k, element, low), new Value(k, element, high));
  }

  /** This value in the lane whose number differs from the own one in the bits of {@code mask}. */
  public Value fromLaneXor(int mask) {
    return shuffle("bfly", Operand.Immediate.of(mask), 31);
  }

  /** This value in the given lane, the same for all or another for each. */
  public Value fromLane(Int lane) {
    return shuffle("idx", lane.operand(), 31);
  }

  /** This value in the lane {@code by} below, and the own one in the first lanes. */
  public Value fromLaneBelow(int by) {
    return shuffle("up", Operand.Immediate.of(by), 0);
  }

  private Value shuffle(String mode, Operand lane, int clamp) {
    k.requireWholeWarps("values are exchanged");
    if (type.registerClass() == RegisterClass.F64 || type.registerClass() == RegisterClass.B64) {
      var low = k.register(Type.B32);
      var high = k.register(Type.B32);
      k.emit("mov.b64", Operand.Vector.of(List.of(low, high)), operand());
      var parts =
          List.<Operand>of(
              shuffled(Type.B32, low, mode, lane, clamp),
              shuffled(Type.B32, high, mode, lane, clamp));
      var whole = k.result(type, "mov.b64", Operand.Vector.of(parts));
      return type == Type.F64 ? new Real(k, type, whole) : new Value(k, type, whole);
    }
    if (type.registerClass() == RegisterClass.B16) {
      throw new IllegalStateException(
          "lanes exchange 32 or 64 bits, got ." + type.word() + "; widen it or take its bits");
    }
    var d = shuffled(type, operand(), mode, lane, clamp);
    return type == Type.F32 ? new Real(k, type, d) : new Value(k, type, d);
  }

  private Operand shuffled(Type of, Operand source, String mode, Operand lane, int clamp) {
    return k.result(
        of,
        "shfl.sync." + mode + ".b32",
        source,
        lane,
        Operand.Immediate.of(clamp),
        Operand.Immediate.of(-1));
  }

  /** An integer variable to which {@link KernelBuilder#mma} adds. */
  public static final class Accumulator extends Value {

    Accumulator(KernelBuilder k, Register register) {
      super(k, Type.S32, () -> register);
    }
  }
}
