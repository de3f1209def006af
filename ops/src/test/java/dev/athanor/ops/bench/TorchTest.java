package dev.athanor.ops.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.Problem;
import dev.athanor.ops.TensorType;
import dev.athanor.testing.Programs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Communication with the PyTorch process, and all the ways in which it may fail. */
class TorchTest {

  private static final Effort SHORT = new Effort(1, 2, 0);
  private static final Duration LONG = Duration.ofHours(1);

  private static final String TIMES =
      """
      {"median": 2.5, "min": 2, "max": 3.5, "count": 7, "batch": 4, "call": "torch.mm"}\
      """;

  @TempDir private Path folder;

  /**
   * Returns a baseline with a shell script instead of Python; its arguments are -c, the Python
   * script and the device.
   */
  private Torch shell(Duration timeout, String... lines) throws IOException {
    var script = folder.resolve("python");
    Files.writeString(script, "#!/bin/sh\n" + String.join("\n", lines) + "\n");
    assertThat(script.toFile().setExecutable(true)).isTrue();
    return new Torch(script.toString(), "cpu", timeout);
  }

  private static String say(String json) {
    return "echo '%s'".formatted(json);
  }

  private static final String HELLO = say("{\"name\": \"PyTorch 9 on a shell\"}");

  private static Optional<Baseline.Result> time(Torch torch, String op, String text) {
    var problem = Problem.parse(Catalogue.load().find(op).orElseThrow(), text);
    return torch.time(problem, Map.of("c", TensorType.parse("f16[3,4]")), SHORT, 5);
  }

  private static Optional<Baseline.Result> product(Torch torch) {
    return time(torch, "matmul", "a=f16[3,2] b=f16[2,4] alpha=2");
  }

  private static String remark(Torch torch) {
    var result = product(torch).orElseThrow();
    assertThat(result.samples()).isEmpty();
    return result.remark();
  }

  @Test
  void sendsAndReceivesLines() throws Exception {
    var received = folder.resolve("heard");
    var torch =
        shell(
            LONG,
            "echo \"$1 $3\" > " + received,
            HELLO,
            "read line; echo \"$line\" >> " + received,
            say(TIMES),
            "cat > /dev/null");
    assertThat(torch.name()).isEqualTo("PyTorch");
    assertThat(received).as("a process before the first problem").doesNotExist();
    assertThat(product(torch))
        .contains(
            new Baseline.Result("torch", Optional.of(new Samples(2.5, 2, 3.5, 7, 4)), "torch.mm"));
    assertThat(torch.name()).isEqualTo("PyTorch 9 on a shell");
    assertThat(torch.missing()).isEmpty();
    torch.close();
    var lines = Files.readAllLines(received);
    assertThat(lines.getFirst()).isEqualTo("-c cpu");
    assertThat(lines.get(1))
        .contains(
            "\"op\":\"matmul\"",
            "\"outputs\":{\"c\":{",
            "\"alpha\":2.0",
            "\"transposeB\":false",
            "\"warmup\":1,\"repeat\":2,\"minMillis\":0.0,\"seed\":5")
        .containsPattern(
            "\"a\":\\{(\"dtype\":\"f16\",\"shape\":\\[3,2]|\"shape\":\\[3,2],\"dtype\":\"f16\")}");
  }

  @Test
  void keepsTheProcessIfAnOpIsUnsupported() throws Exception {
    var torch =
        shell(
            LONG,
            HELLO,
            "read line",
            say("{\"unsupported\": \"torch has no equivalent of this op\"}"),
            "read line",
            say(TIMES));
    assertThat(remark(torch)).isEqualTo("unsupported: torch has no equivalent of this op");
    assertThat(product(torch).orElseThrow().samples()).isPresent();
    torch.close();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      textBlock =
          """
          echo '{"failed": "OutOfMemoryError: no 9 GiB"}' | failed: OutOfMemoryError: no 9 GiB
          echo Killed >&2; exit 3 | failed: its process ended with status 3 before it answered: Killed
          exit 0 | failed: its process ended with status 0 before it answered
          echo hello | failed: its process answered "hello"; expected a JSON object with the requested values
          echo '[1]' | failed: its process answered "[1]"; expected a JSON object with the requested values
          echo '{}' | failed: its process answered "{}"; expected a JSON object with a positive "median"
          echo '{"median":-1}' | failed: its process answered "{"median":-1}"; expected a JSON object with a positive "median"
          """)
  void restartsTheProcessAfterFailures(String command, String remark) throws Exception {
    var once = folder.resolve("once");
    var torch =
        shell(
            LONG,
            HELLO,
            "read line",
            "if [ ! -e %1$s ]; then : > %1$s; %2$s; cat > /dev/null; exit 0; fi"
                .formatted(once, command),
            say(TIMES));
    assertThat(remark(torch)).isEqualTo(remark);
    assertThat(product(torch).orElseThrow().samples()).isPresent();
    assertThat(torch.missing()).isEmpty();
    torch.close();
  }

