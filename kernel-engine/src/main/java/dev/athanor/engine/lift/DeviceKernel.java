package dev.athanor.engine.lift;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * A kernel on a device. The methods that set an option return a copy, so a value may be used by
 * several threads.
 */
public final class DeviceKernel {
  private final JavaKernel kernel;
  private final Device device;
  private final Options options;

  /** What a launch has besides its grid and arguments. */
  private record Options(
      boolean checked, Optional<Dim3> block, int dynamicSharedBytes, boolean cooperative) {}

  DeviceKernel(JavaKernel kernel, Device device) {
    this(
        kernel,
        device,
        new Options(device.capability().isEmulated(), kernel.blockSize(), 0, false));
  }

  private DeviceKernel(JavaKernel kernel, Device device, Options options) {
    this.kernel = kernel;
    this.device = device;
    this.options = options;
  }

  /**
   * Sets whether array indices, integer divisors and the bounds of {@code Math.clamp} are checked.
   * Without checks, an index that is out of bounds has the effects of a wild pointer, and a
   * division by zero has some result.
   */
  public DeviceKernel checked(boolean value) {
    return with(new Options(value, options.block, options.dynamicSharedBytes, options.cooperative));
  }

  /**
   * Sets the threads of a block.
   *
   * @throws IllegalArgumentException if the kernel declares another shape
   */
  public DeviceKernel block(Dim3 value) {
    kernel.requireBlock(value);
    return with(
        new Options(
            options.checked, Optional.of(value), options.dynamicSharedBytes, options.cooperative));
  }

  /** Sets the bytes of the dynamic shared array. */
  public DeviceKernel dynamicShared(int bytes) {
    return with(new Options(options.checked, options.block, bytes, options.cooperative));
  }

  /**
   * Sets whether all blocks of a launch are on the device at once, so that they can wait for each
   * other. A grid that does not fit is then refused. Launches of a kernel that calls {@link
   * Gpu#gridBarrier} always are.
   */
  public DeviceKernel cooperative(boolean value) {
    return with(new Options(options.checked, options.block, options.dynamicSharedBytes, value));
  }

  private DeviceKernel with(Options changed) {
    return new DeviceKernel(kernel, device, changed);
  }

  /** Launches a one-dimensional grid, as {@link #launch(Dim3, Object...)}. */
  public void launch(int blocks, Object... arguments) {
    launch(Dim3.of(blocks), arguments);
  }

  /**
   * Launches the kernel and waits for it. Arrays and segments are copied to the device, and those
   * that the kernel writes are copied back; records that it changed are replaced by new ones. A
   * {@link DeviceArray} or {@link Buffer} of the device in place of an array stays there.
   *
   * @param arguments one for each parameter of the method
   * @throws IllegalArgumentException if an argument does not match its parameter, an array that the
   *     kernel writes is passed twice, or the grid or block exceeds a limit
   * @throws CheckFailedException if a check failed
   * @throws DeviceException if the launch failed otherwise
   */
  public void launch(Dim3 grid, Object... arguments) {
    var code = kernel.compile(options.checked);
    try (var stream = KernelStream.open(device);
        var passed = LaunchArguments.of(code, arguments, stream)) {
      stream.launch(code, passed, prepare(code, grid));
      stream.synchronize();
      passed.copyBack(stream.stream());
    }
  }

  /** Times a one-dimensional grid, as {@link #time(Dim3, Object...)}. */
  public double time(int blocks, Object... arguments) {
    return time(Dim3.of(blocks), arguments);
  }

  /**
   * Launches the kernel as {@link #launch(Dim3, Object...)} does, and returns the microseconds that
   * the device took for it. They include no copies and no compilation.
   */
  public double time(Dim3 grid, Object... arguments) {
    var code = kernel.compile(options.checked);
    try (var stream = KernelStream.open(device);
        var passed = LaunchArguments.of(code, arguments, stream)) {
      var launch = prepare(code, grid);
      try (var start = stream.stream().record()) {
        stream.launch(code, passed, launch);
        try (var end = stream.stream().record()) {
          stream.synchronize();
          passed.copyBack(stream.stream());
          return end.microsSince(start);
        }
      }
    }
  }

  /** Enqueues a one-dimensional grid, as {@link #launchAsync(KernelStream, Dim3, Object...)}. */
  public void launchAsync(KernelStream stream, int blocks, Object... arguments) {
    launchAsync(stream, Dim3.of(blocks), arguments);
  }

  /**
   * Enqueues a launch and does not wait for it. Failed checks are thrown by {@link
   * KernelStream#synchronize}. A stream holds 64 checked launches: the next one first waits for
   * them, and is not enqueued if a check of theirs failed.
   *
   * @param arguments one for each parameter of the method; a {@link DeviceArray} or {@link Buffer}
   *     for each array
   * @throws IllegalArgumentException if an argument does not match its parameter or is in memory of
   *     the host, an array that the kernel writes is passed twice, the stream belongs to another
   *     device, or the grid or block exceeds a limit
   * @throws CheckFailedException if a check of an earlier launch failed
   * @throws DeviceException if the launch failed at once
   */
  public void launchAsync(KernelStream stream, Dim3 grid, Object... arguments) {
    if (!stream.device().equals(device)) {
      throw new IllegalArgumentException(
          "the kernel is on %s, the stream on %s"
              .formatted(device.capability().id(), stream.device().capability().id()));
    }
    var code = kernel.compile(options.checked);
    stream.launch(code, LaunchArguments.ofDevice(code, arguments), prepare(code, grid));
  }

  private Function<List<Argument>, Launch> prepare(CompiledKernel code, Dim3 grid) {
    var loaded = code.on(device);
    var block = options.block.orElseThrow(kernel::noBlock);
    if (options.checked) {
      requireThreads("x", grid.x(), block.x());
      requireThreads("y", grid.y(), block.y());
      requireThreads("z", grid.z(), block.z());
    }
    return arguments -> {
      var launch = new Launch(loaded, grid, block, options.dynamicSharedBytes, arguments);
      return options.cooperative || code.cooperative() ? launch.asCooperative() : launch;
    };
  }

  /** Checks that the index of a thread in the grid is an int, as checked code assumes. */
  private static void requireThreads(String axis, long blocks, long threads) {
    if (blocks * threads > Integer.MAX_VALUE) {
      throw new IllegalArgumentException(
          "a launch with checks has at most 2^31 - 1 threads along %s, got %d blocks of %d"
              .formatted(axis, blocks, threads));
    }
  }
}
