package dev.athanor.junit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException.KernelFault;
import dev.athanor.engine.device.Report;
import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import dev.athanor.engine.emulator.options.Schedule;
import dev.athanor.engine.lift.Kernels;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** Tests of kernels that other tests run. */
final class Fixtures {
  private Fixtures() {}

  static class Right {
    @GpuTest(targets = {"sm_80", "sm_90a"})
    void saxpy(Device device) {
      var y = new float[] {1, 2, 3};
      Kernels.of(SampleKernels::saxpy).on(device).launch(1, new float[] {1, 1, 1}, y, 2f, 3);
      assertThat(y).containsExactly(3, 4, 5);
    }
  }

  static class Configured {
    static final List<Device> SEEN = new ArrayList<>();

    @GpuTest(
        schedules = {Schedule.AHEAD_FIRST, Schedule.APART},
        timings = AsyncTiming.LAZY,
        seeds = {3, 4},
        gpu = false)
    void seeds(Device device, Launcher launcher) {
      SEEN.add(device);
    }

    @AfterEach
    void sameDevice(Device device) {
      assertThat(SEEN.getLast()).isSameAs(device);
    }
  }

  static class Constructed {
    private final Device device;

    Constructed(Device device) {
      this.device = device;
    }

    @GpuTest(gpu = false)
    void sameDevice(Device mine) {
      assertThat(mine).isSameAs(device);
    }
  }

  static class Racy {
    @GpuTest(
        schedules = {Schedule.CONVERGING, Schedule.ONE_BY_ONE},
        timings = AsyncTiming.LAZY,
        gpu = false)
    void java(Device device) {
      Kernels.of(SampleKernels::reverse).on(device).launch(1, (Object) new int[64]);
    }

    @GpuTest(schedules = Schedule.RANDOM, timings = AsyncTiming.LAZY, seeds = 5, gpu = false)
    void ptx(Launcher launcher) {
      launcher.ptx("reverse.ptx").launch(1, (Object) new int[64]);
    }
  }

  static class RacyCuda {
    @GpuTest(schedules = Schedule.CONVERGING, timings = AsyncTiming.LAZY, gpu = false)
    void cuda(Launcher launcher) {
      launcher.cuda("reverse.cu").block(64).launch(1, (Object) new int[64]);
    }
  }

  static class InvalidLaunches {
    @GpuTest(schedules = Schedule.CONVERGING, timings = AsyncTiming.LAZY, gpu = false)
    void invalid(Launcher launcher) {
      MESSAGES.clear();
      reject(() -> launcher.ptx("missing.ptx"));
      reject(() -> launcher.ptx("two.ptx"));
      reject(() -> launcher.ptx("two.ptx", "third"));
      reject(() -> launcher.ptx("two.ptx", "first").launch(1, new long[1]));
      reject(() -> launcher.ptx("two.ptx", "first").launch(1, new long[1], "7"));
      reject(() -> launcher.ptx("two.ptx", "first").launch(1, new long[1], null));
    }

    private static void reject(Runnable call) {
      try {
        call.run();
        MESSAGES.add("accepted");
      } catch (IllegalArgumentException e) {
        MESSAGES.add(e.getMessage());
      }
    }
  }

  /** Messages of the last run of {@link InvalidLaunches}. */
  static final List<String> MESSAGES = new ArrayList<>();

  static class InvalidCuda {
    @GpuTest(schedules = Schedule.CONVERGING, timings = AsyncTiming.LAZY, gpu = false)
    void invalid(Launcher launcher) {
      launcher.cuda("invalid.cu");
    }
  }

  static class RacyBefore {
    @BeforeEach
    void race(Launcher launcher) {
      launcher.ptx("reverse.ptx").launch(1, (Object) new int[64]);
    }

    @GpuTest(schedules = Schedule.CONVERGING, timings = AsyncTiming.LAZY, gpu = false)
    void nothing() {}
  }

  static class Caught {
    @GpuTest(gpu = false)
    void race(Launcher launcher) {
      assertThatThrownBy(() -> launcher.ptx("reverse.ptx").launch(1, (Object) new int[64]))
          .isInstanceOfSatisfying(
              KernelFault.class,
              fault ->
                  assertThat(fault.findings())
                      .extracting(Report::kind)
                      .contains(Report.Kind.RACE_IN_BLOCK));
    }

