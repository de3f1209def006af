package dev.athanor.ops.tune;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.ptx.Statement;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.Runner;
import dev.athanor.ops.TestDevices;
import dev.athanor.ops.Tolerance;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Choice of plans with tuning files written by others. */
class PlannerTest {

  private static final Problem PROBLEM =
      Problem.parse(Runner.op("matmul"), "a=f16[64,48] b=f16[48,40] outDtype=f32");

  @TempDir private Path folder;

  private Plan planned(String contents) throws IOException {
    var file = folder.resolve("tuning.json");
    Files.writeString(file, contents);
    return new Planner(TestDevices.H200, TuningCache.open(file)).plan(PROBLEM);
  }

  /** A file may name any variant as the winner, and its results are correct. */
  @Test
  void usesTheWinnerOfAFile() throws IOException {
    var key = TuningKey.of(PROBLEM, TestDevices.H200);
    var inputs = PROBLEM.draw(new SplittableRandom(1));
    var exact = PROBLEM.op().reference(inputs, PROBLEM.attributes()).get("c");
    var plans = PROBLEM.plans(TestDevices.H200);
    assertThat(plans).hasSizeGreaterThan(3);
    for (var plan : plans.subList(1, plans.size())) {
      var chosen =
          planned(
              """
              {
                "version": 1,
                "winners": [
                  {
                    "key": {"device": "%s", "driver": "%s", "op": "matmul", "bucket": "%s"},
                    "kernel": "%s",
                    "micros": 12.5,
                    "problem": "a=f16[64,48] b=f16[48,40]",
                    "date": "2026-01-02T03:04:05Z"
                  }
                ]
              }
              """
                  .formatted(key.device(), key.driver(), key.bucket(), plan.kernel()));
      assertThat(chosen.kernel()).isEqualTo(plan.kernel());
      assertThat(chosen.explain()).contains("tuned 2026-01-02T03:04:05Z: 12.50 µs");
      HostTensor c = Runner.run(chosen, inputs, "c");
      assertThat(Tolerance.maximum(1e-4).error(c.toDoubles(), Objects.requireNonNull(exact)))
          .as(plan.kernel())
          .isLessThan(1e-4);
    }
  }

  /** Files that cannot be read or have another version are ignored. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"version\": 1, \"winners\": [",
        "not json at all",
        "{\"version\": 2, \"winners\": [{\"key\": \"of another form\"}]}",
        "{\"version\": 2, \"winners\": []}"
      })
  void usesTheCostModelIfTheFileIsInvalid(String contents) throws IOException {
    assertThat(planned(contents)).isEqualTo(PROBLEM.plans(TestDevices.H200).getFirst());
    assertThat(folder.resolve("tuning.json.aside")).hasContent(contents);
  }

  /** Every tensor-core variant prefetches its operands, at any size. */
  @ParameterizedTest
  @CsvSource({
    "256, 256, 256",
    "1024, 1024, 1024",
    "3072, 3072, 3072",
    "4096, 4096, 4096",
    "128, 128, 4096",
    "17, 9, 16"
  })
  void prefetchesOperandsWithoutWinners(int m, int n, int k) {
    for (var dtype : new String[] {"f16", "bf16"}) {
      var problem =
          Problem.parse(
              Runner.op("matmul"), "a=%s[%d,%d] b=%s[%d,%d]".formatted(dtype, m, k, dtype, k, n));
      var planner = new Planner(TestDevices.H200, TuningCache.inMemory());
      assertThat(planner.plan(problem).kernels().getFirst().instructions())
          .extracting(Statement.Instruction::opcode)
          .as("%d %d %d", m, n, k)
          .anyMatch(opcode -> opcode.startsWith("cp.async"))
          .anyMatch(opcode -> opcode.contains("mma.")); // mma or wgmma
    }
  }
}
