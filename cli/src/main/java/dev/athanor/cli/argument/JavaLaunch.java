package dev.athanor.cli.argument;

import dev.athanor.cli.argument.KernelArgument.Tensor;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.lift.DeviceKernel;
import dev.athanor.engine.lift.JavaKernel;
import dev.athanor.engine.lift.KernelParameter;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;

/**
 * A launch of a kernel in Java.
 *
 * @param checked whether array indices and integer divisors are checked
 * @param sharedBytes size of the dynamic shared array
 * @param values for each parameter, a {@link Tensor}, a boxed number or an enum constant
 */
public record JavaLaunch(
    JavaKernel kernel,
    boolean checked,
    Dim3 grid,
    Dim3 block,
    int sharedBytes,
    List<Object> values) {

  public JavaLaunch {
    values = List.copyOf(values);
  }

  /** Returns the tensors among the values. */
  public List<Tensor> tensors() {
    return values.stream().filter(Tensor.class::isInstance).map(Tensor.class::cast).toList();
  }

  /** Returns the kernel with the options of the launch on a device. */
  public DeviceKernel on(Device device) {
    return kernel.on(device).checked(checked).block(block).dynamicShared(sharedBytes);
  }

  /** Copies the tensors to a device and returns the values with buffers in their place. */
  public List<Object> upload(Device device, Stream stream) {
    var buffers = new ArrayList<Buffer>();
    var arguments = new ArrayList<Object>();
    for (var value : values) {
      if (value instanceof Tensor tensor) {
        var _ = tensor.on(device, stream, buffers);
        arguments.add(buffers.getLast());
      } else {
        arguments.add(value);
      }
    }
    stream.synchronize();
    return arguments;
  }

  /**
   * Runs the launch on an emulator and writes its outputs to files.
   *
   * @param uploaded receives the parameters of arrays and segments before the launch
   * @throws IllegalArgumentException if the launch exceeds a limit
   */
  public void run(EmulatorOptions options, BiConsumer<KernelParameter, Buffer> uploaded) {
    try (var device = new EmulatedDevice(options);
        var stream = device.openStream()) {
      var arguments = upload(device, stream);
      var parameters = kernel.parameters();
      for (int i = 0; i < arguments.size(); i++) {
        if (arguments.get(i) instanceof Buffer buffer) {
          uploaded.accept(parameters.get(i), buffer);
        }
      }
      on(device).launch(grid, arguments.toArray());
      write(arguments, stream);
    }
  }

  /**
   * Writes the outputs of the launch to files.
   *
   * @param arguments the result of {@link #upload}
   */
  public void write(List<Object> arguments, Stream stream) {
    var buffers =
        arguments.stream().filter(Buffer.class::isInstance).map(Buffer.class::cast).toList();
    KernelArgument.write(tensors(), buffers, stream);
  }
}
