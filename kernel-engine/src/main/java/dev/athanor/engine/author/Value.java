package dev.athanor.engine.author;

import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.RegisterClass;
import dev.athanor.engine.ptx.Type;
import java.util.List;
import java.util.function.Supplier;

/**
 * A value of a thread: a number, or raw bits. Values are immutable; only variables change. An
 * operation reads the value that a variable has where the operation is written.
 */
public class Value {
  final BodyEmitter emitter;
  private final Type type;
  private final Supplier<? extends Operand> operand;

  /** Captures the value that an operand has here. */
  Value(BodyEmitter emitter, Type type, Operand operand) {
    this(emitter, type, emitter.capture(operand));
  }

  /** A value whose operand is supplied at each use. */
  Value(BodyEmitter emitter, Type type, Supplier<? extends Operand> operand) {
    this.emitter = emitter;
    this.type = type;
    this.operand = operand;
  }

  public Type type() {
    return type;
  }

  Operand operand() {
    return operand.get();
  }

  /** Returns this number as f32, or unchanged if it is f64. Integers beyond 2^24 are rounded. */
  public Real widen() {
    return switch (type) {
      case F32, F64 -> new Real(emitter, type, operand());
      case F16 -> new Real(emitter, Type.F32, emitter.result(Type.F32, "cvt.f32.f16", operand()));
      case BF16 -> {
        // a bf16 is the upper half of an f32; the oldest target lacks the conversion
        var zero = emitter.pure(Type.B16, "mov.b16", Operand.Immediate.of(0));
        var bits = emitter.result(Type.B32, "mov.b32", Operand.Vector.of(List.of(zero, operand())));
        yield new Real(emitter, Type.F32, emitter.result(Type.F32, "mov.b32", bits));
      }
      case E4M3, E5M2 -> {
        // there are conversions of pairs only; the upper byte of this one is zero
        var opcode = "cvt.rn.f16x2.%sx2".formatted(type.word());
        var pair = new Value(emitter, Type.B32, emitter.result(Type.B32, opcode, operand()));
        yield pair.halves(Type.F16).getFirst().widen();
      }
      case S8, U8, S16, U16, S32, U32 ->
          new Real(
              emitter, Type.F32, emitter.result(Type.F32, "cvt.rn.f32." + type.word(), operand()));
      default -> throw new IllegalStateException("." + type.word() + " is not a number");
    };
  }

  /** Returns this integer of at most 32 bits, sign- or zero-extended according to its type. */
  public Int integer() {
    return switch (type) {
      case S32, U32, B32 -> new Int(emitter, emitter.register(operand()), 0);
      case S8, S16 ->
          new Int(emitter, emitter.result(Type.S32, "cvt.s32." + type.word(), operand()), 0);
      case U8, U16 ->
          new Int(emitter, emitter.result(Type.U32, "cvt.u32." + type.word(), operand()), 0);
      default ->
          throw new IllegalStateException(
              "." + type.word() + " is not an integer of at most 32 bits");
    };
  }

  /** Returns this integer, sign- or zero-extended to 64 bits according to its type. */
  public Wide wide() {
    if (operand() instanceof Register register && type.registerClass() == RegisterClass.B64) {
      return new Wide(emitter, register);
    }
    var extended = type == Type.U32 || type == Type.U16 || type == Type.U8 ? "u64" : "s64";
    return new Wide(
        emitter, emitter.result(Type.S64, "cvt.%s.%s".formatted(extended, type.word()), operand()));
  }

  /** Returns the bits of this value of at most 32 bits, zero-extended. */
  public Int bits() {
    return switch (type.registerClass()) {
      case B32 -> new Int(emitter, emitter.register(operand()), 0);
      case F32 -> new Int(emitter, emitter.result(Type.B32, "mov.b32", operand()), 0);
      case B16 -> new Int(emitter, emitter.result(Type.U32, "cvt.u32.u16", operand()), 0);
      default ->
          throw new IllegalStateException("the bits of ." + type.word() + " do not fit 32 bits");
    };
  }

