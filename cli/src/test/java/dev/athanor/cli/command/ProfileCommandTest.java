package dev.athanor.cli.command;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.athanor.cli.Athanor;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Tests {@code athanor profile}. */
class ProfileCommandTest {

  private static final JsonMapper JSON = new JsonMapper();

  private static CommandResult profile(String... options) {
    var all = new ArrayList<>(List.of("profile", "matmul"));
    all.addAll(List.of(options));
    var run = CommandResult.of(Athanor.commandLine(), all.toArray(String[]::new));
    assertThat(run.err()).isEmpty();
    assertThat(run.status()).isZero();
    return run;
  }

  private static JsonNode json(String... options) {
    var all = new ArrayList<>(List.of(options));
    all.add("--json");
    return JSON.readTree(profile(all.toArray(String[]::new)).out());
  }

  @Test
  void exampleOfTheHelpRuns() {
    // picocli breaks long lines
    var help = profile("--help").out().replaceAll("\\s+", " ");
    var example =
        "profile matmul --shape a=64,64 --shape b=64,64 --dtype a=f16 --dtype b=f16 --gpu A100";
    assertThat(help).contains("Example: athanor " + example);
    var run = CommandResult.of(Athanor.commandLine(), example.split(" "));
    assertThat(run.status()).isZero();
    assertThat(run.out())
        .startsWith("matmul_f16_16x128x64x4_nn_a16_b16_f16_c16: 4x1x1 blocks of 128x1x1 threads")
        .containsPattern("Lower bound on A100: [0-9.]+ µs, for \\w+\\.")
        .contains("Bounds ignore stalls; they do not predict the time.")
        .containsPattern("(?m)^tensor +[\\d.]+ µs +1048576 +operations")
        .containsPattern("(?m)^ldmatrix\\S+ +\\w+.java:\\d+ +\\d+ .* none$")
        .containsPattern(
            "(?m)^occupancy: \\d+ blocks, \\d+ warps .* registers per thread \\(.+\\)$");
  }

  @Test
  void jsonHasTheWholeProfile() {
    var report = json("--shape", "a=64,32", "--shape", "b=32,64", "--gpu", "l4");
    assertThat(report.get("gpu").stringValue()).isEqualTo("L4");
    assertThat(report.get("cost").get("flops").doubleValue()).isEqualTo(2.0 * 64 * 32 * 64);
    var launch = report.get("launches").get(0);
    assertThat(launch.get("kernel")).isEqualTo(report.get("kernel"));
    assertThat(launch.get("blocksRun")).isEqualTo(launch.get("blocks"));
    // one fma per product, plus the scaling of each sum
    assertThat(launch.get("mix").get("fma").longValue()).isEqualTo(64 * 32 * 64 / 32);
    assertThat(launch.get("flops").get("f32").longValue()).isEqualTo(2 * 64 * 32 * 64 + 64 * 64);
    assertThat(launch.get("activeLanes")).hasSize(33);
    assertThat(launch.get("branches").get("divergent").longValue()).isZero();
    assertThat(launch.get("memory").get("global").get("written").longValue())
        .isEqualTo(64 * 64 * 4);
    assertThat(launch.get("shared").get("ways").intValue()).isEqualTo(1);
    var bounds = launch.get("bounds");
    assertThat(bounds.get("certain").get("seconds").doubleValue())
        .isPositive()
        .isLessThanOrEqualTo(bounds.get("limiter").get("seconds").doubleValue());
    assertThat(bounds.get("resources").valueStream().map(r -> r.get("name").stringValue()))
        .contains("dram", "latency", "l2", "shared", "f32", "issue", "integer");
    assertThat(bounds.get("occupancy").get("registers").intValue()).isBetween(16, 255);
    assertThat(bounds.get("lines")).hasSize(5);
    // an access lists only the memory that it accesses
    var load = launch.get("accesses").get(0);
    assertThat(load.get("instruction").stringValue()).startsWith("ld.global.");
    assertThat(load.get("global").get("sectorsPerRequest").doubleValue()).isBetween(4.0, 16.0);
    assertThat(load.has("shared")).isFalse();
  }

  @Test
  void extrapolatesFromSomeBlocks() {
    String[] shapes = {"--shape", "a=96,64", "--shape", "b=64,96"};
    var whole = json(shapes).get("launches").get(0);
    var part = json(with(shapes, "--blocks", "3")).get("launches").get(0);
    assertThat(part.get("blocks").longValue()).isEqualTo(9);
    assertThat(part.get("blocksRun").longValue()).isEqualTo(3);
    assertThat(3 * part.get("executed").longValue()).isEqualTo(whole.get("executed").longValue());
    double all = resource(whole, "f32");
    assertThat(resource(part, "f32")).isCloseTo(all, within(1e-9 * all));
    assertThat(profile(with(shapes, "--blocks", "3")).out())
        .contains("counted in 3 of 9 blocks, spread evenly;");
  }

  private static String[] with(String[] options, String... more) {
    var all = new ArrayList<>(List.of(options));
    all.addAll(List.of(more));
    return all.toArray(String[]::new);
  }

  private static double resource(JsonNode launch, String name) {
    return launch
        .get("bounds")
        .get("resources")
        .valueStream()
        .filter(resource -> resource.get("name").stringValue().equals(name))
        .findFirst()
        .orElseThrow()
        .get("seconds")
        .doubleValue();
  }

  @Test
  void reportsEveryLaunchOfABatch() {
    // a launch covers two batch dimensions; this problem has three
    var report = json("--shape", "a=2,1,4,8,8", "--shape", "b=1,3,4,8,8");
    assertThat(report.get("launches")).hasSizeGreaterThan(1);
  }

  @Test
  void profilesAnotherKernelVariant() {
    var name = "matmul_f32_64x64x16_nn_a16_b16_c16";
    var run = profile("--shape", "a=8,8", "--shape", "b=8,8", "--kernel", name);
    assertThat(run.out()).startsWith(name + ": 1x1x1 blocks of 256x1x1 threads");
  }

  @Test
  void reportsProblemsThatDoNotFitIntoMemory() {
    var line = "profile matmul --shape a=1000000,1000000 --shape b=1000000,1";
    var run = CommandResult.of(Athanor.commandLine(), line.split(" "));
    assertThat(run.status()).isEqualTo(1);
    assertThat(run.err()).startsWith("athanor profile: ").contains("4000000000000 bytes");
    assertThat(run.out()).isEmpty();
  }
}
