package dev.athanor.engine.lift.intrinsic;

import dev.athanor.engine.lift.ir.Effect;
import dev.athanor.engine.lift.ir.Instructions;
import dev.athanor.engine.lift.ir.Intrinsic;
import dev.athanor.engine.ptx.Operand;
import java.lang.classfile.Annotation;
import java.lang.classfile.AnnotationElement;
import java.lang.classfile.AnnotationValue;
import java.lang.classfile.Attributes;
import java.lang.classfile.MethodModel;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodHandleProxies;
import java.lang.invoke.MethodType;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Finds the lowering of a method that is annotated with {@link Lowered}. */
public final class LoweredMethods {
  private static final String ANNOTATION = Lowered.class.descriptorString();

  private LoweredMethods() {}

  /**
   * Returns the meaning of a method; null if it has no lowering.
   *
   * @param load loads a class by its internal name
   * @param refuse makes the exception if the lowering cannot be used, of the reason
   */
  public static @Nullable Meaning find(
      Optional<MethodModel> method,
      Function<String, Class<?>> load,
      Function<String, ? extends RuntimeException> refuse) {
    return method
        .flatMap(m -> m.findAttribute(Attributes.runtimeVisibleAnnotations()))
        .stream()
        .flatMap(attribute -> attribute.annotations().stream())
        .filter(annotation -> annotation.className().equalsString(ANNOTATION))
        .findFirst()
        .map(annotation -> meaning(annotation, load, refuse))
        .orElse(null);
  }

  private static Meaning meaning(
      Annotation annotation,
      Function<String, Class<?>> load,
      Function<String, ? extends RuntimeException> refuse) {
    String by = "";
    String name = "";
    boolean pure = true;
    for (AnnotationElement element : annotation.elements()) {
      switch (element.value()) {
        case AnnotationValue.OfClass type -> by = type.className().stringValue();
        case AnnotationValue.OfString text -> name = text.stringValue();
        case AnnotationValue.OfBoolean flag -> pure = flag.booleanValue();
        default -> throw new IllegalStateException("unknown element of @Lowered: " + element);
      }
    }
    var type = load.apply(by.substring(1, by.length() - 1));
    try {
      var handle =
          MethodHandles.publicLookup()
              .findStatic(
                  type,
                  name,
                  MethodType.methodType(
                      void.class, Instructions.class, Operand.class, List.class));
      var lowering =
          MethodHandleProxies.asInterfaceInstance(Intrinsic.Lowering.class, handle);
      return new Meaning.OfInstructions(
          new Intrinsic(
              type.getSimpleName() + "." + name, pure ? Effect.NONE : Effect.WRITE, lowering));
    } catch (ReflectiveOperationException e) {
      throw refuse.apply(String.valueOf(e.getMessage()));
    }
  }
}