  /** Reinterprets the bits as another type of the same width. */
  public Value as(Type other) {
    if (other.registerClass() == type.registerClass()) {
      return other == Type.F32 || other == Type.F64
          ? new Real(emitter, other, operand())
          : new Value(emitter, other, operand());
    }
    if (other.registerClass().bits() != type.registerClass().bits()) {
      throw new IllegalStateException(
          ".%s is not as wide as .%s".formatted(other.word(), type.word()));
    }
    var moved = emitter.result(other, "mov.b" + type.registerClass().bits(), operand());
    return other == Type.F32 || other == Type.F64
        ? new Real(emitter, other, moved)
        : new Value(emitter, other, moved);
  }

  /** Splits this 32-bit value into two 16-bit values, the low half first. */
  public List<Value> halves(Type element) {
    var low = emitter.register(element);
    var high = emitter.register(element);
    emitter.emit("mov.b32", Operand.Vector.of(List.of(low, high)), operand());
    return List.of(new Value(emitter, element, low), new Value(emitter, element, high));
  }

  /** Returns the value of the lane whose index is this lane's index xor {@code mask}. */
  public Value fromLaneXor(int mask) {
    return shuffle("bfly", Operand.Immediate.of(mask), 31);
  }

  /** Returns the value of a lane, which may differ per lane. */
  public Value fromLane(Int lane) {
    return shuffle("idx", lane.operand(), 31);
  }

  /** Returns the value of the lane {@code by} below; the first lanes keep their own. */
  public Value fromLaneBelow(int by) {
    return shuffle("up", Operand.Immediate.of(by), 0);
  }

  /** Packs two 16-bit values into one register, the first in the low half. */
  static Value pack(Value low, Value high) {
    var emitter = low.emitter;
    var halves = Operand.Vector.of(List.of(low.operand(), high.operand()));
    return new Value(emitter, Type.B32, emitter.result(Type.B32, "mov.b32", halves));
  }

  /** Returns the operands of values as a vector operand. */
  static Operand.Vector vector(List<? extends Value> values) {
    return Operand.Vector.of(values.stream().map(Value::operand).toList());
  }

  private Value shuffle(String mode, Operand lane, int clamp) {
    emitter.requireFullWarps("values are exchanged");
    if (type.registerClass() == RegisterClass.F64 || type.registerClass() == RegisterClass.B64) {
      var low = emitter.register(Type.B32);
      var high = emitter.register(Type.B32);
      emitter.emit("mov.b64", Operand.Vector.of(List.of(low, high)), operand());
      var parts =
          List.<Operand>of(
              shuffled(Type.B32, low, mode, lane, clamp),
              shuffled(Type.B32, high, mode, lane, clamp));
      var whole = emitter.result(type, "mov.b64", Operand.Vector.of(parts));
      return type == Type.F64 ? new Real(emitter, type, whole) : new Value(emitter, type, whole);
    }
    if (type.registerClass() == RegisterClass.B16) {
      throw new IllegalStateException(
          "lanes exchange 32 or 64 bits, got ."
              + type.word()
              + "; widen the value or take its bits");
    }
    var d = shuffled(type, operand(), mode, lane, clamp);
    return type == Type.F32 ? new Real(emitter, type, d) : new Value(emitter, type, d);
  }

  private Operand shuffled(Type of, Operand source, String mode, Operand lane, int clamp) {
    return emitter.result(
        of,
        "shfl.sync." + mode + ".b32",
        source,
        lane,
        Operand.Immediate.of(clamp),
        Operand.Immediate.of(-1));
  }

  /** A mutable value. An operation reads the value it has where the operation is written. */
  public static final class Variable extends Value {

    Variable(BodyEmitter emitter, Type type, Register register) {
      super(emitter, type, () -> register);
    }

    public void set(Value value) {
      if (value.type() != type()) {
        throw new IllegalArgumentException(
            "%s: cannot set a variable of .%s to a value of .%s; convert it, or reinterpret its bits with as()"
                .formatted(BodyEmitter.here(), type().word(), value.type().word()));
      }
      emitter.emit("mov." + type().registerClass().word(), operand(), value.operand());
    }
  }

  /** An integer variable that {@link KernelBuilder#mma} accumulates into. */
  public static final class Accumulator extends Value {

    Accumulator(BodyEmitter emitter, Register register) {
      super(emitter, Type.S32, () -> register);
    }
  }
}
