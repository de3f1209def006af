package dev.athanor.engine.debug.expression;

import java.util.Locale;
import java.util.Optional;
import java.util.stream.Stream;

/** A primitive type of Java. Its values are boxed. */
public enum JavaType {
  BOOLEAN,
  BYTE,
  SHORT,
  CHAR,
  INT,
  LONG,
  FLOAT,
  DOUBLE;

  /** Returns the type with a name such as {@code int}. */
  public static Optional<JavaType> of(String word) {
    return Stream.of(values()).filter(type -> type.word().equals(word)).findFirst();
  }

  /** Returns the name in Java. */
  public String word() {
    return name().toLowerCase(Locale.ROOT);
  }

  boolean isNumber() {
    return this != BOOLEAN;
  }

  boolean isIntegral() {
    return isNumber() && this != FLOAT && this != DOUBLE;
  }

  /** Returns the type after unary numeric promotion (JLS 5.6). */
  JavaType promoted() {
    return compareTo(INT) < 0 ? INT : this;
  }

  /** Returns the type after binary numeric promotion (JLS 5.6). */
  JavaType promoted(JavaType other) {
    return promoted().compareTo(other.promoted()) > 0 ? promoted() : other.promoted();
  }

  /** Casts a number to this numeric type, or a boolean to boolean (JLS 5.1.2 and 5.1.3). */
  Object cast(Object value) {
    if (this == BOOLEAN) {
      return value;
    }
    Number number = value instanceof Character letter ? Integer.valueOf(letter) : (Number) value;
    return switch (this) {
      case BYTE -> number.byteValue();
      case SHORT -> number.shortValue();
      case CHAR -> (char) number.intValue();
      case INT -> number.intValue();
      case LONG -> number.longValue();
      case FLOAT -> number.floatValue();
      case DOUBLE -> number.doubleValue();
      case BOOLEAN -> throw new IllegalStateException();
    };
  }
}
