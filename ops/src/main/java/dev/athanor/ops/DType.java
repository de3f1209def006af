package dev.athanor.ops;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** The element type of a tensor. All types are stored little-endian. */
public enum DType {
  F64(8, 53, -1022, Double.MAX_VALUE),
  F32(4, 24, -126, Float.MAX_VALUE),
  F16(2, 11, -14, 65504),
  BF16(2, 8, -126, 0x1.FEp127),
  /** Four bits of exponent and three of fraction, no infinities (OCP 8-bit, PTX ISA 5.2.3). */
  E4M3(1, 4, -6, 448),
  /** Five bits of exponent and two of fraction, the upper half of an f16. */
  E5M2(1, 3, -14, 57344),
  I64(8),
  I32(4),
  I16(2),
  I8(1),
  U8(1),
  U32(4),
  BOOL(1),
  /** GGML block formats; {@link Blocks} has their layouts. */
  Q4_0(32, 18),
  Q4_1(32, 20),
  Q5_0(32, 22),
  Q8_0(32, 34),
  Q4_K(256, 144),
  Q5_K(256, 176),
  Q6_K(256, 210),
  IQ4_NL(32, 18),
  IQ4_XS(256, 136),
  MXFP4(32, 17),
  /** An f32 scale and 64 four-bit indices into a table of normal quantiles. */
  NF4(64, 36);

  private static final Map<String, DType> BY_TEXT =
      Arrays.stream(values()).collect(Collectors.toMap(DType::text, dtype -> dtype));

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

  private final String text = name().toLowerCase(Locale.ROOT);
  private final int blockElements;
  private final int bytes;
  private final int digits;
  private final int smallestExponent;
  private final double greatest;

  /** Creates a floating-point type. */
  DType(int bytes, int digits, int smallestExponent, double greatest) {
    this.blockElements = 1;
    this.bytes = bytes;
    this.digits = digits;
    this.smallestExponent = smallestExponent;
    this.greatest = greatest;
  }

  /** Creates an integer type. */
  DType(int bytes) {
    this(1, bytes);
  }

  /** Creates a block format. */
  DType(int blockElements, int bytes) {
    this.blockElements = blockElements;
    this.bytes = bytes;
    this.digits = 0;
    this.smallestExponent = 0;
    this.greatest = 0;
  }

  /** Returns the name used in requests and responses: {@code f32}. */
  public String text() {
    return text;
  }

  /** Returns the dtype with this name. */
  public static Optional<DType> of(String text) {
    return Optional.ofNullable(BY_TEXT.get(text));
  }

  /** Returns all names, for error messages. */
  public static String names() {
    return Arrays.stream(values()).map(DType::text).collect(Collectors.joining(", "));
  }

  /** Returns the size in bytes of an element, or of a block of {@link #blockElements()}. */
  public int bytes() {
    return bytes;
  }

  /** Returns the number of elements of a block; 1 unless this is a block format. */
  public int blockElements() {
    return blockElements;
  }

  /** Returns whether elements are stored in blocks that share scales. */
  public boolean isBlock() {
    return blockElements > 1;
  }

  public boolean isFloat() {
    return digits > 0;
  }

  /** Returns the distance between adjacent numbers of this floating-point type at {@code value}. */
  public double spacing(double value) {
    int exponent = value == 0 ? smallestExponent : Math.getExponent(value);
    return Math.scalb(1.0, Math.max(exponent, smallestExponent) + 1 - digits);
  }

  /** Returns the greatest finite number of this floating-point type. */
  public double greatest() {
    return greatest;
  }

  /** Returns the smallest number that rounds to infinity. */
  public double overflow() {
    return this == F64 ? Double.POSITIVE_INFINITY : greatest + spacing(greatest) / 2;
  }

  /** Returns the distance between 1 and the next number, for floating-point types. */
  public double epsilon() {
    return Math.scalb(1.0, 1 - digits);
  }

