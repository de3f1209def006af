package dev.athanor.engine.lift.bytecode;

import dev.athanor.engine.lift.ir.Access.Space;
import dev.athanor.engine.lift.ir.Element;
import dev.athanor.engine.lift.ir.RecordLayout;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.refusal.Refusal;
import java.lang.constant.DirectMethodHandleDesc;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

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
      implements JavaValue {
    ArrayRef named(String other) {
      return new ArrayRef(space, element, pointer, length, other);
    }
  }

  /**
   * An array of arrays, row by row.
   *
   * @param elements all elements
   */
  record RowsRef(ArrayRef elements, int rows, int columns) implements JavaValue {
    RowsRef named(String other) {
      return new RowsRef(elements.named(other), rows, columns);
    }
  }

  /**
   * An array of records, which is a parameter.
   *
   * @param pointer address of element 0
   * @param length number of elements, an int
   */
  record RecordsRef(RecordLayout layout, Value pointer, Value length, String name)
      implements JavaValue {}

  /**
   * A memory segment.
   *
   * @param bytes size, a long
   */
  record SegmentRef(Value pointer, Value bytes, String name) implements JavaValue {}

  /**
   * A boxed number.
   *
   * @param type the class, such as {@code java/lang/Integer}
   */
  record Boxed(String type, Value value) implements JavaValue {}

  /**
   * A lambda or method reference.
   *
   * @param type the functional interface
   * @param method the name of the interface's method
   * @param body what the method calls
   * @param captured the first arguments of the body
   */
  record FunctionRef(
      String type, String method, DirectMethodHandleDesc body, List<JavaValue> captured)
      implements JavaValue {}

  /** A constant of an enum. */
  record EnumRef(String type, Value ordinal) implements JavaValue {}

  /** All constants of an enum. */
  record EnumValues(String type, int length) implements JavaValue {}

  /** A {@code ValueLayout}. */
  record Layout(Element element) implements JavaValue {}

  /** A constant string, which is the format of a {@code Gpu.print}. */
  record Text(String text) implements JavaValue {}

  /**
   * An array of objects, as compilers make it for the values of a {@code Gpu.print}. It must not
   * have a second reference outside of its frame, which would not see later stores.
   *
   * @param identity tells it from other arrays
   * @param elements those assigned so far, by index
   */
  record ObjectArray(Object identity, int length, NavigableMap<Integer, JavaValue> elements)
      implements JavaValue {
    static ObjectArray of(int length) {
      return new ObjectArray(new Object(), length, new TreeMap<>());
    }

    ObjectArray with(int index, JavaValue value) {
      var assigned = new TreeMap<>(elements);
      assigned.put(index, value);
      return new ObjectArray(identity, length, assigned);
    }

    /** Returns the elements; null where none is assigned. */
    List<@Nullable JavaValue> values() {
      var all = new ArrayList<@Nullable JavaValue>();
      for (int i = 0; i < length; i++) {
        all.add(elements.get(i));
      }
      return all;
    }
  }

  /** A record, by its components. */
  record RecordRef(String type, List<String> names, List<JavaValue> components)
      implements JavaValue {
    /** Creates a record of components in any order; those of equal records are in one order. */
    static RecordRef of(String type, List<String> names, List<JavaValue> components) {
      var fields = new TreeMap<String, JavaValue>();
      for (int i = 0; i < names.size(); i++) {
        fields.put(names.get(i), components.get(i));
      }
      return new RecordRef(type, List.copyOf(fields.keySet()), List.copyOf(fields.values()));
    }

    JavaValue component(String name) {
      return components.get(names.indexOf(name));
    }
  }

  /**
   * An object between its {@code new} and the end of its constructor.
   *
   * @param identity tells it from other objects of the type
   * @param fields the components assigned so far
   */
  record Unconstructed(String type, Object identity, NavigableMap<String, JavaValue> fields)
      implements JavaValue {
    static Unconstructed of(String type) {
      return new Unconstructed(type, new Object(), new TreeMap<>());
    }

    Unconstructed with(String field, JavaValue value) {
      var assigned = new TreeMap<>(fields);
      assigned.put(field, value);
      return new Unconstructed(type, identity, assigned);
    }

    /** Returns the record, after its constructor. */
    RecordRef constructed() {
      return new RecordRef(type, List.copyOf(fields.keySet()), List.copyOf(fields.values()));
    }
  }

  /**
   * What no variable can hold: values of different kinds on different paths.
   *
   * @param refusal the reason, if it is read
   */
  record Mixed(Refusal refusal) implements JavaValue {
    static Mixed of(JavaValue one, JavaValue other) {
      if (one instanceof Text && other instanceof Text) {
        return new Mixed(Refusal.STRING);
      }
      boolean inTwoMemories =
          one instanceof ArrayRef a && other instanceof ArrayRef b && a.space != b.space;
      return new Mixed(inTwoMemories ? Refusal.MIXED_ARRAYS : Refusal.MIXED_TYPES);
    }
  }

  /** Returns the SSA values that it consists of. */
  default Stream<Value> parts() {
    return switch (this) {
      case Scalar scalar -> Stream.of(scalar.value);
      case Boxed boxed -> Stream.of(boxed.value);
      case EnumRef constant -> Stream.of(constant.ordinal);
      case FunctionRef function -> function.captured.stream().flatMap(JavaValue::parts);
      case ArrayRef array -> Stream.of(array.pointer, array.length);
      case RowsRef array -> array.elements.parts();
      case RecordsRef array -> Stream.of(array.pointer, array.length);
      case SegmentRef segment -> Stream.of(segment.pointer, segment.bytes);
      case RecordRef object -> object.components.stream().flatMap(JavaValue::parts);
      case Unconstructed object -> object.fields.values().stream().flatMap(JavaValue::parts);
      case ObjectArray array -> array.elements.values().stream().flatMap(JavaValue::parts);
      case EnumValues _, Layout _, Text _, Mixed _ -> Stream.empty();
    };
  }

  /** Returns the same kind of value with other parts. */
  default JavaValue with(Iterator<Value> parts) {
    return switch (this) {
      case Scalar _ -> new Scalar(parts.next());
      case Boxed boxed -> new Boxed(boxed.type, parts.next());
      case EnumRef constant -> new EnumRef(constant.type, parts.next());
      case FunctionRef function ->
          new FunctionRef(
              function.type, function.method, function.body, with(function.captured, parts));
      case ArrayRef array ->
          new ArrayRef(array.space, array.element, parts.next(), parts.next(), array.name);
      case RowsRef array ->
          new RowsRef((ArrayRef) array.elements.with(parts), array.rows, array.columns);
      case RecordsRef array -> new RecordsRef(array.layout, parts.next(), parts.next(), array.name);
      case SegmentRef segment -> new SegmentRef(parts.next(), parts.next(), segment.name);
      case RecordRef object ->
          new RecordRef(object.type, object.names, with(object.components, parts));
      case Unconstructed object -> {
        var fields = new TreeMap<String, JavaValue>();
        object.fields.forEach((name, each) -> fields.put(name, each.with(parts)));
        yield new Unconstructed(object.type, object.identity, fields);
      }
      case ObjectArray array -> {
        var elements = new TreeMap<Integer, JavaValue>();
        array.elements.forEach((index, each) -> elements.put(index, each.with(parts)));
        yield new ObjectArray(array.identity, array.length, elements);
      }
      case EnumValues _, Layout _, Text _, Mixed _ -> this;
    };
  }

  private static List<JavaValue> with(List<JavaValue> values, Iterator<Value> parts) {
    var replaced = new ArrayList<JavaValue>();
    values.forEach(each -> replaced.add(each.with(parts)));
    return List.copyOf(replaced);
  }

  private static boolean match(List<JavaValue> values, List<JavaValue> others) {
    return values.size() == others.size()
        && IntStream.range(0, values.size()).allMatch(i -> values.get(i).matches(others.get(i)));
  }

  /** Returns whether one variable can hold this value on one path and the other on another. */
  default boolean matches(JavaValue other) {
    return switch (this) {
      case Scalar scalar -> other instanceof Scalar o && scalar.value.type() == o.value.type();
      case Boxed boxed -> other instanceof Boxed o && boxed.type.equals(o.type);
      case EnumRef constant -> other instanceof EnumRef o && constant.type.equals(o.type);
      case FunctionRef function ->
          other instanceof FunctionRef o
              && function.type.equals(o.type)
              && function.body.equals(o.body)
              && match(function.captured, o.captured);
      case ArrayRef array ->
          other instanceof ArrayRef o && array.space == o.space && array.element == o.element;
      case RowsRef array ->
          other instanceof RowsRef o
              && array.elements.matches(o.elements)
              && array.rows == o.rows
              && array.columns == o.columns;
      case RecordsRef array -> other instanceof RecordsRef o && array.layout.equals(o.layout);
      case SegmentRef _ -> other instanceof SegmentRef;
      case RecordRef object ->
          other instanceof RecordRef o
              && object.type.equals(o.type)
              && object.names.equals(o.names)
              && match(object.components, o.components);
      case Unconstructed object ->
          other instanceof Unconstructed o
              && object.identity.equals(o.identity)
              && object.constructed().matches(o.constructed());
      case ObjectArray array ->
          other instanceof ObjectArray o
              && array.identity.equals(o.identity)
              && array.elements.keySet().equals(o.elements.keySet())
              && match(List.copyOf(array.elements.values()), List.copyOf(o.elements.values()));
      case EnumValues _, Layout _, Text _ -> equals(other);
      case Mixed _ -> false;
    };
  }

  /** Returns whether it takes two local variables. */
  default boolean isWide() {
    return this instanceof Scalar scalar && scalar.value.type().bits() == 64;
  }
}
