package dev.athanor.engine.lift;

import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.Dim3;
import java.io.Serializable;
import java.lang.reflect.Method;
import java.util.ArrayList;
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

  /** The function that {@link #forEach} calls. */
  @FunctionalInterface
  public interface LoopBody extends Serializable {
    void run(int index);
  }

  /** A function whose results {@link #sum} adds. */
  @FunctionalInterface
  public interface Summand extends Serializable {
    double at(int index);
  }

  /** The kernels of the classes that the JVM makes for method references, all of one method. */
  private static final ClassValue<AtomicReference<@Nullable JavaKernel>> BY_REFERENCE =
      new ClassValue<>() {
        @Override
        protected AtomicReference<@Nullable JavaKernel> computeValue(Class<?> type) {
          return new AtomicReference<>();
        }
      };

  /** Blocks of a loop: those that a multiprocessor holds at once, with 2048 threads. */
  private static final int BLOCKS_PER_MULTIPROCESSOR = 2048 / GridLoops.BLOCK;

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
    return of(found.getFirst());
  }

  /**
   * Returns the kernel of a method.
   *
   * @throws IllegalArgumentException if the method has no {@link GpuKernel}
   * @throws dev.athanor.engine.lift.refusal.LiftException if the elements of the annotation are
   *     invalid
   */
  public static JavaKernel of(Method method) {
    return BY_METHOD.get(method.getDeclaringClass()).computeIfAbsent(method, JavaKernel::new);
  }

  /**
   * Calls a function on a device for each index from 0 to {@code n - 1}, in any order, and waits.
   * The function is a lambda that is lifted like a kernel when its place in the program is first
   * reached: {@code Kernels.forEach(device, n, i -> y[i] = 2 * x[i])}. Arrays and segments that it
   * uses are copied as by {@link DeviceKernel#launch(Dim3, Object...)}.
   *
   * @param n number of indices, at least 0
   * @throws dev.athanor.engine.lift.refusal.LiftException if the function cannot run on a device
   * @throws IllegalArgumentException if it uses the object around it
   * @throws CheckFailedException if a check failed
   */
  public static void forEach(Device device, int n, LoopBody body) {
    launch(device, n, "forEach", body, List.of());
  }

  /**
   * Returns the sum of the results of a function for each index from 0 to {@code n - 1}, as {@link
   * #forEach} calls it. The order of the additions depends on the number of multiprocessors alone.
   */
  public static double sum(Device device, int n, Summand summand) {
    var ofBlocks = new double[blocks(device, n)];
    launch(device, n, "sum", summand, List.of(ofBlocks));
    return Arrays.stream(ofBlocks).sum();
  }

  private static void launch(
      Device device, int n, String loop, Serializable function, List<Object> outputs) {
    int blocks = blocks(device, n);
    if (blocks == 0) {
      return;
    }
    var lambda = MethodReferences.lambda(function);
    var known = BY_REFERENCE.get(function.getClass());
    var kernel = known.get();
    if (kernel == null) {
      kernel = new JavaKernel(of(GridLoops.class, loop).method(), lambda.method());
      known.set(kernel);
    }
    var arguments = new ArrayList<Object>();
    arguments.add(n);
    arguments.addAll(outputs);
    arguments.addAll(lambda.captured());
    kernel.on(device).launch(blocks, arguments.toArray());
  }

  private static int blocks(Device device, int n) {
    if (n < 0) {
      throw new IllegalArgumentException("a loop has at least 0 indices, got " + n);
    }
    long resident = (long) BLOCKS_PER_MULTIPROCESSOR * device.capability().multiprocessors();
    return (int) Math.min(resident, Math.ceilDiv(n, GridLoops.BLOCK));
  }

  private static JavaKernel ofReference(KernelMethod reference) {
    var known = BY_REFERENCE.get(reference.getClass());
    var kernel = known.get();
    if (kernel == null) {
      kernel = of(MethodReferences.resolve(reference));
      known.set(kernel);
    }
    return kernel;
  }
}
