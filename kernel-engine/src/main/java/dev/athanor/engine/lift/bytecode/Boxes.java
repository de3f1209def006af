package dev.athanor.engine.lift.bytecode;

import java.lang.constant.ClassDesc;
import java.lang.constant.MethodTypeDesc;
import java.util.Map;
import java.util.Objects;

/** The classes of boxed numbers. */
final class Boxes {

  private static final String BOOLEAN = "java/lang/Boolean";
  private static final String CHARACTER = "java/lang/Character";

  /** The class for each primitive type, by descriptor. */
  private static final Map<String, String> CLASSES =
      Map.of(
          "Z", BOOLEAN,
          "B", "java/lang/Byte",
          "S", "java/lang/Short",
          "C", CHARACTER,
          "I", "java/lang/Integer",
          "J", "java/lang/Long",
          "F", "java/lang/Float",
          "D", "java/lang/Double");

  private Boxes() {}

  /** Returns the class for a primitive type. */
  static String of(ClassDesc primitive) {
    return Objects.requireNonNull(CLASSES.get(primitive.descriptorString()));
  }

  /** Returns the primitive type of a class. */
  static Class<?> primitive(String box) {
    return CLASSES.entrySet().stream()
        .filter(each -> each.getValue().equals(box))
        .map(each -> Class.forPrimitiveName(ClassDesc.ofDescriptor(each.getKey()).displayName()))
        .findFirst()
        .orElseThrow();
  }

  static boolean isBoxing(String owner, String name, MethodTypeDesc type) {
    return name.equals("valueOf")
        && type.parameterCount() == 1
        && owner.equals(CLASSES.get(type.parameterType(0).descriptorString()));
  }

  static boolean isUnboxing(String owner, String name) {
    return name.endsWith("Value")
        && (CLASSES.containsValue(owner) || owner.equals("java/lang/Number"));
  }

  /** Returns whether a cast of a box to a class succeeds. */
  static boolean isInstance(String box, String type) {
    return switch (type) {
      case "java/lang/Object", "java/lang/Comparable", "java/io/Serializable" -> true;
      case "java/lang/Number" -> !box.equals(BOOLEAN) && !box.equals(CHARACTER);
      default -> box.equals(type);
    };
  }
}
