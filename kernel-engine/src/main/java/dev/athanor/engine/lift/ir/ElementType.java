package dev.athanor.engine.lift.ir;

import java.util.Optional;

/** The type of an array's elements in memory: a number, or a record of numbers. */
public sealed interface ElementType permits Element, RecordLayout {

  /** Returns the element type of a Java type; empty if arrays of a kernel have no such elements. */
  static Optional<ElementType> of(Class<?> type) {
    return Element.of(type).<ElementType>map(element -> element).or(() -> RecordLayout.of(type));
  }

  /** Returns the distance of neighboring elements. */
  int bytes();

  /** Returns the power of two that divides the address of each element. */
  int alignment();

  /** Returns the name in Java. */
  String word();
}
