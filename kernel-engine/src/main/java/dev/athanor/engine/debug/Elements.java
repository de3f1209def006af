package dev.athanor.engine.debug;

import dev.athanor.engine.debug.expression.JavaType;
import dev.athanor.engine.emulator.memory.Registers;
import dev.athanor.engine.ptx.RegisterClass;
import dev.athanor.engine.ptx.Type;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Optional;

/** The text of values in registers and memory. */
public final class Elements {

  private static final ValueLayout.OfShort SHORT =
      ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfInt INT =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfLong LONG =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private Elements() {}

  /** Returns the bits of an element in memory, zero-extended. */
  public static long bits(MemorySegment memory, long offset, Type type) {
    return switch (type.bytes()) {
      case 1 -> memory.get(ValueLayout.JAVA_BYTE, offset) & 0xFFL;
      case 2 -> memory.get(SHORT, offset) & 0xFFFFL;
      case 4 -> memory.get(INT, offset) & 0xFFFF_FFFFL;
      case 8 -> memory.get(LONG, offset);
      default -> throw new IllegalArgumentException(type.word() + " is no type of elements");
    };
  }

  /** Returns the text of a value of a type. */
  public static String text(Type type, long bits) {
    return switch (type) {
      case PRED -> String.valueOf(bits != 0);
      case S8 -> String.valueOf((byte) bits);
      case S16 -> String.valueOf((short) bits);
      case S32 -> String.valueOf((int) bits);
      case S64 -> String.valueOf(bits);
      case U8, U16, U32 -> String.valueOf(bits);
      case U64 -> Long.toUnsignedString(bits);
      case F16 -> String.valueOf(Float.float16ToFloat((short) bits));
      case BF16 -> String.valueOf(Float.intBitsToFloat((int) bits << 16));
      case F32, TF32 -> String.valueOf(Float.intBitsToFloat((int) bits));
      case F64 -> String.valueOf(Double.longBitsToDouble(bits));
      default -> ("0x%0" + Math.max(1, type.bits() / 4) + "x").formatted(bits);
    };
  }

  /** Returns the text of a register's value. */
  public static String text(RegisterClass type, long bits) {
    return switch (type) {
      case PRED -> text(Type.PRED, bits);
      case B16 -> text(Type.S16, bits);
      case B32 -> text(Type.S32, bits);
      case B64 -> "0x%x".formatted(bits);
      case F32 -> text(Type.F32, bits);
      case F64 -> text(Type.F64, bits);
    };
  }

  /** Returns whether a register still has the value with which a block begins. */
  static boolean isUnwritten(RegisterClass type, long bits) {
    return switch (type) {
      case PRED -> false;
      case B16, B32, F32 -> (int) bits == Registers.POISON;
      case B64 -> bits == Registers.POISON * 0x1_0000_0001L;
      case F64 -> bits == Double.doubleToRawLongBits(Double.NaN);
    };
  }

  /** Returns the type of Java that holds the values of a type; a wider one for unsigned types. */
  static Optional<JavaType> javaType(Type type) {
    return Optional.ofNullable(
        switch (type) {
          case PRED -> JavaType.BOOLEAN;
          case S8, B8 -> JavaType.BYTE;
          case S16, B16 -> JavaType.SHORT;
          case S32, B32, U8, U16 -> JavaType.INT;
          case S64, B64, U32, U64 -> JavaType.LONG;
          case F16, BF16, F32, TF32 -> JavaType.FLOAT;
          case F64 -> JavaType.DOUBLE;
          default -> null;
        });
  }

  /** Returns the boxed value of {@link #javaType} that bits stand for. */
  static Object value(Type type, long bits) {
    return switch (type) {
      case F16 -> Float.float16ToFloat((short) bits);
      case BF16 -> Float.intBitsToFloat((int) bits << 16);
      default -> value(javaType(type).orElseThrow(), bits);
    };
  }

  /** Returns the boxed value whose bits are the lowest ones. */
  static Object value(JavaType type, long bits) {
    return switch (type) {
      case BOOLEAN -> (bits & 1) != 0;
      case BYTE -> (byte) bits;
      case SHORT -> (short) bits;
      case CHAR -> (char) bits;
      case INT -> (int) bits;
      case LONG -> bits;
      case FLOAT -> Float.intBitsToFloat((int) bits);
      case DOUBLE -> Double.longBitsToDouble(bits);
    };
  }
}
