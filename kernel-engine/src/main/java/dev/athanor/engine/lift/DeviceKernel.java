package dev.athanor.engine.lift;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.lift.emit.KernelEmitter;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A kernel on a device. The methods that set an option return a copy, so a value may be used by
 * several threads.
 */
public final class DeviceKernel {
  private static final int RECORD_BYTES = 48;

  private final JavaKernel kernel;
  private final Device device;
  private final boolean checked;
  private final Optional<Dim3> block;
  private final int dynamicSharedBytes;

  DeviceKernel(JavaKernel kernel, Device device) {
    this(kernel, device, device.capability().isEmulated(), kernel.blockSize(), 0);
  }

  private DeviceKernel(
      JavaKernel kernel,
      Device device,
      boolean checked,
      Optional<Dim3> block,
      int dynamicSharedBytes) {
    this.kernel = kernel;
    this.device = device;
    this.checked = checked;
    this.block = block;
    this.dynamicSharedBytes = dynamicSharedBytes;
  }

  /**
   * Sets whether array indices and integer divisors are checked. Without checks, an index that is
   * out of bounds has the effects of a wild pointer, and a division by zero has some result.
   */
  public DeviceKernel checked(boolean value) {
    return new DeviceKernel(kernel, device, value, block, dynamicSharedBytes);
  }

  /**
   * Sets the threads of a block.
   *
   * @throws IllegalArgumentException if the kernel declares another shape
   */
  public DeviceKernel block(Dim3 value) {
    kernel.requireBlock(value);
    return new DeviceKernel(kernel, device, checked, Optional.of(value), dynamicSharedBytes);
  }

  /** Sets the bytes of the dynamic shared array. */
  public DeviceKernel dynamicShared(int bytes) {
    return new DeviceKernel(kernel, device, checked, block, bytes);
  }

  /** Launches a one-dimensional grid, as {@link #launch(Dim3, Object...)}. */
  public void launch(int blocks, Object... arguments) {
    launch(Dim3.of(blocks), arguments);
  }

  /**
   * Launches the kernel and waits for it. Arrays and segments are copied to the device, and those
   * that the kernel writes are copied back. A {@link Buffer} of the device in place of an array
   * stays there.
   *
   * @param arguments one for each parameter of the method
   * @throws IllegalArgumentException if an argument does not match its parameter, an array that the
   *     kernel writes is passed twice, or the grid or block exceeds a limit
   * @throws CheckFailedException if a check failed
   * @throws DeviceException if the launch failed otherwise
   */
  public void launch(Dim3 grid, Object... arguments) {
    var code = kernel.compile(checked);
    try (var stream = device.openStream();
        var passed = LaunchArguments.of(code, arguments, device, stream);
        var fault = code.reportsFaults() ? device.allocate(RECORD_BYTES) : null) {
      run(code, grid, passed, fault, stream);
      passed.copyBack(stream);
      stream.synchronize();
    }
  }

  private void run(
      CompiledKernel code,
      Dim3 grid,
      LaunchArguments passed,
      @Nullable Buffer fault,
      Stream stream) {
    if (fault != null) {
      stream.fill(fault, 0, RECORD_BYTES, (byte) 0);
      passed.put(KernelEmitter.FAULT, Argument.of(fault));
    }
    var record = MemorySegment.ofArray(new long[RECORD_BYTES / Long.BYTES]);
    DeviceException.KernelFault failure = null;
    try {
      stream.launch(
          new Launch(
              code.on(device),
              grid,
              block.orElseThrow(kernel::noBlock),
              dynamicSharedBytes,
              passed.list(code.kernel())));
      if (fault != null) {
        stream.download(fault, 0, record);
      }
      stream.synchronize();
    } catch (DeviceException.KernelFault e) {
      failure = e;
      if (fault != null) {
        download(fault, record, failure);
      }
    }
    report(code, record, failure);
    if (failure != null) {
      throw failure;
    }
  }

  /** Reads the fault record after a fault, which ends the work of a stream. */
  private void download(Buffer fault, MemorySegment record, DeviceException failure) {
    try (var stream = device.openStream()) {
      stream.download(fault, 0, record);
      stream.synchronize();
    } catch (DeviceException e) {
      e.addSuppressed(failure);
      throw e;
    }
  }

  /** Throws if a thread recorded a fault. It explains the failure, if there is one. */
  private void report(
      CompiledKernel code, MemorySegment record, @Nullable DeviceException failure) {
    int site = record.get(ValueLayout.JAVA_INT, 0);
    if (site > 0) {
      var found =
          CheckFailedException.of(
              code.name(),
              code.sites().get(site - 1),
              record.get(ValueLayout.JAVA_LONG, 8),
              record.get(ValueLayout.JAVA_LONG, 16),
              ints(record, 24),
              ints(record, 36));
      if (failure != null) {
        found.addSuppressed(failure);
      }
      throw found;
    }
  }

  private static int[] ints(MemorySegment record, long offset) {
    return record.asSlice(offset, 12).toArray(ValueLayout.JAVA_INT);
  }
}
