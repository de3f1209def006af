package dev.athanor.engine.lift.host;

import dev.athanor.engine.device.DeviceException.KernelFault;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.lift.refusal.OpenPackages;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.InaccessibleObjectException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Runs kernels as plain Java: the blocks one after another unless they wait for each other, and in
 * each block a virtual thread for each GPU thread, named such as {@code block (0,0,0) thread
 * (5,0,0)}. Breakpoints, exceptions and array bounds work as in all Java code.
 */
public final class PlainJava {
  private static final int MOST_THREADS = 1024;

  /** Stands for the threads of a kernel. */
  private static final Thread OTHER_THREAD = Thread.ofVirtual().unstarted(() -> {});

  private PlainJava() {}

  /**
   * Runs a kernel and returns when all blocks have ended.
   *
   * @param kernel a static method that returns nothing
   * @param dynamicSharedBytes size of each block's dynamic shared memory in bytes
   * @param output receives the text of each call that prints, one after another
   * @param arguments one for each parameter; arrays are used in place
   * @throws IllegalArgumentException if the kernel, the block or an argument does not fit
   * @throws KernelFault if a thread throws an exception, which is the cause, or if threads wait for
   *     each other forever
   */
  public static void run(
      Method kernel,
      Dim3 grid,
      Dim3 block,
      int dynamicSharedBytes,
      Consumer<String> output,
      @Nullable Object... arguments) {
    var name = kernel.getName();
    if (block.count() > MOST_THREADS) {
      throw new IllegalArgumentException(
          "cannot launch %s: got a block of %s threads; the limit is %d"
              .formatted(name, block, MOST_THREADS));
    }
    if (dynamicSharedBytes < 0) {
      throw new IllegalArgumentException(
          "cannot launch %s: got %d bytes of dynamic shared memory; the minimum is 0"
              .formatted(name, dynamicSharedBytes));
    }
    var handle = bind(kernel, arguments);
    try {
      var failure = new BlockGrid(grid, block, dynamicSharedBytes, output, handle).run();
      if (failure != null) {
        throw fault(name, failure.sentence(), failure.cause());
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw fault(name, "the launch was interrupted", interrupted);
    }
  }

  /**
   * Returns the kernel with its arguments, as a method without parameters.
   *
   * @throws IllegalArgumentException if it is not static, returns a value, or an argument does not
   *     fit its parameter
   */
  private static MethodHandle bind(Method kernel, @Nullable Object... arguments) {
    var name = kernel.getName();
    if (!Modifier.isStatic(kernel.getModifiers()) || kernel.getReturnType() != void.class) {
      throw new IllegalArgumentException(
          "a kernel is a static method that returns void, got " + kernel);
    }
    if (arguments.length != kernel.getParameterCount()) {
      throw new IllegalArgumentException(
          "cannot launch %s: got %d arguments; the kernel takes %d"
              .formatted(name, arguments.length, kernel.getParameterCount()));
    }
    for (int i = 0; i < arguments.length; i++) {
      var parameter = kernel.getParameters()[i];
      var argument = arguments[i];
      if (argument == null || !boxed(parameter.getType()).isInstance(argument)) {
        throw new IllegalArgumentException(
            "cannot launch %s: got %s for parameter %s of type %s"
                .formatted(
                    name,
                    argument == null
                        ? "null"
                        : argument.getClass().getSimpleName() + " " + argument,
                    parameter.getName(),
                    parameter.getType().getSimpleName()));
      }
      if (argument instanceof MemorySegment segment && !segment.isAccessibleBy(OTHER_THREAD)) {
        throw new IllegalArgumentException(
            "cannot launch %s: the segment for parameter %s is confined to one thread; allocate it with Arena.ofShared() or Arena.ofAuto()"
                .formatted(name, parameter.getName()));
      }
    }
    try {
      kernel.setAccessible(true);
      var handle = MethodHandles.lookup().unreflect(kernel);
      return MethodHandles.insertArguments(handle.asFixedArity(), 0, arguments);
    } catch (IllegalAccessException | InaccessibleObjectException denied) {
      throw new IllegalArgumentException(
          "cannot launch %s: its package is not open; %s"
              .formatted(name, OpenPackages.request(kernel.getDeclaringClass())),
          denied);
    }
  }

  private static Class<?> boxed(Class<?> type) {
    return MethodType.methodType(type).wrap().returnType();
  }

  private static KernelFault fault(String kernel, String sentence, @Nullable Throwable cause) {
    var fault = new KernelFault(kernel, List.of(sentence));
    if (cause != null) {
      fault.initCause(cause);
    }
    return fault;
  }
}
