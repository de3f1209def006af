package dev.athanor.engine.lift;

import dev.athanor.engine.lift.refusal.OpenPackages;
import java.lang.invoke.MethodType;
import java.lang.invoke.SerializedLambda;
import java.lang.reflect.InaccessibleObjectException;
import java.lang.reflect.Method;

/** Finds the method that a serializable method reference refers to. */
final class MethodReferences {

  private MethodReferences() {}

  /**
   * Returns the method.
   *
   * @throws IllegalArgumentException if the object is a lambda expression, or of a class that this
   *     module may not open
   */
  static Method resolve(KernelMethod reference) {
    try {
      var replace = reference.getClass().getDeclaredMethod("writeReplace");
      replace.setAccessible(true);
      if (replace.invoke(reference) instanceof SerializedLambda lambda) {
        return method(lambda, reference.getClass().getClassLoader());
      }
    } catch (ReflectiveOperationException | InaccessibleObjectException e) {
      throw new IllegalArgumentException(
          "cannot find the method of %s; %suse Kernels.of(Class, String)"
              .formatted(
                  reference.getClass().getName(),
                  reference.getClass().getModule().isNamed()
                      ? OpenPackages.request(reference.getClass()) + ", or "
                      : ""),
          e);
    }
    throw new IllegalArgumentException(
        "%s is no method reference; write Class::method".formatted(reference.getClass().getName()));
  }

  private static Method method(SerializedLambda lambda, ClassLoader loader)
      throws ReflectiveOperationException {
    var name = lambda.getImplMethodName();
    if (name.startsWith("lambda$")) {
      throw new IllegalArgumentException(
          "a kernel is a method reference such as Saxpy::saxpy, not a lambda expression");
    }
    var type = Class.forName(lambda.getImplClass().replace('/', '.'), false, loader);
    var descriptor = MethodType.fromMethodDescriptorString(lambda.getImplMethodSignature(), loader);
    return type.getDeclaredMethod(name, descriptor.parameterArray());
  }
}
