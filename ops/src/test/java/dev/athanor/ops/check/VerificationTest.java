package dev.athanor.ops.check;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.LoadedKernel;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Module;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.Op;
import dev.athanor.ops.check.Check.Failure;
import dev.athanor.ops.check.Check.Kind;
import dev.athanor.ops.check.Twice.Flaw;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Faults of kernels that verification finds, and their messages. */
class VerificationTest {

  private final Device device = new EmulatedDevice();

  @AfterEach
  void close() {
    assertThat(device.memory().used()).as("leaked device memory").isZero();
    device.close();
  }

  private List<Check> checks(Op op, boolean quick) {
    var verification = new Verification(device, List.of(op), quick, 1, OptionalInt.empty());
    var checks = new ArrayList<Check>();
    assertThat(verification.run(checks::add)).isEqualTo(verification.size());
    return checks;
  }

  private Failure failure(Flaw flaw) {
    var checks = checks(Twice.with(flaw), true);
    assertThat(checks).hasSize(1);
    return checks.getFirst().failure().orElseThrow();
  }

  @Test
  void correctKernelsPassEveryCase() {
    var checks = checks(Twice.with(Flaw.NONE), false);
    assertThat(checks).extracting(Check::number).containsExactly(1, 2, 3);
    assertThat(checks)
        .allSatisfy(check -> {
          assertThat(check.op()).isEqualTo("twice");
          assertThat(check.kernel()).isEqualTo("twice_none");
          assertThat(check.failure()).isEmpty();
          assertThat(check.share()).isLessThanOrEqualTo(1);
        });
  }

  @Test
  void checksEveryPlan() {
    assertThat(checks(Twice.with(Flaw.NONE, Flaw.WRONG_ELEMENT, Flaw.NONE), true))
        .extracting(check -> check.failure().isPresent())
        .containsExactly(false, true, false);
  }

  @Test
  void reportsBothValuesOfAWrongElement() {
    var failure = failure(Flaw.WRONG_ELEMENT);
    assertThat(failure.kind()).isEqualTo(Kind.WRONG);
    assertThat(failure.sentence())
        .matches(
            "element 7 \\(\\[7\\]\\) of y is [345]\\.\\d+, expected [23]\\.\\d+; 1 of 50"
                + " elements fail");
  }

  @Test
  void reportsUnwrittenElements() {
    assertThat(failure(Flaw.UNWRITTEN))
        .isEqualTo(
            new Failure(
                Kind.UNWRITTEN, "element 1 ([1]) of y was not written; 17 of 50 elements fail"));
  }

  @Test
  void detectsWritesBeyondTheEnd() {
    assertThat(failure(Flaw.OVERRUN))
        .isEqualTo(
            new Failure(
                Kind.OVERRUN,
                "y was written beyond its end: byte 0 after the last of its 50 elements, where"
                    + " element 50 would be"));
  }

  @Test
  void detectsChangedInputs() {
    var failure = failure(Flaw.CHANGES_INPUT);
    assertThat(failure.kind()).isEqualTo(Kind.INPUT_CHANGED);
    assertThat(failure.sentence()).matches("input x was modified, starting at byte [0-3]");
  }

  @Test
  void detectsDifferencesBetweenRuns() {
    var failure = failure(Flaw.NOT_REPEATED);
    assertThat(failure.kind()).isEqualTo(Kind.NOT_REPEATED);
    assertThat(failure.sentence())
        .matches("a second run returned a different y, starting at byte 3[6-9]");
  }

  @Test
  void continuesAfterFaults() {
    var checks = checks(Twice.with(Flaw.FAULT, Flaw.NONE), true);
    var failure = checks.getFirst().failure().orElseThrow();
    assertThat(failure.kind()).isEqualTo(Kind.FAULT);
    assertThat(failure.sentence())
        .startsWith("kernel twice_fault failed: thread (0,0,0) of block (0,0,0)")
        .contains("Twice.java");
    assertThat(checks.getFirst().error()).isInfinite();
    assertThat(checks.getLast().failure()).isEmpty();
  }

  @Test
  void reportsRejectedLaunches() {
    assertThat(failure(Flaw.REFUSED_LAUNCH))
        .isEqualTo(
            new Failure(
                Kind.FAULT,
                "cannot launch twice_refused_launch: got a block of 128x1x1 threads; the limit of the kernel is"
                    + " 64"));
  }

  @Test
  void endsWhenTheDeviceIsLost() {
    var lost = new LostDevice(device, 1);
    var verification =
        new Verification(
            lost, List.of(Twice.with(Flaw.NONE, Flaw.NONE)), false, 1, OptionalInt.empty());
    var checks = new ArrayList<Check>();
    assertThat(verification.run(checks::add)).isEqualTo(2);
    assertThat(verification.size()).isEqualTo(6);
    assertThat(checks.getFirst().failure()).isEmpty();
    assertThat(checks.getLast().failure()).contains(new Failure(Kind.FAULT, "it is lost"));
  }

