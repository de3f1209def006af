package dev.athanor.junit;

import dev.athanor.engine.cuda.CudaDevice;
import dev.athanor.engine.cuda.driver.CudaDriver;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.Report;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.emulator.options.Schedule;
import dev.athanor.engine.ptx.Target;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;

/** The device of one invocation. */
sealed interface Configuration {

  /** Opens the device. */
  Device open();

  /** Returns the name of the invocation. */
  String name();

  /** Returns why the device does not exist; empty if it does. */
  default Optional<String> absence() {
    return Optional.empty();
  }

  /** Returns the properties that reproduce the invocation, by name. */
  Map<String, Object> properties();

  /** The emulator with one set of options. */
  record Emulated(
      Target target,
      Schedule schedule,
      AsyncTiming timing,
      long seed,
      Sanitize sanitize,
      Set<Report.Kind> ignored)
      implements Configuration {
    public Emulated {
      ignored = Set.copyOf(ignored);
    }

    @Override
    public Device open() {
      return new EmulatedDevice(
          EmulatorOptions.DEFAULT
              .withTarget(target)
              .withWorkers(1) // with several, random schedules would not be reproducible
              .withSchedule(schedule)
              .withAsyncTiming(timing)
              .withSeed(seed)
              .withSanitize(sanitize)
              .withIgnored(ignored));
    }

    @Override
    public String name() {
      return "%s %s %s".formatted(target, schedule, timing) + (isRandom() ? " seed " + seed : "");
    }

    @Override
    public Map<String, Object> properties() {
      return Map.of(
          "target",
          target.toString(),
          "schedule",
          schedule.name(),
          "timing",
          timing.name(),
          "seed",
          seed);
    }

    private boolean isRandom() {
      return switch (schedule) {
            case RANDOM, APART -> true;
            case CONVERGING, AHEAD_FIRST, ONE_BY_ONE -> false;
          }
          || switch (timing) {
            case RANDOM, REORDERED -> true;
            case EAGER, LAZY -> false;
          };
    }
  }

  /** The first GPU. */
  record FirstGpu() implements Configuration {
    @Override
    public Device open() {
      return CudaDevice.open(0);
    }

    @Override
    public String name() {
      return "GPU";
    }

    @Override
    public Optional<String> absence() {
      return CudaDriver.probe() instanceof CudaDriver.Absent(String reason)
          ? Optional.of(reason)
          : Optional.empty();
    }

    @Override
    public Map<String, Object> properties() {
      return Map.of("device", "cuda:0");
    }
  }

  /**
   * Returns the configurations of a test.
   *
   * @param test name of the test for error messages
   * @throws ExtensionConfigurationException if there are none, or a target is unknown
   */
  static List<Configuration> of(GpuTest annotation, String test) {
    requireNotEmpty(annotation.targets().length, "targets", test);
    requireNotEmpty(annotation.schedules().length, "schedules", test);
    requireNotEmpty(annotation.timings().length, "timings", test);
    requireNotEmpty(annotation.seeds().length, "seeds", test);
    var ignored = Set.copyOf(Arrays.asList(annotation.ignored()));
    var all = new ArrayList<Configuration>();
    for (var text : annotation.targets()) {
      var target = target(text, test);
      for (var schedule : annotation.schedules()) {
        for (var timing : annotation.timings()) {
          for (long seed : annotation.seeds()) {
            var one = new Emulated(target, schedule, timing, seed, annotation.sanitize(), ignored);
            all.add(one);
            if (!one.isRandom()) {
              break;
            }
          }
        }
      }
    }
    if (annotation.gpu()) {
      all.add(new FirstGpu());
    }
    return all;
  }

  private static Target target(String text, String test) {
    try {
      return Target.of(text);
    } catch (IllegalArgumentException e) {
      throw new ExtensionConfigurationException(
          "`targets` of @GpuTest on %s: %s".formatted(test, e.getMessage()), e);
    }
  }

  private static void requireNotEmpty(int length, String attribute, String test) {
    if (length == 0) {
      throw new ExtensionConfigurationException(
          "`%s` of @GpuTest on %s is empty; give at least one".formatted(attribute, test));
    }
  }
}
