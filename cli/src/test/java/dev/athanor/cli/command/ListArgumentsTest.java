package dev.athanor.cli.command;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.cli.ListOp;
import dev.athanor.cli.argument.TensorFile;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

/** Tests lists and texts in the arguments and the output of commands. */
class ListArgumentsTest {

  private static final Catalogue CATALOGUE = new Catalogue(List.of(new ListOp()));

  @TempDir private Path folder;

  private String x() throws IOException {
    var file = folder.resolve("x.npy");
    TensorFile.write(file, HostTensor.zeros(TensorType.parse("f32[2]")));
    return file.toString();
  }

  private CommandResult run(String... arguments) {
    var all = new ArrayList<>(List.of("lists", "--device", "emulator"));
    all.addAll(List.of(arguments));
    return CommandResult.of(new CommandLine(new RunCommand(CATALOGUE)), all.toArray(String[]::new));
  }

  @Test
  void describesLists() {
    var out = CommandResult.of(new CommandLine(new OpsCommand(CATALOGUE)), "lists").out();
    assertThat(out)
        .containsPattern("(?m)^x0 … x2 or x +\\[N] +f32 +the operands$")
        .containsPattern("(?m)^axes +integers from -8 to 7 +the axes$")
        .containsPattern("(?m)^constants +numbers +the constants$")
        .containsPattern("(?m)^expression +text +the expression$")
        .containsPattern("(?m)^y0 … y1 +\\[N] +same as x0 +the results$")
        .doesNotContain("x1");
  }

  @Test
  void parsesListsAndTexts() throws Exception {
    var x = x();
    var run =
        run(
            "--in",
            "x0=" + x,
            "--in",
            "x1=" + x,
            "--attr",
            "axes=0,-2",
            "--attr",
            "constants=",
            "--attr",
            "expression=x0 == c0, 1",
            "--out",
            "y1=" + folder.resolve("y.npy"));
    assertThat(run.status()).isEqualTo(2);
    assertThat(run.err())
        .startsWith("got x0=f32[2] x1=f32[2] axes=0,-2 constants=\"\" expression=\"x0 == c0, 1\"");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "x0 | axes=0,,1 | attribute \"axes\" must be integers such as 0,2, got \"0,,1\"",
        "x0 | axes=0,9 | attribute \"axes\" must be from -8 to 7, got \"0,9\"",
        "x0 | constants=1,a | attribute \"constants\" must be finite numbers such as 0.5,2, got \"1,a\"",
        "x1 | axes=0 | input \"x0\" [N] is missing; the inputs of lists are x0 … x2",
        "x3 | axes=0 | lists has no input \"x3\"; its inputs are x0 … x2",
      })
  void rejectsInvalidLists(String input, String attribute, String message) throws Exception {
    var run = run("--in", input + "=" + x(), "--attr", attribute);
    assertThat(run.status()).isEqualTo(2);
    assertThat(run.err()).startsWith(message);
  }

  @Test
  void rejectsOutputsBeyondTheList() throws Exception {
    assertThat(run("--in", "x0=" + x(), "--out", "y2=y.npy").err())
        .startsWith("--out y2: lists has no output \"y2\"");
  }

  @Test
  void benchParsesQuotedTexts() {
    var command = new CommandLine(new BenchCommand(CATALOGUE));
    var run =
        CommandResult.of(
            command,
            "lists",
            "--device",
            "emulator",
            "--problem",
            "x0=f32[2] axes=0,2 expression=\"x0 + c0\"",
            "--problem",
            "x0=f32[2] axes=0,,2");
    assertThat(run.status()).isEqualTo(2);
    assertThat(run.err())
        .startsWith("--problem: attribute \"axes\" must be integers such as 0,2, got \"0,,2\"");
  }
}
