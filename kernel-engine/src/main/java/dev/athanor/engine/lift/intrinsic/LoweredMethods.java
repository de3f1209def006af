package dev.athanor.engine.lift.intrinsic;

import dev.athanor.engine.lift.ir.Effect;
import dev.athanor.engine.lift.ir.Instructions;
import dev.athanor.engine.lift.ir.Intrinsic;
import dev.athanor.engine.ptx.Operand;
import java.lang.annotation.Annotation;
import java.lang.classfile.AnnotationElement;
import java.lang.classfile.AnnotationValue;
import java.lang.classfile.Attributes;
import java.lang.classfile.MethodModel;
import java.lang.invoke.MethodHandleProxies;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/** Reads {@link Lowered} and the annotations of its parameters from class files. */
public final class LoweredMethods {
  private static final MethodType LOWERING =
      MethodType.methodType(void.class, Instructions.class, Operand.class, List.class);

  private LoweredMethods() {}

  /**
   * Returns the intrinsic of a method, without its signature; empty if it has no lowering.
   *
   * @param load loads a class by its internal name
   * @param refuse makes the exception if the lowering cannot be used, of the reason
   */
  public static Optional<Intrinsic> find(
      MethodModel method,
      Function<String, Class<?>> load,
      Function<String, ? extends RuntimeException> refuse) {
    return method.findAttribute(Attributes.runtimeVisibleAnnotations()).stream()
        .flatMap(attribute -> attribute.annotations().stream())
        .filter(annotation -> isA(annotation, Lowered.class))
        .findFirst()
        .map(annotation -> intrinsic(annotation, load, refuse));
  }

  /** Returns whether a parameter, by its number, has an annotation. */
  public static boolean hasAnnotation(
      MethodModel method, int parameter, Class<? extends Annotation> type) {
    return annotation(method, parameter, type).isPresent();
  }

  /** Returns the elements that are accessed from an index on, a parameter by its number. */
  public static int elements(MethodModel method, int parameter) {
    return annotation(method, parameter, Lowered.Index.class).stream()
        .flatMap(index -> index.elements().stream())
        .map(AnnotationElement::value)
        .filter(AnnotationValue.OfInt.class::isInstance)
        .mapToInt(value -> ((AnnotationValue.OfInt) value).intValue())
        .findFirst()
        .orElse(1);
  }

  private static Optional<java.lang.classfile.Annotation> annotation(
      MethodModel method, int parameter, Class<? extends Annotation> type) {
    return method.findAttribute(Attributes.runtimeVisibleParameterAnnotations()).stream()
        .map(attribute -> attribute.parameterAnnotations())
        .filter(parameters -> parameter < parameters.size())
        .flatMap(parameters -> parameters.get(parameter).stream())
        .filter(annotation -> isA(annotation, type))
        .findFirst();
  }

  private static boolean isA(
      java.lang.classfile.Annotation annotation, Class<? extends Annotation> type) {
    return annotation.className().equalsString(type.descriptorString());
  }

  private static Intrinsic intrinsic(
      java.lang.classfile.Annotation annotation,
      Function<String, Class<?>> load,
      Function<String, ? extends RuntimeException> refuse) {
    String by = "";
    String name = "";
    var effect = Effect.NONE;
    for (AnnotationElement element : annotation.elements()) {
      switch (element.value()) {
        case AnnotationValue.OfClass type -> by = type.className().stringValue();
        case AnnotationValue.OfString text -> name = text.stringValue();
        case AnnotationValue.OfEnum constant ->
            effect = Effect.valueOf(constant.constantName().stringValue());
        default -> throw new IllegalStateException("unknown element of @Lowered: " + element);
      }
    }
    var type = load.apply(by.substring(1, by.length() - 1));
    try {
      var handle = MethodHandles.publicLookup().findStatic(type, name, LOWERING);
      return new Intrinsic(
          type.getSimpleName() + "." + name,
          effect,
          MethodHandleProxies.asInterfaceInstance(Intrinsic.Lowering.class, handle));
    } catch (ReflectiveOperationException e) {
      throw refuse.apply(String.valueOf(e.getMessage()));
    }
  }
}
