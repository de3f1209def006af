package dev.athanor.engine.lift.ir;

import dev.athanor.engine.ptx.Type;
import java.util.Arrays;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The element type of a Java array, as in memory. */
public enum Element implements ElementType {
  BOOLEAN(Type.S8, ValueType.INT, "boolean"),
  BYTE(Type.S8, ValueType.INT, "byte"),
  SHORT(Type.S16, ValueType.INT, "short"),
  CHAR(Type.U16, ValueType.INT, "char"),
  INT(Type.S32, ValueType.INT, "int"),
  LONG(Type.S64, ValueType.LONG, "long"),
  FLOAT(Type.F32, ValueType.FLOAT, "float"),
  DOUBLE(Type.F64, ValueType.DOUBLE, "double");

  private final Type memory;
  private final ValueType value;
  private final String word;

  Element(Type memory, ValueType value, String word) {
    this.memory = memory;
    this.value = value;
    this.word = word;
  }

  /** Returns the element of a primitive type; empty for other types. */
  public static Optional<Element> of(@Nullable Class<?> type) {
    return Arrays.stream(values())
        .filter(element -> type != null && element.word.equals(type.getName()))
        .findFirst();
  }

  /** Returns the PTX type in memory. */
  public Type memory() {
    return memory;
  }

  /** Returns the type of a loaded value. */
  public ValueType value() {
    return value;
  }

  @Override
  public int bytes() {
    return memory.bytes();
  }

  @Override
  public int alignment() {
    return memory.bytes();
  }

  @Override
  public String word() {
    return word;
  }
}
