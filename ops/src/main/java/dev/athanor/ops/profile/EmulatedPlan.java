package dev.athanor.ops.profile;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.ops.Bindings;
import dev.athanor.ops.DeviceTensor;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.Plan;
import dev.athanor.ops.TensorType;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.Supplier;

/** Runs plans on emulators of their own. */
public final class EmulatedPlan {

  private EmulatedPlan() {}

  /**
   * Runs a plan on a new emulator.
   *
   * @param inputs the types of the inputs
   * @param draw supplies the inputs
   * @param options options of the emulator
   * @param tensors receives the inputs and outputs on the device, by name, before the launches
   * @throws DeviceException if a kernel has undefined behavior, or memory is exhausted
   */
  public static void run(
      Plan plan,
      Map<String, TensorType> inputs,
      Supplier<Map<String, HostTensor>> draw,
      EmulatorOptions options,
      BiConsumer<String, DeviceTensor> tensors) {
    var buffers = new ArrayList<Buffer>();
    try (var device = new EmulatedDevice(options);
        var stream = device.openStream()) {
      var given = new LinkedHashMap<String, DeviceTensor>();
      // allocate before drawing, so that inputs that do not fit fail early
      inputs.forEach((name, type) ->
          given.put(name, new DeviceTensor(type, allocate(device, buffers, type.bytes()))));
      draw.get()
          .forEach((name, tensor) ->
              stream.upload(
                  tensor.data(), Objects.requireNonNull(given.get(name), name).buffer(), 0));
      var made = new LinkedHashMap<String, DeviceTensor>();
      plan.outputs()
          .forEach((name, type) ->
              made.put(name, new DeviceTensor(type, allocate(device, buffers, type.bytes()))));
      var workspace =
          plan.workspaceBytes() == 0
              ? Optional.<Buffer>empty()
              : Optional.of(allocate(device, buffers, plan.workspaceBytes()));
      given.forEach(tensors);
      made.forEach(tensors);
      plan.enqueue(new KernelCache(device), stream, new Bindings(given, made, workspace));
      stream.synchronize();
    } finally {
      buffers.forEach(Buffer::close);
    }
  }

  private static Buffer allocate(Device device, List<Buffer> buffers, long bytes) {
    var buffer = device.allocate(bytes);
    buffers.add(buffer);
    return buffer;
  }
}
