package dev.athanor.engine.lift.bytecode;

import dev.athanor.engine.lift.ir.Access.Space;
import dev.athanor.engine.lift.ir.Element;
import dev.athanor.engine.lift.ir.Value;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** What a local variable or a stack slot holds while a method is translated. */
sealed interface JavaValue {

  /** A number. */
  record Scalar(Value value) implements JavaValue {}

  /**
   * An array.
   *
   * @param pointer address of element 0
   * @param length number of elements, an int
   * @param name the name in messages
   */
  record ArrayRef(Space space, Element element, Value pointer, Value length, String name)
      implements JavaValue {}

  /**
   * A memory segment.
   *
   * @param bytes size, a long
   */
  record SegmentRef(Value pointer, Value bytes, String name) implements JavaValue {}

  /** A {@code ValueLayout}. */
  record Layout(Element element) implements JavaValue {}

  /** A record, by its components. */
  record RecordRef(String type, List<String> names, List<JavaValue> components)
      implements JavaValue {
    JavaValue component(String name) {
      return components.get(names.indexOf(name));
    }
  }

  /** An object between its {@code new} and its constructor. Identity is object identity. */
  final class Unconstructed implements JavaValue {
    private final String type;
    private final Map<String, JavaValue> fields = new LinkedHashMap<>();

    Unconstructed(String type) {
      this.type = type;
    }

    String type() {
      return type;
    }

    void put(String field, JavaValue value) {
      fields.put(field, value);
    }

    /** Returns the record, after its constructor. */
    RecordRef constructed() {
      return new RecordRef(type, List.copyOf(fields.keySet()), List.copyOf(fields.values()));
    }
  }

  /** Returns the SSA values that it consists of. */
  default Stream<Value> parts() {
    return switch (this) {
      case Scalar scalar -> Stream.of(scalar.value);
      case ArrayRef array -> Stream.of(array.pointer, array.length);
      case SegmentRef segment -> Stream.of(segment.pointer, segment.bytes);
      case RecordRef object -> object.components.stream().flatMap(JavaValue::parts);
      case Layout _, Unconstructed _ -> Stream.empty();
    };
  }

  /** Returns the same kind of value with other parts. */
  default JavaValue with(Iterator<Value> parts) {
    return switch (this) {
      case Scalar _ -> new Scalar(parts.next());
      case ArrayRef array ->
          new ArrayRef(array.space, array.element, parts.next(), parts.next(), array.name);
      case SegmentRef segment -> new SegmentRef(parts.next(), parts.next(), segment.name);
      case RecordRef object -> {
        var components = new ArrayList<JavaValue>();
        object.components.forEach(each -> components.add(each.with(parts)));
        yield new RecordRef(object.type, object.names, List.copyOf(components));
      }
      case Layout _, Unconstructed _ -> this;
    };
  }

  /** Returns whether one variable can hold this value on one path and the other on another. */
  default boolean matches(JavaValue other) {
    return switch (this) {
      case Scalar scalar ->
          other instanceof Scalar o && scalar.value.type() == o.value.type();
      case ArrayRef array ->
          other instanceof ArrayRef o && array.space == o.space && array.element == o.element;
      case SegmentRef _ -> other instanceof SegmentRef;
      case RecordRef object ->
          other instanceof RecordRef o
              && object.type.equals(o.type)
              && IntStream.range(0, object.components.size())
                  .allMatch(i -> object.components.get(i).matches(o.components.get(i)));
      case Layout _, Unconstructed _ -> equals(other);
    };
  }

  /** Returns whether it takes two local variables. */
  default boolean isWide() {
    return this instanceof Scalar scalar && scalar.value.type().bits() == 64;
  }
}
