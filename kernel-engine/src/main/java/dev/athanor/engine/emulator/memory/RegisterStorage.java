package dev.athanor.engine.emulator.memory;

import dev.athanor.engine.ptx.Operand.Immediate;
import dev.athanor.engine.ptx.RegisterClass;
import dev.athanor.engine.ptx.Type;

/**
 * The storage of a register in all lanes: an array with an element per lane, or a mask per warp.
 */
public enum RegisterStorage {
  INT(int.class),
  LONG(long.class),
  FLOAT(float.class),
  DOUBLE(double.class),
  /** Predicates: bit {@code l} of element {@code w} is lane {@code l} of warp {@code w}. */
  MASK(boolean.class);

  private final Class<?> carrier;

  RegisterStorage(Class<?> carrier) {
    this.carrier = carrier;
  }

  public static RegisterStorage of(RegisterClass registerClass) {
    return switch (registerClass) {
      case PRED -> MASK;
      case B16, B32 -> INT;
      case B64 -> LONG;
      case F32 -> FLOAT;
      case F64 -> DOUBLE;
    };
  }

  /** The Java type of one lane. */
  public Class<?> carrier() {
    return carrier;
  }

  /** Returns a literal as the boxed value of one lane of a register for a type. */
  public static Object scalar(Immediate literal, Type type) {
    long bits = literal.bits();
    return switch (of(type.registerClass())) {
      case MASK -> bits != 0;
      case INT -> (int) bits;
      case LONG -> bits;
      case FLOAT ->
          literal.type() == Type.F64
              ? (float) Double.longBitsToDouble(bits)
              : Float.intBitsToFloat((int) bits);
      case DOUBLE ->
          literal.type() == Type.F32
              ? (double) Float.intBitsToFloat((int) bits)
              : Double.longBitsToDouble(bits);
    };
  }
}