  /** Reads an element; 64-bit integers beyond 2^53 are rounded. */
  public double read(MemorySegment data, long index) {
    if (isBlock()) {
      return Blocks.read(
          this, data.asSlice(index / blockElements * bytes, bytes), (int) (index % blockElements));
    }
    long at = index * bytes;
    return switch (this) {
      case F64 -> data.get(DOUBLE, at);
      case F32 -> data.get(FLOAT, at);
      case F16 -> Float.float16ToFloat(data.get(SHORT, at));
      case BF16 -> Float.intBitsToFloat(data.get(SHORT, at) << 16);
      case E4M3 -> SmallFloats.e4m3(data.get(JAVA_BYTE, at));
      case E5M2 -> Float.float16ToFloat((short) (data.get(JAVA_BYTE, at) << 8));
      case I64 -> data.get(LONG, at);
      case I32 -> data.get(INT, at);
      case I16 -> data.get(SHORT, at);
      case I8 -> data.get(JAVA_BYTE, at);
      case U8, BOOL -> data.get(JAVA_BYTE, at) & 0xFF;
      case U32 -> data.get(INT, at) & 0xFFFF_FFFFL;
      case Q4_0, Q4_1, Q5_0, Q8_0, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS, MXFP4, NF4 ->
          throw new IllegalStateException(text());
    };
  }

  /**
   * Reads consecutive elements. The loops over arrays of the common types are vectorized: they are
   * several times as fast as reads of single elements.
   */
  void read(MemorySegment data, long first, double[] into) {
    switch (this) {
      case F32 -> {
        var raw = new float[into.length];
        MemorySegment.copy(data, FLOAT, first * bytes, raw, 0, raw.length);
        for (int i = 0; i < raw.length; i++) {
          into[i] = raw[i];
        }
      }
      case F16, BF16 -> {
        var raw = new short[into.length];
        MemorySegment.copy(data, SHORT, first * bytes, raw, 0, raw.length);
        if (this == F16) {
          for (int i = 0; i < raw.length; i++) {
            into[i] = Float.float16ToFloat(raw[i]);
          }
        } else {
          for (int i = 0; i < raw.length; i++) {
            into[i] = Float.intBitsToFloat(raw[i] << 16);
          }
        }
      }
      default -> {
        for (int i = 0; i < into.length; i++) {
          into[i] = read(data, first + i);
        }
      }
    }
  }

  /**
   * Reads an element of an integer type exactly.
   *
   * @throws IllegalStateException for a floating-point type
   */
  public long readLong(MemorySegment data, long index) {
    if (isFloat() || isBlock()) {
      throw new IllegalStateException(text() + " is not an integer type");
    }
    return this == I64 ? data.get(LONG, index * bytes) : (long) read(data, index);
  }

  /**
   * Writes a number, rounded to nearest even for floating-point types.
   *
   * @throws IllegalArgumentException if the number is not representable: a fraction or an
   *     out-of-range number for an integer type, a finite number beyond the greatest one for a
   *     floating-point type
   */
  public void write(MemorySegment data, long index, double value) {
    requireElements();
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
      case E4M3, E5M2 -> {
        if (Double.isInfinite(value) ? this == E4M3 : Math.abs(value) >= overflow()) {
          throw unfit(Double.toString(value));
        }
        data.set(JAVA_BYTE, at, SmallFloats.encode(this, value));
      }
      default -> throw new IllegalStateException(text());
    }
  }

  /**
   * Writes a whole number.
   *
   * @throws IllegalArgumentException if it is out of range
   */
  public void writeLong(MemorySegment data, long index, long value) {
    requireElements();
    long at = index * bytes;
    switch (this) {
      case F64, F32, F16, BF16, E4M3, E5M2 -> write(data, index, (double) value);
      case I64 -> data.set(LONG, at, value);
      case I32 -> data.set(INT, at, (int) inRange(value, Integer.MIN_VALUE, Integer.MAX_VALUE));
      case I16 -> data.set(SHORT, at, (short) inRange(value, Short.MIN_VALUE, Short.MAX_VALUE));
      case I8 -> data.set(JAVA_BYTE, at, (byte) inRange(value, Byte.MIN_VALUE, Byte.MAX_VALUE));
      case U8 -> data.set(JAVA_BYTE, at, (byte) inRange(value, 0, 255));
      case U32 -> data.set(INT, at, (int) inRange(value, 0, 0xFFFF_FFFFL));
      case BOOL -> data.set(JAVA_BYTE, at, (byte) inRange(value, 0, 1));
      case Q4_0, Q4_1, Q5_0, Q8_0, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS, MXFP4, NF4 ->
          requireElements();
    }
  }

  private void requireElements() {
    if (isBlock()) {
      throw new IllegalArgumentException(
          "elements of %s share the scales of their block and cannot be written individually; write whole blocks"
              .formatted(text()));
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

  /** Rounds once: the intermediate f32 is rounded to odd, so its last bit records the lost bits. */
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
    // round toward zero, then set the last bit to record the loss
    int down = Math.abs((double) nearest) > Math.abs(value) ? bits - 1 : bits;
    return Float.intBitsToFloat(down | 1);
  }
}
