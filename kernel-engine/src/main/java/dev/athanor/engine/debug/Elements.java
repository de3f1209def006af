package dev.athanor.engine.debug;

import dev.athanor.engine.ptx.RegisterClass;
import dev.athanor.engine.ptx.Type;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

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
}
