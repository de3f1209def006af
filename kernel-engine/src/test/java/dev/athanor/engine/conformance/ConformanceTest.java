package dev.athanor.engine.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Target;
import dev.athanor.testing.TestTier;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Tag(TestTier.THOROUGH_TAG)
class ConformanceTest {

  private static final Target HOPPER = Target.of("sm_90a");

  private static final boolean SWEEP = TestTier.current() == TestTier.SWEEP;

  /** Some of each kind; the sweep compares all instructions. */
  private static final String[] SOME = {
    "add", "fma", "cvt", "mma", "wmma", "shfl", "vote", "ex2", "addc", "redux", "wgmma"
  };

  private static List<Finding> compare(boolean quick, String... mnemonics) {
    return compare(HOPPER, quick, mnemonics);
  }

  private static List<Finding> compare(Target target, boolean quick, String... mnemonics) {
    var findings = new ArrayList<Finding>();
    var options = EmulatorOptions.DEFAULT.withTarget(target);
    try (var device = new EmulatedDevice(options)) {
      new Conformance(device, List.of(mnemonics), quick, 1, Part.ALL)
          .run((f, _) -> findings.add(f));
    }
    return findings;
  }

  @Test
  void emulatorAgreesWithItself() {
    var findings = compare(true, SWEEP ? new String[0] : SOME);
    assertThat(findings).hasSizeGreaterThan(SWEEP ? 300 : 60);
    assertThat(findings)
        .filteredOn(finding -> !finding.ok() || finding.equal() != finding.values())
        .isEmpty();
    assertThat(findings.stream().map(f -> f.probe().mnemonic())).contains(SOME);
  }

  @Test
  void probesBlockScaledProducts() {
    var target = Target.of("sm_120a");
    for (var kind : List.of("f8f6f4", "mxf8f6f4", "mxf4", "mxf4nvf4")) {
      assertThat(Probe.all(target)).anyMatch(p -> p.name().contains(".kind::" + kind + "."));
    }
    var findings = compare(target, true, "mma");
    assertThat(findings).anyMatch(finding -> finding.probe().name().contains(".block_scale."));
    assertThat(findings).allMatch(finding -> finding.ok() && finding.equal() == finding.values());
  }

  @Test
  void probesEveryPairOfCarryInstructions() {
    var pairs = new TreeSet<String>();
    for (var probe : Probe.all(HOPPER)) {
      var writer = "";
      for (var statement : probe.kernel("probe").body()) {
        if (statement instanceof Instruction i) {
          if (!i.form().impliedRegisters(false).isEmpty()) {
            pairs.add(writer + " " + i.form().mnemonic());
          }
          writer = i.form().impliedRegisters(true).isEmpty() ? writer : i.form().mnemonic();
        }
      }
    }
    var expected = new TreeSet<String>();
    for (var writer : List.of("add", "sub", "mad", "addc", "subc", "madc")) {
      for (var reader : List.of("addc", "subc", "madc")) {
        expected.add(writer + " " + reader);
      }
    }
    assertThat(pairs).isEqualTo(expected);
  }

  @Test
  void reportsADeviceThatRoundsDifferently() {
    var findings = new ArrayList<Finding>();
    try (var device = new EmulatedDevice(EmulatorOptions.DEFAULT.withTarget(HOPPER))) {
      new Conformance(DeviceProxy.truncating(device), List.of("add"), false, 1, Part.ALL)
          .run((f, _) -> findings.add(f));
    }
    var wrong = findings.stream().filter(finding -> !finding.ok()).toList();
    assertThat(wrong)
        .isNotEmpty()
        .extracting(finding -> finding.probe().name())
        .allMatch(name -> name.startsWith("add.rn."));
    assertThat(wrong.getFirst().lines().getFirst())
        .matches("thread \\d+, %a=[0-9a-f]{8} .*: %d is [0-9a-f]{8}, expected [0-9a-f]{8}");
  }

  /** A fault of a GPU ends all use of it; what was compared before is kept. */
  @ParameterizedTest
  @ValueSource(strings = {"openStream", "load"})
  void endsWhenTheDeviceIsLost(String method) {
    var calls = new AtomicInteger();
    var findings = new ArrayList<Finding>();
    try (var device = new EmulatedDevice(EmulatorOptions.DEFAULT.withTarget(HOPPER))) {
      var lost =
          DeviceProxy.of((called, arguments) -> {
            if (called.getName().equals(method) && calls.incrementAndGet() == 3) {
              throw new DeviceException.Lost("it is lost");
            }
            return called.invoke(device, arguments);
          });
      new Conformance(lost, List.of("shf"), false, 1, Part.ALL).run((f, _) -> findings.add(f));
    }
    assertThat(findings).hasSizeBetween(2, 3);
    assertThat(findings.subList(0, findings.size() - 1)).allMatch(Finding::ok);
    assertThat(findings.getLast().lines()).containsExactly("it is lost");
  }

  @Test
  void rejectsUnknownInstructions() {
    assertThatThrownBy(() -> compare(true, "ld"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith(
            "\"ld\" is not a register-to-register instruction; use one of abs, activemask, add,");
  }
}