  /** A device that is lost after a number of streams. */
  private static final class LostDevice implements Device {
    private final Device device;
    private int streams;

    LostDevice(Device device, int streams) {
      this.device = device;
      this.streams = streams;
    }

    @Override
    public Capability capability() {
      return device.capability();
    }

    @Override
    public Buffer allocate(long bytes) {
      return device.allocate(bytes);
    }

    @Override
    public Stream openStream() {
      if (streams-- == 0) {
        throw new DeviceException.Lost("it is lost");
      }
      return device.openStream();
    }

    @Override
    public LoadedKernel load(Module module, String kernel) {
      return device.load(module, kernel);
    }

    @Override
    public MemoryUsage memory() {
      return device.memory();
    }

    @Override
    public void close() {
      device.close();
    }
  }

  @Test
  void reportsSpillsOncePerKernel() {
    var spilling = new SpillingDevice(device);
    var op = Twice.with(Flaw.NONE, Flaw.NONE);
    var verification = new Verification(spilling, List.of(op), false, 1, OptionalInt.empty());
    assertThat(verification.spills()).isEmpty();
    var checks = new ArrayList<Check>();
    verification.run(checks::add);
    assertThat(checks).hasSize(6).allSatisfy(check -> assertThat(check.failure()).isEmpty());
    assertThat(verification.spills()).containsExactly(new KernelCache.Spill("twice_none", 48));
    var plain = new Verification(device, List.of(op), false, 1, OptionalInt.empty());
    plain.run(_ -> {});
    assertThat(plain.spills()).isEmpty();
  }

  /** A device that reports 48 spilled bytes for each kernel. */
  private record SpillingDevice(Device device) implements Device {

    private record Spilling(LoadedKernel loaded) implements LoadedKernel {
      @Override
      public Kernel kernel() {
        return loaded.kernel();
      }

      @Override
      public Origin origin() {
        return loaded.origin();
      }

      @Override
      public int spilledBytes() {
        return 48;
      }
    }

    @Override
    public Capability capability() {
      return device.capability();
    }

    @Override
    public Buffer allocate(long bytes) {
      return device.allocate(bytes);
    }

    /** Returns a stream that launches the wrapped kernel. */
    @Override
    public Stream openStream() {
      var stream = device.openStream();
      return (Stream)
          Proxy.newProxyInstance(
              getClass().getClassLoader(),
              new Class<?>[] {Stream.class},
              (_, method, arguments) ->
                  method.invoke(
                      stream,
                      arguments != null && arguments[0] instanceof Launch launch
                          ? new Object[] {unwrap(launch)}
                          : arguments));
    }

    private static Launch unwrap(Launch launch) {
      return new Launch(
          ((Spilling) launch.kernel()).loaded,
          launch.grid(),
          launch.block(),
          launch.dynamicSharedBytes(),
          launch.arguments());
    }

    @Override
    public LoadedKernel load(Module module, String kernel) {
      return new Spilling(device.load(module, kernel));
    }

    @Override
    public MemoryUsage memory() {
      return device.memory();
    }

    @Override
    public void close() {
      device.close();
    }
  }

  @Test
  void skipsUnsupportedCases() {
    var verification =
        new Verification(device, List.of(Twice.with()), true, 1, OptionalInt.empty());
    assertThat(verification.size()).isZero();
    assertThat(verification.skipped())
        .containsExactly(new Verification.Skipped("twice", 1, "no device can double"));
  }

  @Test
  void casesAreReproducible() {
    var op = Twice.with(Flaw.WRONG_ELEMENT);
    var all = checks(op, false);
    assertThat(checks(op, false)).isEqualTo(all);
    var alone = new ArrayList<Check>();
    new Verification(device, List.of(op), false, 1, OptionalInt.of(2)).run(alone::add);
    assertThat(alone).containsExactly(all.get(1));
    var other = new ArrayList<Check>();
    new Verification(device, List.of(op), false, 2, OptionalInt.of(2)).run(other::add);
    assertThat(other.getFirst().failure()).isNotEqualTo(all.get(1).failure());
  }

  @Test
  void rejectsUnknownCases() {
    assertThatThrownBy(() ->
            new Verification(device, List.of(Twice.with(Flaw.NONE)), true, 1, OptionalInt.of(2)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("twice has no case 2; its quick cases are 1 to 1");
  }

  @Test
  void aDeviceWithoutSubnormalsMayReturnZeroForThemOnly() {
    var expected = new double[] {-6e-41, 6e-41, 2e-38, -0.0, 1e-50};
    assertThat(Verification.flushed(expected, new double[] {-0.0, 5e-41, 0, 0, 0}))
        .containsExactly(-0.0, 6e-41, 2e-38, -0.0, 0);
  }
}
