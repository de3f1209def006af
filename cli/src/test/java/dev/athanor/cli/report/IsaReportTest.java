package dev.athanor.cli.report;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Reports of devices that were lost. */
class IsaReportTest {

  @Test
  void saysHowManyInstructionsWereNotCompared() {
    var report =
        IsaReport.of(
            new Machine("cuda:0", "a GPU", "sm_90", "13.0", 132, 1, ""),
            Instant.EPOCH,
            2,
            new VerifyReport.Scope("isa", false, 1),
            684,
            List.of());
    assertThat(report.ok()).isFalse();
    assertThat(report.planned()).isEqualTo(684);
    assertThat(report.summary())
        .isEqualTo(
            "FAILED: 0 instructions compared with the emulator in 2.000 s, 0 failed; seed 1\n"
                + "the device was lost; 684 instructions were not compared");
  }
}
