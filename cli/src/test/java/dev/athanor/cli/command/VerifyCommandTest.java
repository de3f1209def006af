package dev.athanor.cli.command;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.TensorType;
import dev.athanor.testing.TestTier;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import tools.jackson.databind.json.JsonMapper;

/** Tests {@code athanor verify} with wrong ops. */
@Tag(TestTier.THOROUGH_TAG)
class VerifyCommandTest {

  @TempDir Path folder;

  private static CommandResult verify(Op op, String... more) {
    return verify(new Catalogue(List.of(op)), more);
  }

  private static CommandResult verify(Catalogue catalogue, String... more) {
    var arguments = new String[more.length + 3];
    arguments[0] = "--device";
    arguments[1] = "emulator";
    arguments[2] = "--quick";
    System.arraycopy(more, 0, arguments, 3, more.length);
    return CommandResult.of(new CommandLine(new VerifyCommand(catalogue)), arguments);
  }

  @Test
  void checksAllOpsByDefault() {
    var names = List.of("gelu", "mul", "softmax");
    var all = Catalogue.load();
    var json = folder.resolve("x.json");
    var catalogue =
        new Catalogue(names.stream().map(name -> all.find(name).orElseThrow()).toList());
    assertThat(verify(catalogue, "--json", json.toString()).status()).isZero();
    var variants = new JsonMapper().readTree(json.toFile()).get("variants");
    assertThat(variants.valueStream().map(v -> v.get("op").stringValue()).distinct())
        .containsExactlyInAnyOrderElementsOf(names);
  }

  @Test
  void reportsAWrongResultWithTheCommandThatRepeatsIt() {
    var json = folder.resolve("x.json");
    var run = verify(new Changed(Change.REFERENCE), "--seed", "7", "--json", json.toString());
    assertThat(run.status()).isEqualTo(1);
    assertThat(run.out())
        .containsPattern("(?m)^matmul +\\d+ +\\d+ +[1-9]\\d* +\\d+\\.\\d% +FAILED$")
        .containsPattern("FAILED matmul, kernel \\S+, case 2\n")
        .containsPattern(
            "  element 0 \\(\\[0, 0\\]\\) of c is \\S+, expected 1000\\.0; 1 of 1 elements fail\n")
        .containsPattern("  error \\S+, limit 1\\.00e-06\n")
        .containsPattern(
            "  inputs a=f32\\[1, 1\\] b=f32\\[1, 1\\] bias=f32\\[1\\], attributes activation=")
        .contains(
            "  repeat: athanor verify --device emulator --quick --seed 7 --op matmul --case 2\n")
        .containsPattern(
            "(?m)^FAILED: \\d+ checks of \\d+ kernel variants in .* \\d+ failed; .* seed 7$");

    var report = new JsonMapper().readTree(json.toFile());
    assertThat(report.get("ok").booleanValue()).isFalse();
    var failures = report.get("failures");
    assertThat(failures).hasSizeBetween(3, report.get("checks").intValue() - 3);
    var failure = failures.get(0);
    assertThat(failure.get("op").stringValue()).isEqualTo("matmul");
    assertThat(failure.get("number").intValue()).isEqualTo(2);
    assertThat(failure.get("kind").stringValue()).isEqualTo("WRONG");
    assertThat(failure.get("inputs").get("bias").stringValue()).isEqualTo("f32[1]");
    assertThat(run.out())
        .contains("activation=" + failure.get("attributes").get("activation").stringValue());
    assertThat(failure.get("error").doubleValue())
        .isGreaterThan(failure.get("limit").doubleValue());

    var alone =
        verify(new Changed(Change.REFERENCE), "--seed", "7", "--op", "matmul", "--case", "2");
    assertThat(alone.status()).isEqualTo(1);
    assertThat(alone.out()).contains(failure.get("sentence").stringValue());
    assertThat(verify(new Changed(Change.REFERENCE), "--op", "matmul", "--case", "1").status())
        .isZero();
  }

