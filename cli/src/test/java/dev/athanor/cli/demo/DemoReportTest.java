package dev.athanor.cli.demo;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.client.Generation;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.json.JsonMapper;

class DemoReportTest {

  private static final StepTimes STEP =
      StepTimes.of(
          new JsonMapper()
              .readTree(
                  """
                  {"device": "emulator:0", "steps": [
                    {"op": "rms-norm", "kernel": "a", "kernelMicros": 1},
                    {"op": "gemv", "kernel": "b", "kernelMicros": 4},
                    {"op": "gemv", "kernel": "b", "kernelMicros": 5}]}
                  """));

  private static DemoReport.Run run(int seconds, Long... bytes) {
    var first = new Generation(List.of(bytes), "length", 0, 9);
    var second = new Generation(List.of(104L, 105L), "length", 1, 9);
    return new DemoReport.Run(List.of(first, second), Duration.ofSeconds(seconds));
  }

  private static DemoReport report(DemoReport.Run together, DemoReport.Run again) {
    return new DemoReport(
        new DemoCheckpoint(2, 64, 1),
        List.of("a", "b"),
        together,
        again,
        STEP,
        3 << 20,
        1 << 20,
        0);
  }

  @Test
  void showsTextRatesTimesAndMemory() {
    var report = report(run(2, 65L, 10L, 255L), run(4, 65L, 10L, 255L));
    assertThat(report.isReproduced()).isTrue();
    assertThat(report.lines())
        .containsExactly(
            "Decoder in the layout of Llama: layers 2, hidden 64, vocabulary 256 bytes; on emulator:0",
            "",
            "Session 1  a",
            "        …  A..",
            "Session 2  b",
            "        …  hi",
            "The weights are random: the text means nothing.",
            "",
            "First run, both at the same time:     5 tokens in 2.00 s, 2.5 tokens/s",
            "Second run, one after the other:      5 tokens in 4.00 s, 1.3 tokens/s",
            "A service that has just started is slower at first.",
            "With the same seeds, both runs generated the same tokens.",
            "",
            "Kernels of one token:",
            "op        calls   µs  share",
            "gemv          2  9.0  90.0%",
            "rms-norm      1  1.0  10.0%",
            "",
            "Memory: weights 3.000 MiB; caches 1.000 MiB, of which the sessions use 0 B");
  }

  @Test
  void reportsDifferentTokens() {
    var report = report(run(2, 65L), run(2, 66L));
    assertThat(report.isReproduced()).isFalse();
    assertThat(report.lines())
        .contains("FAILED: with the same seeds, the two runs generated different tokens.");
  }
}
