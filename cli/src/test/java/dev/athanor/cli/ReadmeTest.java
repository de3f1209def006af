package dev.athanor.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.service.AthanorApplication;
import dev.athanor.testing.Programs;
import dev.athanor.testing.TestTier;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.server.LocalServerPort;

/** Runs the commands of README.md and docs/quick-start.md. */
@SpringBootTest(
    classes = AthanorApplication.class,
    properties = {"athanor.device=emulator", "spring.grpc.server.port=0"},
    webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
@Tag(TestTier.THOROUGH_TAG)
class ReadmeTest {

  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  @LocalServerPort int port;

  @TempDir Path folder;

  /** Returns the code blocks with the given info string. */
  private static List<String> blocks(String marking) throws IOException {
    return Pattern.compile("(?ms)^```(\\w*)\\R(.*?)^```$")
        .matcher(
            Files.readString(ROOT.resolve("README.md"))
                + Files.readString(ROOT.resolve("docs/quick-start.md")))
        .results()
        .filter(block -> block.group(1).equals(marking))
        .map(block -> block.group(2))
        .toList();
  }

  private void copyExamples() throws IOException {
    var copies = Files.createDirectory(folder.resolve("examples"));
    try (var examples = Files.list(ROOT.resolve("examples"))) {
      for (var example : examples.toList()) {
        Files.copy(example, copies.resolve(example.getFileName()));
      }
    }
  }

  /** Runs all requests in one shell, except for those that need Python. */
  @Test
  void requestsOfTheReadmeRun() throws Exception {
    Programs.require("curl", "apt-get install curl");
    copyExamples();
    var script =
        blocks("sh").stream()
            .filter(block -> !block.contains("python3"))
            .map(block -> block.replace("curl -s ", "curl -sS --fail ") + "echo\n")
            .reduce("set -e\n", String::concat)
            .replace("127.0.0.1:8080", "127.0.0.1:" + port);
    assertThat(script).contains("/ops/matmul", "/tensors", "/pipelines/run", "/infer");
    var output = folder.resolve("output");
    var shell =
        new ProcessBuilder("/bin/sh", "-c", script)
            .directory(folder.toFile())
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    try {
      shell.waitFor();
    } finally {
      shell.destroyForcibly();
    }
    var text = Files.readString(output);
    assertThat(shell.exitValue()).as(text).isZero();
    var product = Pattern.compile("\"outputs\":\\S+?}}(?=,\"timing\")");
    assertThat(blocks("json"))
        .singleElement()
        .asString()
        .containsPattern(product)
        .satisfies(block ->
            assertThat(text)
                .contains(product.matcher(block).results().map(MatchResult::group).toList()));
    assertThat(text).contains("[12.0,14.0]", "athanor_op_requests_total{device=\"emulator:0\"");
    assertThat(folder.resolve("b.npy")).isNotEmptyFile();
  }

  /**
   * Splits a shell command into words, without its comment and a final {@code &}. Of a command
   * substitution {@code $(…)}, the parentheses become spaces.
   */
  private static List<String> words(String line) {
    var command =
        line.replaceFirst("\\s#.*", "")
            .replaceFirst("\\s&\\s*$", "")
            .replaceAll("\\$\\(([^)]*)\\)", " $1 ");
    return Pattern.compile("\"([^\"]*)\"|(\\S+)")
        .matcher(command)
        .results()
        .map(word -> word.group(1) == null ? word.group(2) : word.group(1))
        .toList();
  }

  private static Stream<List<String>> commands() throws IOException {
    return blocks("").stream()
        .flatMap(String::lines)
        .map(ReadmeTest::words)
        .filter(words -> words.contains("./athanor"))
        .map(words -> words.subList(words.indexOf("./athanor") + 1, words.size()));
  }

  @Test
  void commandsOfTheReadmeExist() throws IOException {
    assertThat(commands())
        .hasSizeGreaterThan(10)
        .anyMatch(words -> words.getFirst().equals("api-key"))
        .noneMatch(words -> words.contains("&"));
    commands().forEach(words -> Athanor.commandLine().parseArgs(words.toArray(String[]::new)));
  }

  @Test
  void commandsOnExamplesRun() throws IOException {
    copyExamples();
    var ran =
        commands()
            .filter(words -> words.stream().anyMatch(word -> word.contains("examples/")))
            .toList();
    assertThat(ran).hasSize(3);
    for (var words : ran) {
      var out = new StringWriter();
      var err = new StringWriter();
      int status =
          Athanor.commandLine()
              .setOut(new PrintWriter(out))
              .setErr(new PrintWriter(err))
              .execute(
                  words.stream()
                      .map(word ->
                          word.replace("examples/", folder + "/examples/")
                              .replace("out:", "out:" + folder + "/"))
                      .toArray(String[]::new));
      assertThat(err.toString()).isEmpty();
      if (words.contains("--sanitize")) {
        assertThat(status).isEqualTo(1);
        assertThat(out.toString()).startsWith("report: RACE_IN_BLOCK: ");
      } else {
        assertThat(status).isZero();
        assertThat(out.toString())
            .contains(words.getFirst().equals("run") ? " [43 50]]" : "wrote f32[4] to ");
      }
    }
  }
}
