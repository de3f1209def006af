package dev.athanor.cli.command;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.Plan;
import dev.athanor.ops.TensorType;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Tests {@code athanor bench} when the measurement ends early. */
class BenchCommandTest {

  @TempDir Path folder;

  private CommandResult bench(Supplier<RuntimeException> failure) {
    var catalogue = new Catalogue(List.of(new Failing(failure)));
    return CommandResult.of(
        new CommandLine(new BenchCommand(catalogue)),
        "matmul",
        "--device",
        "emulator",
        "--problem",
        "a=f32[4,4] b=f32[4,4]",
        "--problem",
        "a=f32[5,5] b=f32[5,5]",
        "--json",
        json().toString(),
        "--markdown",
        markdown().toString());
  }

  private Path json() {
    return folder.resolve("x.json");
  }

  private Path markdown() {
    return folder.resolve("x.md");
  }

  private JsonNode report() {
    return new JsonMapper().readTree(json().toFile());
  }

  private void assertIncomplete() {
    var report = report();
    assertThat(report.get("ok").booleanValue()).isFalse();
    assertThat(report.get("unmeasured").intValue()).isEqualTo(1);
    assertThat(report.get("rows")).hasSize(1);
    assertThat(report.get("rows").get(0).get("micros").get("median").doubleValue()).isPositive();
    assertThat(markdown()).content().contains("INCOMPLETE: 1 problems were not measured");
    try (var files = Files.list(folder)) {
      assertThat(files).containsExactlyInAnyOrder(json(), markdown());
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  /** What a killed process leaves is what the files contain during the second problem. */
  @Test
  void filesHoldTheResultsSoFar() {
    var run =
        bench(() -> {
          assertIncomplete();
          assertThat(report().get("lost").isNull()).isTrue();
          return new DeviceException.Lost("gone");
        });
    assertThat(run.err()).isEmpty();
    assertThat(run.status()).isEqualTo(1);
    assertIncomplete();
    assertThat(report().get("lost").asString()).isEqualTo("gone");
    assertThat(run.out())
        .contains("the measurement ended early: gone")
        .contains("INCOMPLETE: 1 problems were not measured")
        .contains("FAILED: 1 rows, 0 failed");
  }

  @Test
  void filesSurviveACrash() {
    var run = bench(() -> new IllegalStateException("a bug"));
    assertThat(run.status()).isNotZero();
    assertIncomplete();
  }

  /** A matmul that fails for matrices of 5 rows. */
  private record Failing(Supplier<RuntimeException> failure) implements Op {

    private static Op matmul() {
      return Catalogue.load().find("matmul").orElseThrow();
    }

    @Override
    public OpDescription description() {
      return matmul().description();
    }

    @Override
    public List<? extends Plan> plans(
        Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
      if (Objects.requireNonNull(inputs.get("a")).shape().extent(0) == 5) {
        throw failure.get();
      }
      return matmul().plans(inputs, attributes, capability);
    }

    @Override
    public Map<String, double[]> reference(Map<String, HostTensor> inputs, Attributes attributes) {
      return matmul().reference(inputs, attributes);
    }

    @Override
    public List<Case> cases(RandomGenerator random, boolean quick) {
      return matmul().cases(random, quick);
    }
  }
}