  @Test
  void killsAProcessThatDoesNotAnswer() throws Exception {
    var torch = shell(Duration.ofMillis(300), HELLO, "cat >&2");
    assertThat(remark(torch)).isEqualTo("failed: its process did not respond within 300 ms");
    assertThat(ProcessHandle.current().descendants())
        .noneMatch(process -> process.info().commandLine().orElse("").contains(folder.toString()));
    torch.close();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      textBlock =
          """
          echo '{"failed": "torch 9 cannot use cuda:0: no CUDA device found"}' | torch 9 cannot use cuda:0: no CUDA device found
          echo no module >&2; exit 1 | its process ended with status 1 before it answered: no module
          echo '{"torch": 9}' | its process answered "{"torch":9}"; expected a JSON object with a "name"
          """)
  void startsABrokenPythonOnce(String command, String sentence) throws Exception {
    var starts = folder.resolve("starts");
    var torch = shell(LONG, "echo again >> " + starts, command);
    assertThat(product(torch)).isEmpty();
    assertThat(product(torch)).isEmpty();
    assertThat(torch.missing())
        .contains(
            sentence
                + "; PyTorch must be installed for python3 on the PATH or for the interpreter that ATHANOR_PYTHON names");
    assertThat(Files.readAllLines(starts)).hasSize(1);
    torch.close();
  }

  @Test
  void reportsAMissingPython() {
    var torch = new Torch(folder.resolve("snake").toString(), "cpu", LONG);
    assertThat(product(torch)).isEmpty();
    assertThat(torch.missing().orElseThrow())
        .startsWith(folder.resolve("snake") + " does not start: ")
        .endsWith(
            "; PyTorch must be installed for python3 on the PATH or for the interpreter that ATHANOR_PYTHON names");
    torch.close();
  }

  private static boolean runs(String... command) throws Exception {
    try {
      var process =
          new ProcessBuilder(command)
              .redirectErrorStream(true)
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .start();
      return process.waitFor() == 0;
    } catch (IOException e) {
      return false;
    }
  }

  /** The option -S excludes the folders in which PyTorch would be installed. */
  @Test
  void reportsAPythonWithoutTorch() throws Exception {
    Programs.require("python3", "apt-get install python3");
    var torch = shell(LONG, "exec python3 -S -E \"$@\"");
    assertThat(product(torch)).isEmpty();
    assertThat(torch.missing().orElseThrow())
        .matches("this Python \\(.+\\) cannot import torch: No module named 'torch'; .*");
    torch.close();
  }

  /** Each problem of every suite is timed or, if torch has no such op, unsupported; none fails. */
  @Test
  void timesRealTorchOnTheCpu() throws Exception {
    var python = Objects.requireNonNullElse(System.getenv(Torch.PYTHON), "python3");
    assumeTrue(
        runs(python, "-c", "import torch"), "NOT TESTED: " + python + " cannot import torch");
    var timed = new TreeMap<String, String>();
    var torch = new Torch(python, "cpu", LONG);
    try (var device = new EmulatedDevice()) {
      for (var op : Catalogue.load().all()) {
        for (var problem : Suites.of(op, false)) {
          var outputs = problem.plans(device.capability()).getFirst().outputs();
          var result = torch.time(problem, outputs, SHORT, 1).orElseThrow();
          if (result.samples().isPresent()) {
            assertThat(result.samples().get().median()).isPositive();
            timed.put(op.description().name(), result.remark());
          } else {
            assertThat(result.remark())
                .isEqualTo("unsupported: torch has no equivalent of %s", op.description().name());
          }
        }
      }
    } finally {
      torch.close();
    }
    assertThat(torch.name()).startsWith("PyTorch ").endsWith(" threads");
    assertThat(timed)
        .containsEntry("attention-decode", "F.scaled_dot_product_attention over whole caches")
        .containsEntry("residual-rms-norm", "a sum, then F.rms_norm")
        .containsKeys("matmul", "attention", "softmax", "cast", "gather", "argmax", "transpose")
        .doesNotContainKeys("matmul-gguf", "rope", "attention-backward");
  }
}
