package dev.athanor.junit;

import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.KernelImage;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.LoadedKernel;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Module;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A kernel on a device. The methods that set an option return a copy, so a value may be used by
 * several threads.
 */
public final class LaunchableKernel {
  private final Device device;
  private final Supplier<LoadedKernel> loader;
  private final Kernel kernel;
  private final Dim3 block;
  private final int dynamicSharedBytes;

  LaunchableKernel(Device device, Module module, Kernel kernel) {
    this(device, () -> device.load(module, kernel.name()), kernel, declaredBlock(kernel), 0);
  }

  LaunchableKernel(Device device, KernelImage image) {
    this(device, () -> device.load(image), image.kernel(), Dim3.of(1), 0);
  }

  private LaunchableKernel(
      Device device,
      Supplier<LoadedKernel> loader,
      Kernel kernel,
      Dim3 block,
      int dynamicSharedBytes) {
    this.device = device;
    this.loader = loader;
    this.kernel = kernel;
    this.block = block;
    this.dynamicSharedBytes = dynamicSharedBytes;
  }

  private static Dim3 declaredBlock(Kernel kernel) {
    var shape = kernel.launchBounds().requiredBlockShape();
    return shape.isEmpty()
        ? Dim3.of(Math.max(1, kernel.maxThreads()))
        : new Dim3(shape.get(0), shape.get(1), shape.get(2));
  }

  /**
   * Sets the threads of a block. The default is the block that the kernel requires, or else its
   * maximum number of threads, or else one thread.
   */
  public LaunchableKernel block(Dim3 value) {
    return new LaunchableKernel(device, loader, kernel, value, dynamicSharedBytes);
  }

  /** Sets the threads of a one-dimensional block. */
  public LaunchableKernel block(int threads) {
    return block(Dim3.of(threads));
  }

  /** Sets the bytes of the dynamic shared array. */
  public LaunchableKernel dynamicShared(int bytes) {
    return new LaunchableKernel(device, loader, kernel, block, bytes);
  }

  /** Launches a one-dimensional grid, as {@link #launch(Dim3, Object...)}. */
  public void launch(int blocks, @Nullable Object... arguments) {
    launch(Dim3.of(blocks), arguments);
  }

  /**
   * Launches the kernel and waits for it.
   *
   * @param arguments one for each parameter: an array of numbers or a {@link
   *     java.lang.foreign.MemorySegment}, which is copied to the device and back; a {@link
   *     dev.athanor.engine.device.Buffer} of the device, whose address is passed; a number; or an
   *     {@link dev.athanor.engine.device.Argument}. An array that is passed twice is copied once. A
   *     segment for a structure parameter is passed by value.
   * @throws IllegalArgumentException if an argument does not match its parameter, or the grid or
   *     block exceeds a limit
   * @throws DeviceException if the launch failed
   */
  public void launch(Dim3 grid, @Nullable Object... arguments) {
    if (arguments.length != kernel.parameters().size()) {
      throw new IllegalArgumentException(
          "%s has %d parameters, got %d arguments"
              .formatted(kernel.name(), kernel.parameters().size(), arguments.length));
    }
    try (var stream = device.openStream();
        var passed = new HostArguments(device, stream)) {
      for (int i = 0; i < arguments.length; i++) {
        passed.add(kernel.parameters().get(i), arguments[i]);
      }
      stream.launch(new Launch(loader.get(), grid, block, dynamicSharedBytes, passed.list()));
      passed.copyBack();
    }
  }
}