  @Test
  void partsTogetherMakeEveryCheck() {
    var json = folder.resolve("x.json");
    var catalogue = new Catalogue(List.of(Catalogue.load().find("mul").orElseThrow()));
    int checks = 0;
    for (var part : List.of("1/1", "1/3", "2/3", "3/3")) {
      assertThat(verify(catalogue, "--part", part, "--json", json.toString()).status()).isZero();
      int ofPart = new JsonMapper().readTree(json.toFile()).get("checks").intValue();
      assertThat(ofPart).isPositive();
      checks = part.equals("1/1") ? ofPart : checks - ofPart;
    }
    assertThat(checks).isZero();
  }

  @Test
  void failsIfAnOpRejectsItsOwnCase() {
    var run = verify(new Changed(Change.REFUSES));
    assertThat(run.status()).isEqualTo(1);
    assertThat(run.out()).contains("FAILED matmul, kernel none, case 1\n  not this one\n");
  }

  @Test
  void failsIfAnOpHasNoChecks() {
    var run = verify(new Changed(Change.UNSUPPORTED));
    assertThat(run.status()).isEqualTo(1);
    assertThat(run.out())
        .contains("2 cases were skipped, the first because no device can")
        .contains("ops without checks: matmul");
  }

  private static CommandResult run(String... arguments) {
    return CommandResult.of(new CommandLine(new VerifyCommand()), arguments);
  }

  @Test
  void comparesInstructionsWithTheEmulator() {
    var goldens = folder.resolve("goldens.tsv");
    var json = folder.resolve("x.json");
    var run =
        run(
            "--device",
            "emulator",
            "--suite",
            "isa",
            "--instruction",
            "shf",
            "ex2",
            "--goldens",
            goldens.toString(),
            "--json",
            json.toString());
    assertThat(run.status()).isZero();
    assertThat(run.out())
        .containsPattern("(?m)^ex2 +\\d+ +\\d+ +0 +ok$")
        .containsPattern("(?m)^shf +\\d+ +\\d+ +0 +ok$")
        .containsPattern(
            "(?m)^ok: \\d+ instructions compared with the emulator in .* 0 failed; seed 1$");
    assertThat(goldens).content().contains("\nsm_90\n").contains("ex2.approx.f32 %d, %a;\t1\t");
    var report = new JsonMapper().readTree(json.toFile());
    assertThat(report.get("rows").get(1).get("mnemonic").stringValue()).isEqualTo("shf");
    assertThat(report.get("rows").get(1).get("wrong").intValue()).isZero();
  }

  @Test
  void rejectsOptionsOfTheOtherSuite() {
    assertThat(run("--suite", "isa", "--op", "matmul").err())
        .contains("--op and --case require --suite ops or all");
    assertThat(run("--suite", "ops", "--instruction", "mma").err())
        .contains("--instruction and --goldens require --suite isa or all");
    assertThat(run("--device", "emulator", "--suite", "isa", "--instruction", "ld").err())
        .contains(
            "--instruction: \"ld\" is not a register-to-register instruction; use one of abs,");
    assertThat(run("--suite", "everything").err()).contains("everything");
  }

  private enum Change {
    REFERENCE,
    REFUSES,
    UNSUPPORTED
  }

  /** A matmul with two cases, without and with a bias; the second is changed. */
  private record Changed(Change change) implements Op {

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
      return switch (change) {
        case REFERENCE -> matmul().plans(inputs, attributes, capability);
        case REFUSES -> throw new OpException.ShapeMismatch("a", "not this one");
        case UNSUPPORTED -> throw new OpException.UnsupportedOnDevice("a", "no device can");
      };
    }

    @Override
    public Map<String, double[]> reference(Map<String, HostTensor> inputs, Attributes attributes) {
      var right = new HashMap<>(matmul().reference(inputs, attributes));
      if (inputs.containsKey("bias")) {
        right.computeIfPresent(
            "c",
            (_, c) -> {
              c[0] = 1000;
              return c;
            });
      }
      return right;
    }

    @Override
    public List<Case> cases(RandomGenerator random, boolean quick) {
      var all = matmul().cases(random, quick);
      return List.of(
          all.stream().filter(each -> !each.inputs().containsKey("bias")).findFirst().orElseThrow(),
          all.stream().filter(each -> each.inputs().containsKey("bias")).findFirst().orElseThrow());
    }
  }
}
