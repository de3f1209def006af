package dev.athanor.cli.report;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.bench.Effort;
import dev.athanor.ops.check.Verification;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.json.JsonMapper;

/** Reports of kernels that spill registers. */
class SpillReportTest {

  private static final List<KernelCache.Spill> SPILLS =
      List.of(new KernelCache.Spill("matmul_big", 72), new KernelCache.Spill("softmax_big", 8));
  private static final String LINE =
      "SPILLS kernel matmul_big: 72 bytes of registers per thread are spilled to local memory; its"
          + " results are correct, but it is slower than planned";
  private static final Machine MACHINE =
      new Machine("cuda:0", "a GPU", "sm_90", "13.0", 132, 1, "");

  @Test
  void verifyReportsSpillsWithoutFailing() {
    VerifyReport none;
    try (var device = new EmulatedDevice()) {
      var verification = new Verification(device, List.of(), true, 1, OptionalInt.empty());
      none =
          VerifyReport.of(
              MACHINE,
              Instant.EPOCH,
              1,
              new VerifyReport.Scope("ops", true, 1),
              List.of(),
              verification,
              List.of());
    }
    assertThat(none.summary()).doesNotContain("spill");
    assertThat(none.complaints()).isEmpty();
    var report = withSpills(none);
    assertThat(report.ok()).isTrue();
    assertThat(report.complaints()).hasSize(2).contains(LINE);
    assertThat(report.summary()).endsWith("2 kernels spill registers on this device");
    assertThat(report.markdown()).contains("    " + LINE);
    var json = new JsonMapper().valueToTree(report).get("spills").get(1);
    assertThat(json.get("kernel").stringValue()).isEqualTo("softmax_big");
    assertThat(json.get("bytes").intValue()).isEqualTo(8);
  }

  private static VerifyReport withSpills(VerifyReport report) {
    return new VerifyReport(
        report.athanor(),
        report.device(),
        report.date(),
        report.seconds(),
        report.scope(),
        report.ok(),
        report.checks(),
        report.planned(),
        report.variants(),
        report.failures(),
        report.skipped(),
        report.unchecked(),
        SPILLS);
  }

  @Test
  void benchReportsSpills() {
    var report =
        BenchReport.of(
            MACHINE,
            Instant.EPOCH,
            List.of(),
            Optional.empty(),
            new Effort(1, 1, 0),
            1,
            Optional.empty(),
            0,
            List.of(),
            SPILLS);
    assertThat(report.notes()).contains(LINE);
    assertThat(report.markdown()).contains(LINE);
  }
}
