package dev.athanor.junit;

import dev.athanor.engine.device.Device;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.text.PtxSyntaxException;
import java.util.List;
import org.opentest4j.TestAbortedException;

/**
 * Launches kernels on the device of a {@link GpuTest} with arrays as arguments: kernels of the
 * kernel builder, of PTX files, of CUDA C++ files, and of cubins. For kernels that are Java
 * methods, use {@code Kernels.of(…).on(device)}.
 */
public final class Launcher {
  private final Device device;
  private final KernelFiles files;

  Launcher(Device device, KernelFiles files) {
    this.device = device;
    this.files = files;
  }

  /** Returns a kernel that was built by {@code KernelBuilder.build}, for example. */
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
   * @throws IllegalArgumentException if the resource does not exist or does not have exactly one
   *     kernel
   * @throws PtxSyntaxException if it is not PTX
   */
  public LaunchableKernel ptx(String file) {
    return only(files.ptx(file), file);
  }

  /**
   * Returns a kernel of a PTX file; see {@link #ptx(String)}.
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
   * @throws TestAbortedException if {@code nvcc} is not on the {@code PATH}
   * @throws IllegalArgumentException if the resource does not exist, {@code nvcc} rejects it, or it
   *     does not have exactly one kernel
   */
  public LaunchableKernel cuda(String file) {
    return only(files.cuda(file, device.capability().target()), file);
  }

  /**
   * Returns a kernel of a CUDA C++ file; see {@link #cuda(String)}.
   *
   * @param name name of the kernel in C++ without namespace and parameters, or in PTX
   */
  public LaunchableKernel cuda(String file, String name) {
    return select(files.cuda(file, device.capability().target()), file, name);
  }

  /**
   * Returns a kernel of a cubin or a fat binary. GPUs run the cubin for their architecture, and the
   * emulator runs the PTX of a fat binary.
   *
   * @param file resource, as for {@link #ptx(String)}
   * @param name name of the kernel in C++ without namespace and parameters, or in PTX
   * @throws TestAbortedException on the emulator, if the file has no PTX or it is compressed
   * @throws IllegalArgumentException if the resource or kernel does not exist, the file is neither
   *     a cubin nor a fat binary, or it has no cubin for the GPU
   */
  public LaunchableKernel cubin(String file, String name) {
    var cubin = files.cubin(file);
    return device.busId().isPresent()
        ? new LaunchableKernel(device, cubin.image(device, name))
        : select(cubin.ptx(device), file, name);
  }

  private LaunchableKernel only(Module module, String file) {
    var kernels = module.kernels();
    if (kernels.size() != 1) {
      throw KernelNames.notFound(file, names(module), "name one of them");
    }
    return new LaunchableKernel(device, module, kernels.getFirst());
  }

  private LaunchableKernel select(Module module, String file, String name) {
    return KernelNames.find(name, module.kernels(), Kernel::name)
        .map(kernel -> new LaunchableKernel(device, module, kernel))
        .orElseThrow(() -> KernelNames.notFound(file, names(module), "got \"" + name + "\""));
  }

  private static List<String> names(Module module) {
    return module.kernels().stream().map(Kernel::name).toList();
  }
}
