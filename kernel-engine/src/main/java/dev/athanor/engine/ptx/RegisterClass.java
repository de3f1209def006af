package dev.athanor.engine.ptx;

import java.util.Locale;

/**
 * The class in a register's declaration. Bit classes hold integers of either sign and packed
 * values.
 */
public enum RegisterClass {
  PRED("%p", 1, boolean.class),
  B16("%rs", 16, int.class),
  B32("%r", 32, int.class),
  B64("%rd", 64, long.class),
  F32("%f", 32, float.class),
  F64("%fd", 64, double.class);

  private final String prefix;
  private final int bits;
  private final Class<?> carrier;

  RegisterClass(String prefix, int bits, Class<?> carrier) {
    this.prefix = prefix;
    this.bits = bits;
    this.carrier = carrier;
  }

  /** Returns the prefix of generated register names. */
  public String prefix() {
    return prefix;
  }

  public int bits() {
    return bits;
  }

  /** Returns the Java type of one lane of the register. */
  public Class<?> carrier() {
    return carrier;
  }

  public boolean isBits() {
    return this == B16 || this == B32 || this == B64;
  }

  /** Returns the word after {@code .reg .} in a declaration. */
  public String word() {
    return name().toLowerCase(Locale.ROOT);
  }
}
