package dev.athanor.ops.bench;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.Op;
import dev.athanor.ops.TestDevices;
import dev.athanor.testing.TestTier;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

@Tag(TestTier.THOROUGH_TAG)
class SuitesTest {

  static List<String> ops() {
    var only = System.getProperty("athanor.op");
    return Catalogue.load().all().stream()
        .map(op -> op.description().name())
        .filter(name -> only == null || only.equals(name))
        .toList();
  }

  private static Op op(String name) {
    return Catalogue.load().find(name).orElseThrow();
  }

  @ParameterizedTest
  @MethodSource("ops")
  void everyOpHasProblemsThatCanBePlanned(String name) {
    assertThat(Suites.of(op(name), true))
        .isNotEmpty()
        .allSatisfy(problem -> {
          var plan = problem.plans(TestDevices.H200).getFirst();
          assertThat(plan.cost().bytes()).isPositive();
          assertThat(plan.requiredSharedMemory())
              .isLessThanOrEqualTo(TestDevices.H200.sharedBytesPerBlockOptIn());
        });
  }

  /** This checks that the benchmark, the samples and the tolerance of every op are consistent. */
  @ParameterizedTest
  @MethodSource("ops")
  void timesSmallProblemsCorrectly(String name) {
    var rows = new ArrayList<OpBench.Row>();
    try (var device = new EmulatedDevice();
        var bench = new OpBench(device, new Effort(1, 1, 0), List.of())) {
      var problems = Suites.of(op(name), false);
      assertThat(problems).isNotEmpty();
      problems.forEach(problem -> bench.run(problem, false, 1, rows::add));
    }
    assertThat(rows).allSatisfy(row -> assertThat(row.failure()).isEmpty());
  }
}
