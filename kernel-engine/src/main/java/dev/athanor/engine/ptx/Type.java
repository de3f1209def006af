package dev.athanor.engine.ptx;

import java.util.Locale;

/**
 * A PTX scalar type (PTX ISA 5.2). Instructions have types; registers have only a {@link
 * RegisterClass}.
 */
public enum Type implements Modifier {
  PRED(RegisterClass.PRED, Kind.PREDICATE, 1),
  /** A 1-bit matrix element; a register holds 32. */
  B1(RegisterClass.B32, Kind.BITS, 1),
  B8(RegisterClass.B16, Kind.BITS, 8),
  B16(RegisterClass.B16, Kind.BITS, 16),
  B32(RegisterClass.B32, Kind.BITS, 32),
  B64(RegisterClass.B64, Kind.BITS, 64),
  U8(RegisterClass.B16, Kind.UNSIGNED, 8),
  U16(RegisterClass.B16, Kind.UNSIGNED, 16),
  U32(RegisterClass.B32, Kind.UNSIGNED, 32),
  U64(RegisterClass.B64, Kind.UNSIGNED, 64),
  /** A 4-bit matrix element; a register holds eight. */
  U4(RegisterClass.B32, Kind.UNSIGNED, 4),
  S4(RegisterClass.B32, Kind.SIGNED, 4),
  S8(RegisterClass.B16, Kind.SIGNED, 8),
  S16(RegisterClass.B16, Kind.SIGNED, 16),
  S32(RegisterClass.B32, Kind.SIGNED, 32),
  S64(RegisterClass.B64, Kind.SIGNED, 64),
  F16(RegisterClass.B16, Kind.FLOAT, 16),
  BF16(RegisterClass.B16, Kind.FLOAT, 16),
  F16X2(RegisterClass.B32, Kind.PACKED, 32),
  BF16X2(RegisterClass.B32, Kind.PACKED, 32),
  /** 8-bit float with a 4-bit exponent; registers hold pairs only. */
  E4M3(RegisterClass.B16, Kind.FLOAT, 8),
  E5M2(RegisterClass.B16, Kind.FLOAT, 8),
  /** A 6-bit matrix element; registers hold four, in a byte each. */
  E3M2(RegisterClass.B32, Kind.FLOAT, 6),
  E2M3(RegisterClass.B32, Kind.FLOAT, 6),
  /** A 4-bit matrix element; a register holds four or eight. */
  E2M1(RegisterClass.B32, Kind.FLOAT, 4),
  /** A scale factor: a power of two, without sign. */
  UE8M0(RegisterClass.B32, Kind.FLOAT, 8),
  /** A scale factor: e4m3 without sign. */
  UE4M3(RegisterClass.B32, Kind.FLOAT, 8),
  E4M3X2(RegisterClass.B16, Kind.PACKED, 16),
  E5M2X2(RegisterClass.B16, Kind.PACKED, 16),
  U16X2(RegisterClass.B32, Kind.PACKED, 32),
  S16X2(RegisterClass.B32, Kind.PACKED, 32),
  TF32(RegisterClass.B32, Kind.FLOAT, 32),
  F32(RegisterClass.F32, Kind.FLOAT, 32),
  F64(RegisterClass.F64, Kind.FLOAT, 64);

  /** The interpretation of a type's bits. */
  public enum Kind {
    PREDICATE,
    BITS,
    UNSIGNED,
    SIGNED,
    FLOAT,
    PACKED
  }

  private final RegisterClass registerClass;
  private final Kind kind;
  private final int bits;
  private final String word = name().toLowerCase(Locale.ROOT);

  Type(RegisterClass registerClass, Kind kind, int bits) {
    this.registerClass = registerClass;
    this.kind = kind;
    this.bits = bits;
  }

  @Override
  public String word() {
    return word;
  }

  /** Returns the register class for a value of this type. */
  public RegisterClass registerClass() {
    return registerClass;
  }

  public Kind kind() {
    return kind;
  }

  /** Returns the width in bits; 1 for a predicate. */
  public int bits() {
    return bits;
  }

  /** Returns the width in memory in bytes; 0 for types narrower than a byte. */
  public int bytes() {
    return bits / 8;
  }

  /** Returns the type of the same kind and twice the width, the result type of {@code mul.wide}. */
  public Type wide() {
    return switch (this) {
      case U16 -> U32;
      case S16 -> S32;
      case U32 -> U64;
      case S32 -> S64;
      default ->
          throw new IllegalArgumentException("." + word() + " has no type of twice its width");
    };
  }

  /** Returns the element type of a packed type; other types return themselves. */
  public Type element() {
    return switch (this) {
      case F16X2 -> F16;
      case BF16X2 -> BF16;
      case E4M3X2 -> E4M3;
      case E5M2X2 -> E5M2;
      case U16X2 -> U16;
      case S16X2 -> S16;
      default -> this;
    };
  }

  /**
   * Returns the Java type of values in lane functions: {@code boolean}, {@code int} (also for 8-
   * and 16-bit values and the bits of f16 and packed types), {@code long}, {@code float} or {@code
   * double}.
   */
  public Class<?> carrier() {
    return registerClass.carrier();
  }

  /**
   * Returns whether a register of a class can hold this type. Widths must agree; floating-point
   * registers hold only their own type, bit registers hold all (PTX ISA 9.4).
   */
  public boolean fits(RegisterClass other) {
    if (other == registerClass) {
      return true;
    }
    return other.bits() == registerClass.bits()
        && (other.isBits() || kind == Kind.BITS)
        && other != RegisterClass.PRED
        && this != PRED;
  }
}
