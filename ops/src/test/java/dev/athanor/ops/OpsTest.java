package dev.athanor.ops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.EmulatorOptions;
import dev.athanor.engine.emulator.EmulatorOptions.AsyncTiming;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.check.Check;
import dev.athanor.ops.check.Verification;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Every case of every op with every kernel that could compute it, on the emulator against float64:
 * -Dathanor.op=NAME takes one op, -Dathanor.seed=N other numbers than those of every build.
 */
class OpsTest {

  private static final long SEED = Long.getLong("athanor.seed", 1);

  static List<String> ops() {
    var only = System.getProperty("athanor.op");
    return Catalogue.load().all().stream()
        .map(op -> op.description().name())
        .filter(name -> only == null || only.equals(name))
        .toList();
  }

  /** Copies come as late as the rules allow. */
  @ParameterizedTest
  @MethodSource("ops")
  void everyVariantIsRight(String op) {
    verify(op, AsyncTiming.LAZY, Target.SM_90, false);
  }

  /** Copies come at once, and the older tensor cores sum in another order. */
  @ParameterizedTest
  @MethodSource("ops")
  void everyVariantIsRightOnAnOlderGpu(String op) {
    verify(op, AsyncTiming.EAGER, Target.SM_80, true);
  }

  private static void verify(String op, AsyncTiming timing, Target target, boolean quick) {
    var options = EmulatorOptions.DEFAULT.withAsyncTiming(timing).withTarget(target);
    var checks = new ArrayList<Check>();
    try (var device = new EmulatedDevice(options)) {
      var found = Catalogue.load().find(op).orElseThrow();
      var verification = new Verification(device, List.of(found), quick, SEED, OptionalInt.empty());
      assertThat(verification.run(checks::add)).isEqualTo(verification.size());
      if (target.equals(Target.SM_90)) {
        assertThat(verification.skipped()).isEmpty();
      }
    }
    assertThat(checks).isNotEmpty();
    assertThat(checks).as("seed %d", SEED).allSatisfy(c -> assertThat(c.failure()).isEmpty());
  }
}
