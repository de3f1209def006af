package dev.athanor.engine.lift;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** Finds the methods that are kernels, and lifts them. */
public final class Kernels {

  /** The kernels of a class, each of which is lifted once. */
  private static final ClassValue<Map<Method, JavaKernel>> BY_METHOD =
      new ClassValue<>() {
        @Override
        protected Map<Method, JavaKernel> computeValue(Class<?> type) {
          return new ConcurrentHashMap<>();
        }
      };

  /** The kernels of the classes that the JVM makes for method references, all of one method. */
  private static final ClassValue<AtomicReference<@Nullable JavaKernel>> BY_REFERENCE =
      new ClassValue<>() {
        @Override
        protected AtomicReference<@Nullable JavaKernel> computeValue(Class<?> type) {
          return new AtomicReference<>();
        }
      };

  private Kernels() {}

  /** Returns the kernel of a method reference such as {@code Saxpy::saxpy}. */
  public static JavaKernel of(KernelMethod.Of0 method) {
    return ofReference(method);
  }

  /** Returns the kernel of a method reference such as {@code Saxpy::saxpy}. */
  public static <A> JavaKernel of(KernelMethod.Of1<A> method) {
    return ofReference(method);
  }

  /** Returns the kernel of a method reference such as {@code Saxpy::saxpy}. */
  public static <A, B> JavaKernel of(KernelMethod.Of2<A, B> method) {
    return ofReference(method);
  }

  /** Returns the kernel of a method reference such as {@code Saxpy::saxpy}. */
  public static <A, B, C> JavaKernel of(KernelMethod.Of3<A, B, C> method) {
    return ofReference(method);
  }

  /** Returns the kernel of a method reference such as {@code Saxpy::saxpy}. */
  public static <A, B, C, D> JavaKernel of(KernelMethod.Of4<A, B, C, D> method) {
    return ofReference(method);
  }

  /** Returns the kernel of a method reference such as {@code Saxpy::saxpy}. */
  public static <A, B, C, D, E> JavaKernel of(KernelMethod.Of5<A, B, C, D, E> method) {
    return ofReference(method);
  }

  /** Returns the kernel of a method reference such as {@code Saxpy::saxpy}. */
  public static <A, B, C, D, E, F> JavaKernel of(KernelMethod.Of6<A, B, C, D, E, F> method) {
    return ofReference(method);
  }

  /** Returns the kernel of a method reference such as {@code Saxpy::saxpy}. */
  public static <A, B, C, D, E, F, G> JavaKernel of(KernelMethod.Of7<A, B, C, D, E, F, G> method) {
    return ofReference(method);
  }

  /** Returns the kernel of a method reference such as {@code Saxpy::saxpy}. */
  public static <A, B, C, D, E, F, G, H> JavaKernel of(
      KernelMethod.Of8<A, B, C, D, E, F, G, H> method) {
    return ofReference(method);
  }

  /** Returns the kernel of a method reference such as {@code Saxpy::saxpy}. */
  public static <A, B, C, D, E, F, G, H, I> JavaKernel of(
      KernelMethod.Of9<A, B, C, D, E, F, G, H, I> method) {
    return ofReference(method);
  }

  /** Returns the kernel of a method reference such as {@code Saxpy::saxpy}. */
  public static <A, B, C, D, E, F, G, H, I, J> JavaKernel of(
      KernelMethod.Of10<A, B, C, D, E, F, G, H, I, J> method) {
    return ofReference(method);
  }

  /** Returns the kernel of a method reference such as {@code Saxpy::saxpy}. */
  public static <A, B, C, D, E, F, G, H, I, J, K> JavaKernel of(
      KernelMethod.Of11<A, B, C, D, E, F, G, H, I, J, K> method) {
    return ofReference(method);
  }

  /** Returns the kernel of a method reference such as {@code Saxpy::saxpy}. */
  public static <A, B, C, D, E, F, G, H, I, J, K, L> JavaKernel of(
      KernelMethod.Of12<A, B, C, D, E, F, G, H, I, J, K, L> method) {
    return ofReference(method);
  }

  /**
   * Returns the kernel of a method by its name.
   *
   * @throws IllegalArgumentException unless the class has exactly one static method of that name
   */
  public static JavaKernel of(Class<?> type, String name) {
    List<Method> found =
        Arrays.stream(type.getDeclaredMethods()).filter(m -> m.getName().equals(name)).toList();
    if (found.size() != 1) {
      throw new IllegalArgumentException(
          "%s has %d methods named `%s`; a kernel needs exactly one"
              .formatted(type.getName(), found.size(), name));
    }
    return BY_METHOD.get(type).computeIfAbsent(found.getFirst(), JavaKernel::new);
  }

  private static JavaKernel ofReference(KernelMethod reference) {
    var known = BY_REFERENCE.get(reference.getClass());
    var kernel = known.get();
    if (kernel == null) {
      var method = MethodReferences.resolve(reference);
      kernel = BY_METHOD.get(method.getDeclaringClass()).computeIfAbsent(method, JavaKernel::new);
      known.set(kernel);
    }
    return kernel;
  }
}
