package dev.athanor.junit;

import dev.athanor.engine.device.Device;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.text.PtxSyntaxException;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.opentest4j.TestAbortedException;

/**
 * Launches kernels on the device of a {@link GpuTest} with arrays as arguments: kernels of the
 * kernel builder, of PTX files, and of CUDA C++ files. For kernels that are Java methods, use
 * {@code Kernels.of(…).on(device)}.
 */
public final class Launcher {
  private final Device device;
  private final KernelFiles files;

  Launcher(Device device, KernelFiles files) {
    this.device = device;
    this.files = files;
  }

  /** Returns a kernel, such as one of {@code KernelBuilder.build}. */
  public LaunchableKernel kernel(Kernel kernel) {
    return new LaunchableKernel(device, Module.of(kernel), kernel);
  }

  /**
   * Returns a kernel of a module.
   *
   * @throws IllegalArgumentException if the module has no such kernel
   */
  public LaunchableKernel kernel(Module module, String name) {
    return select(module, "the module", name);
  }

  /**
   * Returns the kernel of a PTX file with one kernel.
   *
   * @param file resource, relative to the package of the test class; from the root with a leading
   *     slash
   * @throws IllegalArgumentException if there is no such resource, or it has not exactly one kernel
   * @throws PtxSyntaxException if it is not PTX
   */
  public LaunchableKernel ptx(String file) {
    return only(files.ptx(file), file);
  }

  /**
   * Returns a kernel of a PTX file, as {@link #ptx(String)}.
   *
   * @param name name of the kernel in PTX, or in C++ without namespace and parameters
   */
  public LaunchableKernel ptx(String file, String name) {
    return select(files.ptx(file), file, name);
  }

  /**
   * Returns the kernel of a CUDA C++ file with one kernel. {@code nvcc} compiles it to PTX for the
   * target of the device, with line numbers.
   *
   * @param file resource, as for {@link #ptx(String)}
   * @throws TestAbortedException if there is no {@code nvcc} on the {@code PATH}
   * @throws IllegalArgumentException if there is no such resource, {@code nvcc} rejects it, or it
   *     has not exactly one kernel
   */
  public LaunchableKernel cuda(String file) {
    return only(files.cuda(file, device.capability().target()), file);
  }

  /**
   * Returns a kernel of a CUDA C++ file, as {@link #cuda(String)}.
   *
   * @param name name of the kernel in C++ without namespace and parameters, or in PTX
   */
  public LaunchableKernel cuda(String file, String name) {
    return select(files.cuda(file, device.capability().target()), file, name);
  }

  private LaunchableKernel only(Module module, String file) {
    return one(module, file, _ -> true, "name one of them");
  }

  private LaunchableKernel select(Module module, String file, String name) {
    var mangled = "_Z" + name.length() + name;
    return one(
        module,
        file,
        kernel -> kernel.name().equals(name) || kernel.name().startsWith(mangled),
        "got \"" + name + "\"");
  }

  private LaunchableKernel one(
      Module module, String file, Predicate<Kernel> wanted, String otherwise) {
    List<Kernel> found = module.kernels().stream().filter(wanted).toList();
    if (found.size() != 1) {
      throw new IllegalArgumentException(
          "%s has the kernels %s; %s"
              .formatted(
                  file,
                  module.kernels().stream().map(Kernel::name).collect(Collectors.joining(", ")),
                  otherwise));
    }
    return new LaunchableKernel(device, module, found.getFirst());
  }
}
