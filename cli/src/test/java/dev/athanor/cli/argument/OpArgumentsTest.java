package dev.athanor.cli.argument;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.cli.ListOp;
import dev.athanor.ops.Catalogue;
import java.util.List;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

/** Tests the arguments of ops with lists. */
class OpArgumentsTest {

  private static final Catalogue CATALOGUE = new Catalogue(List.of(new ListOp()));

  @CommandLine.Command
  private static final class Host {
    @CommandLine.Mixin private final OpArguments op = new OpArguments();
  }

  private static String problem(String... arguments) {
    var host = new Host();
    new CommandLine(host).parseArgs(arguments);
    return host.op.problem(CATALOGUE).text();
  }

  @Test
  void parsesLists() {
    assertThat(
            problem(
                "lists",
                "--shape",
                "x=4",
                "--shape",
                "x1=2",
                "--attr",
                "axes=0,2",
                "--attr",
                "expression=x0 + c0"))
        .isEqualTo("x0=f32[4] x1=f32[2] axes=0,2 expression=\"x0 + c0\"");
  }

  @Test
  void rejectsGaps() {
    assertThatThrownBy(() -> problem("lists", "--shape", "x0=4", "--shape", "x2=4"))
        .hasMessage(
            "input \"x1\" is missing but \"x2\" is given; the inputs of a list have consecutive numbers");
  }
}
