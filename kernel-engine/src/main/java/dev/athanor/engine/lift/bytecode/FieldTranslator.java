package dev.athanor.engine.lift.bytecode;

import dev.athanor.engine.lift.bytecode.JavaValue.ArrayRef;
import dev.athanor.engine.lift.bytecode.JavaValue.EnumRef;
import dev.athanor.engine.lift.bytecode.JavaValue.Layout;
import dev.athanor.engine.lift.bytecode.JavaValue.ObjectArray;
import dev.athanor.engine.lift.bytecode.JavaValue.RecordRef;
import dev.athanor.engine.lift.bytecode.JavaValue.RowsRef;
import dev.athanor.engine.lift.bytecode.JavaValue.Scalar;
import dev.athanor.engine.lift.bytecode.JavaValue.Unconstructed;
import dev.athanor.engine.lift.ir.Access;
import dev.athanor.engine.lift.ir.Element;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.ir.ValueType;
import dev.athanor.engine.lift.refusal.LiftException;
import dev.athanor.engine.lift.refusal.OpenPackages;
import dev.athanor.engine.lift.refusal.Refusal;
import java.lang.classfile.instruction.FieldInstruction;
import java.lang.classfile.instruction.NewObjectInstruction;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.InaccessibleObjectException;
import java.lang.reflect.Modifier;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Translates constants of classes, components of records, and the creation of records. */
final class FieldTranslator {
  /** The constants of a kernel that PTX can address (PTX ISA 5.1.3). */
  private static final int MAX_TABLE_BYTES = 64 << 10;

  private final Translation to;
  private final MethodCode code;

  FieldTranslator(Translation to, MethodCode code) {
    this.to = to;
    this.code = code;
  }

  private LiftException refuse(Refusal refusal, Object... names) {
    return new LiftException(refusal, to.source(), code.name(), names);
  }

  void translate(FieldInstruction field, Frame frame) {
    var name =
        ClassFiles.simpleName(field.owner().asInternalName()) + "." + field.name().stringValue();
    switch (field.opcode()) {
      case GETSTATIC -> frame.push(constant(field, name));
      case GETFIELD -> {
        var owner = frame.pop();
        if (owner instanceof EnumRef constant) {
          var value = new Enums(to).field(constant, field.name().stringValue());
          frame.push(value.orElseThrow(() -> refuse(Refusal.INSTANCE_FIELD, name)));
          return;
        }
        var record =
            switch (owner) {
              case RecordRef object -> object;
              case Unconstructed object -> object.constructed();
              default -> throw refuse(Refusal.INSTANCE_FIELD, name);
            };
        frame.push(record.component(field.name().stringValue()));
      }
      case PUTFIELD -> {
        var value = frame.pop();
        if (!(frame.pop() instanceof Unconstructed object)) {
          throw refuse(Refusal.FIELD_WRITE, name);
        }
        if (value instanceof ObjectArray) {
          throw refuse(Refusal.NEW_ARRAY, "Object");
        }
        frame.replace(object, object.with(field.name().stringValue(), value));
      }
      default -> throw refuse(Refusal.FIELD_WRITE, name);
    }
  }

  /** Starts the creation of a record. */
  void create(NewObjectInstruction instruction, Frame frame) {
    var type = instruction.className().asInternalName();
    var name = ClassFiles.simpleName(type);
    if (name.matches(".*\\.\\d+")) {
      throw refuse(Refusal.ANONYMOUS_CLASS);
    }
    if (name.endsWith("Exception") || name.endsWith("Error")) {
      throw refuse(Refusal.THROW, name);
    }
    if (!isRecord(type)) {
      throw refuse(Refusal.NEW_OBJECT, name);
    }
    frame.push(Unconstructed.of(type));
  }

  private boolean isRecord(String type) {
    return to.classes()
        .find(type)
        .flatMap(model -> model.superclass())
        .filter(parent -> parent.asInternalName().equals("java/lang/Record"))
        .isPresent();
  }

  private JavaValue constant(FieldInstruction instruction, String name) {
    if (instruction.name().equalsString("$assertionsDisabled")) {
      return new Scalar(Value.constant(1)); // whether or not the JVM runs with -ea
    }
    if (name.equals("System.out") || name.equals("System.err")) {
      throw refuse(Refusal.PRINT, name);
    }
    Object value = read(instruction, name);
    return switch (value) {
      case Boolean b -> new Scalar(Value.constant(b ? 1 : 0));
      case Character c -> new Scalar(Value.constant(c.charValue()));
      case Byte n -> new Scalar(Value.constant(n.intValue()));
      case Short n -> new Scalar(Value.constant(n.intValue()));
      case Integer n -> new Scalar(Value.constant(n.intValue()));
      case Long n -> new Scalar(Value.constant(n.longValue()));
      case Float n -> new Scalar(Value.constant(ValueType.FLOAT, n));
      case Double n -> new Scalar(Value.constant(ValueType.DOUBLE, n));
      case ValueLayout layout -> new Layout(element(layout));
      case Enum<?> constant -> Enums.constant(constant);
      case null -> throw refuse(Refusal.STATIC_OBJECT, name);
      default -> table(value, name);
    };
  }

