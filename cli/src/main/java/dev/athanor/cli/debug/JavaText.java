package dev.athanor.cli.debug;

import dev.athanor.engine.debug.Elements;
import dev.athanor.engine.ptx.Type;

/** Formats values of Java types. */
final class JavaText {

  private JavaText() {}

  /**
   * Returns the text of a number.
   *
   * @param type a primitive type of Java; others are formatted as bytes
   */
  static String of(String type, long bits) {
    return switch (type) {
      case "boolean" -> String.valueOf((bits & 1) != 0);
      case "char" -> "'%c' (%d)".formatted((char) bits, (int) (char) bits);
      case "short" -> Elements.text(Type.S16, bits);
      case "int" -> Elements.text(Type.S32, bits);
      case "long" -> Elements.text(Type.S64, bits);
      case "float" -> Elements.text(Type.F32, bits);
      case "double" -> Elements.text(Type.F64, bits);
      default -> Elements.text(Type.S8, bits);
    };
  }

  /** Returns the text of a boxed number, letter or boolean. */
  static String of(Object value) {
    return value instanceof Character letter ? of("char", letter) : String.valueOf(value);
  }
}
