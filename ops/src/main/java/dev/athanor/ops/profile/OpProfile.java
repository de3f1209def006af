package dev.athanor.ops.profile;

import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.profile.Profile;
import dev.athanor.engine.profile.Profiler;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.TensorType;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.Supplier;

/**
 * The profiles of an op's launches, counted by the emulator.
 *
 * @param launches the profiles in launch order
 */
public record OpProfile(Plan plan, List<Profile> launches) {

  /** Seed of the inputs. */
  public static final long SEED = 1;

  public OpProfile {
    launches = List.copyOf(launches);
  }

  /** Returns the capability of a GPU, for planners. */
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
          gpu.multiprocessor().sharedBytesPerBlock(),
          own.memoryBytes());
    }
  }

  /**
   * Runs a plan that was made for a GPU, on the emulator.
   *
   * @param problem the problem of the plan; it draws the inputs
   * @param mostBlocks maximum number of emulated blocks per launch, spread evenly over its grid;
   *     results are then incomplete
   * @throws DeviceException if a kernel has undefined behavior, or memory is exhausted
   */
  public static OpProfile run(Plan plan, Problem problem, Gpu gpu, long mostBlocks) {
    return profile(
        plan, problem.inputs(), () -> problem.draw(new SplittableRandom(SEED)), gpu, mostBlocks);
  }

  /**
   * Runs a plan that was made for a GPU, on the emulator.
   *
   * @param inputs types of the inputs; their elements are drawn as is usual for the dtypes
   * @param mostBlocks maximum number of emulated blocks per launch, spread evenly over its grid;
   *     results are then incomplete
   * @throws DeviceException if a kernel has undefined behavior, or memory is exhausted
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
    EmulatedPlan.run(plan, inputs, draw, options, (_, _) -> {});
    return new OpProfile(plan, profiler.profiles());
  }
}
