package dev.athanor.engine.cuda;

import dev.athanor.engine.cuda.driver.CudaDriver;
import dev.athanor.engine.device.LoadedKernel;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.Version;
import java.lang.reflect.Modifier;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Checks of a CUDA device with a fake driver. They run in a separate process, because the dynamic
 * linker reads its search path when a process starts; {@link FakeDriverTest} starts it with the
 * driver of src/test/c/fakecuda.c. Each method of a subclass without parameters is a check.
 */
abstract class DriverChecks {

  static final Kernel SET_BYTES =
      kernel("set_bytes", 0, Type.U64, Type.U64, Type.U32, Type.F32, Type.U16, Type.F64);

  private static final List<Class<? extends DriverChecks>> ALL =
      List.of(MemoryChecks.class, KernelChecks.class, GraphChecks.class);

  /** Directory of cached machine code. */
  final Path cache;

  DriverChecks(Path cache) {
    this.cache = cache;
  }

  /**
   * Runs one check, or prints the probe's result or a kernel's origin.
   *
   * @param arguments a name, and a directory for machine code
   */
  public static void main(String[] arguments) throws ReflectiveOperationException {
    var cache = Path.of(arguments[1]);
    switch (arguments[0]) {
      case "probe" -> System.out.println(CudaDriver.probe());
      case "origin" -> {
        try (var device = CudaDevice.open(0, cache)) {
          System.out.println(load(device, SET_BYTES).origin());
        }
      }
      default -> {
        int dot = arguments[0].indexOf('.');
        var checks =
            ALL.stream()
                .filter(each -> each.getSimpleName().equals(arguments[0].substring(0, dot)))
                .findAny()
                .orElseThrow();
        var name = arguments[0].substring(dot + 1);
        var each = checks.getDeclaredConstructor(Path.class).newInstance(cache);
        checks.getDeclaredMethod(name).invoke(each);
      }
    }
  }

  /** Returns the names of all checks, as {@link #main} takes them. */
  static Stream<String> all() {
    return ALL.stream().flatMap(DriverChecks::in);
  }

  private static Stream<String> in(Class<? extends DriverChecks> checks) {
    return Arrays.stream(checks.getDeclaredMethods())
        .filter(method ->
            method.getParameterCount() == 0
                && !Modifier.isPrivate(method.getModifiers())
                && !method.isSynthetic())
        .map(method -> checks.getSimpleName() + "." + method.getName())
        .sorted();
  }

  CudaDevice open() {
    return CudaDevice.open(0, cache);
  }

  static Kernel kernel(String name, int sharedBytes, Type... parameters) {
    var shared =
        List.of(
            new Kernel.SharedArray("tile", 16, sharedBytes),
            new Kernel.SharedArray("extra", 16, Kernel.SharedArray.DYNAMIC));
    return new Kernel(
        name,
        IntStream.range(0, parameters.length)
            .mapToObj(i -> new Kernel.Parameter("p" + i, parameters[i]))
            .toList(),
        sharedBytes == 0 ? List.of() : shared,
        256,
        0,
        List.of());
  }

  static Module module(Kernel... kernels) {
    return new Module(new Version(7, 4), Target.SM_80, List.of(kernels));
  }

  static LoadedKernel load(CudaDevice device, Kernel kernel) {
    return device.load(module(kernel), kernel.name());
  }
}