    @GpuTest(schedules = Schedule.CONVERGING, ignored = Report.Kind.RACE_IN_BLOCK, gpu = false)
    void ignoredRace(Launcher launcher) {
      launcher.ptx("reverse.ptx").launch(1, (Object) new int[64]);
    }
  }

  static class OutOfBounds {
    @GpuTest(schedules = Schedule.CONVERGING, timings = AsyncTiming.LAZY, gpu = false)
    void shift(Device device) {
      Kernels.of(SampleKernels::shift).on(device).launch(1, (Object) new int[64]);
    }
  }

  static class UnknownTarget {
    @GpuTest(targets = "sm_9x")
    void unknown() {}

    @GpuTest(seeds = {})
    void noSeeds() {}
  }

  static class NewerTarget {
    @GpuTest(
        targets = "sm_80",
        schedules = Schedule.CONVERGING,
        timings = AsyncTiming.LAZY,
        gpu = false)
    void first(Launcher launcher) {
      launcher.ptx("two.ptx", "first").launch(1, new long[1], 7L);
    }
  }

  static class RightCuda {
    @GpuTest(targets = {"sm_80", "sm_90a"})
    void cuda(Launcher launcher) {
      var y = new float[] {1, 2, 3};
      launcher.cuda("saxpy.cu", "saxpy").block(32).launch(1, new float[] {1, 1, 1}, y, 2f, 3);
      assertThat(y).containsExactly(3, 4, 5);
    }
  }

  static class RightCubin {
    @GpuTest(gpu = false)
    void fatBinary(Launcher launcher) {
      var y = new float[] {1, 2, 3};
      launcher
          .cubin("saxpy.none.fatbin", "saxpy")
          .block(32)
          .launch(1, new float[] {1, 1, 1}, y, 2f, 3);
      assertThat(y).containsExactly(3, 4, 5);
    }
  }

  static class SkippedCubin {
    @GpuTest(schedules = Schedule.CONVERGING, timings = AsyncTiming.LAZY, gpu = false)
    void machineCode(Launcher launcher) {
      launcher.cubin("saxpy.cubin", "saxpy");
    }

    @GpuTest(schedules = Schedule.CONVERGING, timings = AsyncTiming.LAZY, gpu = false)
    void compressed(Launcher launcher) {
      launcher.cubin("saxpy.size.fatbin", "saxpy");
    }
  }

  static class InvalidCubin {
    @GpuTest(schedules = Schedule.CONVERGING, timings = AsyncTiming.LAZY, gpu = false)
    void invalid(Launcher launcher) {
      MESSAGES.clear();
      InvalidLaunches.reject(() -> launcher.cubin("missing.cubin", "saxpy"));
      InvalidLaunches.reject(() -> launcher.cubin("saxpy.cu", "saxpy"));
      InvalidLaunches.reject(() -> launcher.cubin("saxpy.none.fatbin", "axpy"));
      InvalidLaunches.reject(
          () -> launcher.cubin("saxpy.none.fatbin", "saxpy").launch(1, new float[1]));
    }
  }

  static class RightPtx {
    @GpuTest
    void ptx(Launcher launcher) {
      var y = new long[1];
      launcher.ptx("two.ptx", "first").launch(1, y, -7);
      assertThat(y).containsExactly(-7);
    }

    @GpuTest
    void builder(Launcher launcher) {
      var kernel =
          KernelBuilder.build(
              "twice",
              32,
              k -> {
                var y = k.pointer("y", Type.F32);
                var i = k.thread();
                var one = y.load(i).widen();
                y.store(i, one.plus(one));
              });
      var y = new float[32];
      y[5] = 2;
      launcher.kernel(kernel).launch(1, (Object) y);
      assertThat(y[5]).isEqualTo(4);
    }
  }

  static class Mixed {
    @Test
    void plain() {}

    @Nested
    class Inner {
      @GpuTest(schedules = Schedule.CONVERGING, timings = AsyncTiming.LAZY, gpu = false)
      void race(Launcher launcher) {
        launcher.ptx("reverse.ptx").launch(1, (Object) new int[64]);
      }
    }
  }
}
