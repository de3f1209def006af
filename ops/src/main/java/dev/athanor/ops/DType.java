package dev.athanor.ops;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

/** What the elements of a tensor are. All are stored little-endian, {@link #bytes()} each. */
public enum DType {
  F64(8, 53),
  F32(4, 24),
  F16(2, 11),
  BF16(2, 8),
  I64(8, 63),
  I32(4, 31),
  I16(2, 15),
  I8(1, 7),
  U8(1, 8),
  U32(4, 32),
  BOOL(1, 1);

  private static final ValueLayout.OfShort SHORT =
      ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfInt INT =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfLong LONG =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfFloat FLOAT =
      ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfDouble DOUBLE =
      ValueLayout.JAVA_DOUBLE_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private final int bytes;
  private final int digits;

  DType(int bytes, int digits) {
    this.bytes = bytes;
    this.digits = digits;
  }

  /** The name in requests and answers: {@code f32}. */
  public String text() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** The dtype of this name. */
  public static Optional<DType> of(String text) {
    return Arrays.stream(values()).filter(d -> d.text().equals(text)).findFirst();
  }

  /** All names, for error messages. */
  public static String names() {
    return Arrays.stream(values()).map(DType::text).collect(Collectors.joining(", "));
  }

  /** The size of an element in bytes. */
  public int bytes() {
    return bytes;
  }

  public boolean isFloat() {
    return this == F64 || this == F32 || this == F16 || this == BF16;
  }

  /** The distance between 1 and the next number, for floating-point types. */
  public double epsilon() {
    return Math.scalb(1.0, 1 - digits);
  }

  /** Reads an element; 64-bit integers beyond 2^53 are rounded. */
  public double read(MemorySegment data, long index) {
    long at = index * bytes;
    return switch (this) {
      case F64 -> data.get(DOUBLE, at);
      case F32 -> data.get(FLOAT, at);
      case F16 -> Float.float16ToFloat(data.get(SHORT, at));
      case BF16 -> Float.intBitsToFloat(data.get(SHORT, at) << 16);
      case I64 -> data.get(LONG, at);
      case I32 -> data.get(INT, at);
      case I16 -> data.get(SHORT, at);
      case I8 -> data.get(JAVA_BYTE, at);
      case U8, BOOL -> data.get(JAVA_BYTE, at) & 0xFF;
      case U32 -> data.get(INT, at) & 0xFFFF_FFFFL;
    };
  }

  /**
   * Reads an element of an integer type exactly.
   *
   * @throws IllegalStateException for a floating-point type
   */
  public long readLong(MemorySegment data, long index) {
    if (isFloat()) {
      throw new IllegalStateException(text() + " is no integer type");
    }
    return this == I64 ? data.get(LONG, index * bytes) : (long) read(data, index);
  }

  /**
   * Writes a number, rounded to nearest even for floating-point types.
   *
   * @throws IllegalArgumentException when the number does not fit: a fraction or a number out of
   *     range for an integer type, a finite number beyond the greatest one for a floating-point
   *     type
   */
  public void write(MemorySegment data, long index, double value) {
    if (!isFloat()) {
      long whole = (long) value;
      if (whole != value || (this == I64 && Math.abs(value) >= 0x1p63 && value != -0x1p63)) {
        throw unfit(Double.toString(value));
      }
      writeLong(data, index, whole);
      return;
    }
    long at = index * bytes;
    switch (this) {
      case F64 -> data.set(DOUBLE, at, value);
      case F32 -> data.set(FLOAT, at, finite(value, (float) value));
      case F16 -> {
        short bits = half(value);
        finite(value, Float.float16ToFloat(bits));
        data.set(SHORT, at, bits);
      }
      case BF16 -> {
        short bits = bfloat(value);
        finite(value, Float.intBitsToFloat(bits << 16));
        data.set(SHORT, at, bits);
      }
      default -> throw new IllegalStateException(text());
    }
  }

  /**
   * Writes a whole number.
   *
   * @throws IllegalArgumentException when it is out of range
   */
  public void writeLong(MemorySegment data, long index, long value) {
    long at = index * bytes;
    switch (this) {
      case F64, F32, F16, BF16 -> write(data, index, (double) value);
      case I64 -> data.set(LONG, at, value);
      case I32 -> data.set(INT, at, (int) inRange(value, Integer.MIN_VALUE, Integer.MAX_VALUE));
      case I16 -> data.set(SHORT, at, (short) inRange(value, Short.MIN_VALUE, Short.MAX_VALUE));
      case I8 -> data.set(JAVA_BYTE, at, (byte) inRange(value, Byte.MIN_VALUE, Byte.MAX_VALUE));
      case U8 -> data.set(JAVA_BYTE, at, (byte) inRange(value, 0, 255));
      case U32 -> data.set(INT, at, (int) inRange(value, 0, 0xFFFF_FFFFL));
      case BOOL -> data.set(JAVA_BYTE, at, (byte) inRange(value, 0, 1));
    }
  }

  private long inRange(long value, long least, long greatest) {
    if (value < least || value > greatest) {
      throw unfit(Long.toString(value));
    }
    return value;
  }

  private float finite(double value, float rounded) {
    if (Float.isInfinite(rounded) && !Double.isInfinite(value)) {
      throw unfit(Double.toString(value));
    }
    return rounded;
  }

  private IllegalArgumentException unfit(String value) {
    return new IllegalArgumentException(value + " does not fit " + text());
  }

  /** Rounds once: the way over f32 keeps the lost bits in its last one (round to odd). */
  private static short half(double value) {
    return Float.floatToFloat16(roundToOdd(value));
  }

  private static short bfloat(double value) {
    float odd = roundToOdd(value);
    int bits = Float.floatToRawIntBits(odd);
    return Float.isNaN(odd)
        ? (short) 0x7FFF
        : (short) ((bits + 0x7FFF + ((bits >>> 16) & 1)) >>> 16);
  }

  private static float roundToOdd(double value) {
    float nearest = (float) value;
    if (nearest == value || Float.isNaN(nearest)) {
      return nearest;
    }
    int bits = Float.floatToRawIntBits(nearest);
    // toward zero, then the last bit says that something was lost
    int down = Math.abs((double) nearest) > Math.abs(value) ? bits - 1 : bits;
    return Float.intBitsToFloat(down | 1);
  }
}
