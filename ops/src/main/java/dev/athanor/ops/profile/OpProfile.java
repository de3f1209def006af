package dev.athanor.ops.profile;

import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.profile.Profile;
import dev.athanor.engine.profile.Profiler;
import dev.athanor.ops.Bindings;
import dev.athanor.ops.DeviceTensor;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.TensorType;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.function.Supplier;

/**
 * What the launches of an op did, counted by the emulator.
 *
 * @param launches in the order in which the op makes them
 */
public record OpProfile(Plan plan, List<Profile> launches) {

  private static final long SEED = 1;

  public OpProfile {
    launches = List.copyOf(launches);
  }

  /** A GPU as planners see one. */
  public static Capability capability(Gpu gpu) {
    try (var emulator = new EmulatedDevice()) {
      var own = emulator.capability();
      return new Capability(
          own.id(),
          gpu.name(),
          gpu.target(),
          own.driver(),
          gpu.multiprocessors(),
          own.maxThreadsPerBlock(),
          own.sharedBytesPerBlock(),
          gpu.sharedBytesPerBlock(),
          own.memoryBytes());
    }
  }

  /**
   * Runs a plan that was made for a GPU, on the emulator.
   *
   * @param problem of the plan, which draws its inputs
   * @param mostBlocks of each launch, spread evenly over its grid; results are then incomplete
   * @throws DeviceException when the kernel does something undefined, or memory is short
   */
  public static OpProfile run(Plan plan, Problem problem, Gpu gpu, long mostBlocks) {
    return profile(
        plan, problem.inputs(), () -> problem.draw(new SplittableRandom(SEED)), gpu, mostBlocks);
  }

  /**
   * Runs a plan that was made for a GPU, on the emulator.
   *
   * @param inputs their types; what stands in them is what is usual for their dtypes
   * @param mostBlocks of each launch, spread evenly over its grid; results are then incomplete
   * @throws DeviceException when the kernel does something undefined, or memory is short
   */
  public static OpProfile run(Plan plan, Map<String, TensorType> inputs, Gpu gpu, long mostBlocks) {
    return profile(
        plan,
        inputs,
        () -> {
          var draw = new Draw(new SplittableRandom(SEED));
          var tensors = new LinkedHashMap<String, HostTensor>();
          inputs.forEach((name, type) -> tensors.put(name, draw.usual(type)));
          return tensors;
        },
        gpu,
        mostBlocks);
  }

  private static OpProfile profile(
      Plan plan,
      Map<String, TensorType> inputs,
      Supplier<Map<String, HostTensor>> draw,
      Gpu gpu,
      long mostBlocks) {
    var profiler = new Profiler();
    var options =
        EmulatorOptions.DEFAULT
            .withTarget(gpu.target())
            .withBlocks(mostBlocks)
            .withObservers(List.of(profiler));
    var buffers = new ArrayList<Buffer>();
    try (var device = new EmulatedDevice(options);
        var stream = device.openStream()) {
      var given = new LinkedHashMap<String, DeviceTensor>();
      // the device says at once when they do not fit, before anything is drawn
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
      plan.enqueue(new KernelCache(device), stream, new Bindings(given, made, workspace));
      stream.synchronize();
    } finally {
      buffers.forEach(Buffer::close);
    }
    return new OpProfile(plan, profiler.profiles());
  }

  private static Buffer allocate(Device device, List<Buffer> buffers, long bytes) {
    var buffer = device.allocate(bytes);
    buffers.add(buffer);
    return buffer;
  }
}
