package dev.athanor.engine.lift;

import dev.athanor.engine.lift.refusal.OpenPackages;
import java.io.Serializable;
import java.lang.invoke.MethodHandleInfo;
import java.lang.invoke.MethodType;
import java.lang.invoke.SerializedLambda;
import java.lang.reflect.InaccessibleObjectException;
import java.lang.reflect.Method;
import java.util.List;
import java.util.stream.IntStream;

/** Finds the methods that serializable lambdas and method references call. */
final class MethodReferences {

  private MethodReferences() {}

  /** A lambda: the static method that it calls, and the first arguments. */
  record Lambda(Method method, List<Object> captured) {}

  /**
   * Returns the method.
   *
   * @throws IllegalArgumentException if the object is a lambda expression, or of a class that this
   *     module may not open
   */
  static Method resolve(KernelMethod reference) {
    var lambda = serialized(reference, "use Kernels.of(Class, String)");
    if (lambda.getImplMethodName().startsWith("lambda$")) {
      throw new IllegalArgumentException(
          "a kernel is a method reference such as Saxpy::saxpy, not a lambda expression");
    }
    return method(lambda, reference.getClass().getClassLoader());
  }

  /**
   * Returns what a lambda or method reference calls.
   *
   * @throws IllegalArgumentException if it uses the object around it, or is of a class that this
   *     module may not open
   */
  static Lambda lambda(Serializable function) {
    var lambda = serialized(function, "write a kernel");
    if (lambda.getImplMethodKind() != MethodHandleInfo.REF_invokeStatic) {
      throw new IllegalArgumentException(
          "a lambda of a loop cannot use fields or methods of its object; copy what it reads to local variables");
    }
    return new Lambda(method(lambda, function.getClass().getClassLoader()), captured(lambda));
  }

  private static List<Object> captured(SerializedLambda lambda) {
    return IntStream.range(0, lambda.getCapturedArgCount())
        .mapToObj(lambda::getCapturedArg)
        .toList();
  }

  private static SerializedLambda serialized(Serializable reference, String instead) {
    try {
      var replace = reference.getClass().getDeclaredMethod("writeReplace");
      replace.setAccessible(true);
      if (replace.invoke(reference) instanceof SerializedLambda lambda) {
        return lambda;
      }
    } catch (ReflectiveOperationException | InaccessibleObjectException e) {
      throw new IllegalArgumentException(
          "cannot find the method of %s; %s%s"
              .formatted(
                  reference.getClass().getName(),
                  reference.getClass().getModule().isNamed()
                      ? OpenPackages.request(reference.getClass()) + ", or "
                      : "",
                  instead),
          e);
    }
    throw new IllegalArgumentException(
        "%s is no method reference; write Class::method".formatted(reference.getClass().getName()));
  }

  private static Method method(SerializedLambda lambda, ClassLoader loader) {
    var signature = lambda.getImplMethodSignature();
    try {
      var type = Class.forName(lambda.getImplClass().replace('/', '.'), false, loader);
      var parameters = MethodType.fromMethodDescriptorString(signature, loader).parameterArray();
      return type.getDeclaredMethod(lambda.getImplMethodName(), parameters);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("the class of a lambda has its method", e);
    }
  }
}
