package dev.athanor.engine.lift;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.lift.host.GpuThread;
import dev.athanor.engine.lift.host.PlainJava;
import java.lang.reflect.Method;
import java.util.Arrays;

/** Runs static methods of a test class as kernels in plain Java. */
record InJava(Class<?> kernels) {

  void run(String kernel, Dim3 grid, Dim3 block, Object... arguments) {
    PlainJava.run(method(kernel), grid, block, 0, GpuThread.STANDARD_OUTPUT, arguments);
  }

  Method method(String name) {
    return Arrays.stream(kernels.getDeclaredMethods())
        .filter(method -> method.getName().equals(name))
        .findFirst()
        .orElseThrow();
  }
}