  private JavaValue table(Object value, String name) {
    var type = value.getClass().getComponentType();
    var element = Element.of(type);
    if (element.isPresent()) {
      return table(element.get(), value, () -> concatenated(type, List.of(value)), name);
    }
    var inRow = type == null ? null : type.getComponentType();
    var ofRows = Element.of(inRow);
    if (ofRows.isEmpty() || inRow == null) {
      throw refuse(Refusal.STATIC_OBJECT, name);
    }
    var rows = Arrays.asList((Object[]) value);
    int columns = rows.isEmpty() ? 0 : length(rows.getFirst());
    if (rows.stream().anyMatch(row -> row == null || length(row) != columns)) {
      throw refuse(Refusal.TABLE_ROWS, name);
    }
    var all = table(ofRows.get(), value, () -> concatenated(inRow, rows), name);
    return new RowsRef(all, rows.size(), columns);
  }

  private static int length(@Nullable Object array) {
    return array == null ? 0 : Array.getLength(array);
  }

  /**
   * Returns an array of constants, after the check of their size.
   *
   * @param array the array of Java, by which it is found again
   */
  ArrayRef table(Element element, Object array, Supplier<Object> contents, String name) {
    var table = to.table(element, array, contents, name);
    long bytes = to.bytes(Access.Space.CONST);
    if (bytes > MAX_TABLE_BYTES) {
      throw refuse(Refusal.TABLE_TOTAL, bytes);
    }
    return table;
  }

  /** Returns a new array with the elements of arrays. */
  private static Object concatenated(Class<?> element, List<Object> arrays) {
    var all = Array.newInstance(element, arrays.stream().mapToInt(Array::getLength).sum());
    int at = 0;
    for (var array : arrays) {
      System.arraycopy(array, 0, all, at, Array.getLength(array));
      at += Array.getLength(array);
    }
    return all;
  }

  private @Nullable Object read(FieldInstruction instruction, String name) {
    try {
      Field field =
          find(
              to.classes().load(instruction.owner().asInternalName()),
              instruction.name().stringValue());
      if (!Modifier.isFinal(field.getModifiers())) {
        throw refuse(Refusal.STATIC_FIELD, name);
      }
      return value(field, name);
    } catch (LinkageError e) {
      var cause = e.getCause() == null ? e : e.getCause();
      throw refuse(Refusal.STATIC_INITIALIZER, name, cause);
    } catch (ReflectiveOperationException e) {
      throw refuse(Refusal.STATIC_OBJECT, name);
    }
  }

  private @Nullable Object value(Field field, String name) throws ReflectiveOperationException {
    var owner = field.getDeclaringClass();
    try {
      if (!Modifier.isPublic(field.getModifiers()) || !Modifier.isPublic(owner.getModifiers())) {
        field.setAccessible(true);
      }
      return field.get(null);
    } catch (IllegalAccessException | InaccessibleObjectException e) {
      throw refuse(Refusal.CLOSED_PACKAGE, name, OpenPackages.request(owner));
    }
  }

  private static Field find(Class<?> type, String name) throws NoSuchFieldException {
    try {
      return type.getDeclaredField(name);
    } catch (NoSuchFieldException e) {
      return type.getField(name); // inherited
    }
  }

  private Element element(ValueLayout layout) {
    if (layout.order() != ByteOrder.nativeOrder() || layout.byteAlignment() != layout.byteSize()) {
      throw refuse(Refusal.LAYOUT);
    }
    return switch (layout) {
      case ValueLayout.OfBoolean _ -> Element.BOOLEAN;
      case ValueLayout.OfByte _ -> Element.BYTE;
      case ValueLayout.OfShort _ -> Element.SHORT;
      case ValueLayout.OfChar _ -> Element.CHAR;
      case ValueLayout.OfInt _ -> Element.INT;
      case ValueLayout.OfLong _ -> Element.LONG;
      case ValueLayout.OfFloat _ -> Element.FLOAT;
      case ValueLayout.OfDouble _ -> Element.DOUBLE;
      default -> throw refuse(Refusal.LAYOUT);
    };
  }
}
