package dev.athanor.engine.lift.bytecode;

import dev.athanor.engine.lift.bytecode.JavaValue.EnumRef;
import dev.athanor.engine.lift.bytecode.JavaValue.EnumValues;
import dev.athanor.engine.lift.bytecode.JavaValue.Scalar;
import dev.athanor.engine.lift.ir.Access;
import dev.athanor.engine.lift.ir.Element;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Relation;
import dev.athanor.engine.lift.ir.Site;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.ir.ValueType;
import java.lang.classfile.ClassModel;
import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.InaccessibleObjectException;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** Translates constants of enums to their ordinals, and their fields to tables by ordinal. */
final class Enums {
  private final Translation to;

  Enums(Translation to) {
    this.to = to;
  }

  static boolean isEnum(ClassModel model) {
    return model
        .superclass()
        .filter(parent -> parent.asInternalName().equals("java/lang/Enum"))
        .isPresent();
  }

  @SuppressWarnings("EnumOrdinal") // the ordinal stands for the constant
  static EnumRef constant(Enum<?> constant) {
    return new EnumRef(
        ClassFiles.internalName(constant.getDeclaringClass()), Value.constant(constant.ordinal()));
  }

  /** Returns the result of a method of all enums; empty if it is another method. */
  Optional<Value> call(String method, EnumRef constant, List<JavaValue> arguments) {
    var value = constant.ordinal();
    if (method.equals("ordinal")) {
      return Optional.of(value);
    }
    if (arguments.size() != 1 || !(arguments.getFirst() instanceof EnumRef other)) {
      return Optional.empty();
    }
    return switch (method) {
      case "equals" -> Optional.of(to.toInt(to.compare(Relation.EQ, value, other.ordinal())));
      case "compareTo" -> Optional.of(to.add(Op.SUB, ValueType.INT, null, value, other.ordinal()));
      default -> Optional.empty();
    };
  }

  /**
   * Returns all constants; empty if a constant has methods of its own, which differ at run time.
   */
  Optional<EnumValues> values(String type) {
    return load(type)
        .map(Class::getEnumConstants)
        .filter(all -> Arrays.stream(all).allMatch(each -> isOf(each, type)))
        .map(all -> new EnumValues(type, all.length));
  }

  private static boolean isOf(Object constant, String type) {
    return ClassFiles.internalName(constant.getClass()).equals(type);
  }

  private Optional<Class<?>> load(String type) {
    try {
      return Optional.of(to.classes().load(type));
    } catch (ClassNotFoundException | LinkageError e) {
      return Optional.empty();
    }
  }

  /** Returns a constant by its ordinal, after the check that there is one. */
  EnumRef element(EnumValues all, Value ordinal) {
    var name = ClassFiles.simpleName(all.type()) + ".values()";
    to.checkRange(
        new Site(Site.Kind.ELEMENTS, name, 1, to.source()), ordinal, Value.constant(all.length()));
    return new EnumRef(all.type(), ordinal);
  }

  /** Returns a final field of a constant; empty if it has no number. */
  Optional<Scalar> field(EnumRef constant, String name) {
    return load(constant.type())
        .flatMap(type -> numbers(type, name))
        .map(numbers -> element(constant, numbers, name));
  }

  private Scalar element(EnumRef constant, Object numbers, String name) {
    var element = Element.of(numbers.getClass().getComponentType()).orElseThrow();
    var key = (constant.type() + "." + name).intern();
    var table = to.table(element, key, () -> numbers, name);
    var address =
        to.add(Op.ADDRESS, ValueType.LONG, element.bytes(), table.pointer(), constant.ordinal());
    return new Scalar(
        to.add(Op.LOAD, element.value(), new Access(Access.Space.CONST, element), address));
  }

  /** Returns the numbers of a field of all constants. */
  private static Optional<Object> numbers(Class<?> type, String name) {
    try {
      Field field = type.getDeclaredField(name);
      if (!field.getType().isPrimitive() || !Modifier.isFinal(field.getModifiers())) {
        return Optional.empty();
      }
      field.setAccessible(true);
      var constants = type.getEnumConstants();
      var numbers = Array.newInstance(field.getType(), constants.length);
      for (int i = 0; i < constants.length; i++) {
        Array.set(numbers, i, field.get(constants[i]));
      }
      return Optional.of(numbers);
    } catch (ReflectiveOperationException | InaccessibleObjectException e) {
      return Optional.empty();
    }
  }
}
