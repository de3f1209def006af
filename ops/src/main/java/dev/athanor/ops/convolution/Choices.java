package dev.athanor.ops.convolution;

import dev.athanor.ops.Attributes;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/** Enums as the choices of attributes: {@code HALF_PIXEL} is {@code half-pixel}. */
final class Choices {

  private Choices() {}

  static String text(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /** Returns the choices in order; the first is the default. */
  static <E extends Enum<E>> List<String> names(Class<E> type) {
    return Stream.of(type.getEnumConstants()).map(Choices::text).toList();
  }

  /** Returns the value of an attribute. */
  static <E extends Enum<E>> E of(Class<E> type, Attributes attributes, String name) {
    return Enum.valueOf(type, attributes.choice(name).toUpperCase(Locale.ROOT).replace('-', '_'));
  }
}
