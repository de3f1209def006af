package dev.athanor.cli.report;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;

/** Tests tables and progress. */
class TextTest {

  @Test
  void alignsNumbersRight() {
    var table = new Table("what", "count", "share");
    table.add("one", "7", "3.5%");
    table.add("another", "1234", "");
    assertThat(table.text())
        .containsExactly("what     count  share", "one          7   3.5%", "another   1234");
    assertThat(table.markdown())
        .containsExactly(
            "| what | count | share |",
            "| --- | ---: | ---: |",
            "| one | 7 | 3.5% |",
            "| another | 1234 |  |");
  }

  @Test
  void erasesProgressFromATerminal() {
    var text = new StringWriter();
    try (var progress = new Progress(new PrintWriter(text), true)) {
      do {
        progress.at(3, 9, "matmul");
      } while (text.toString().isEmpty());
    }
    assertThat(text.toString())
        .startsWith("\r3 of 9: matmul")
        .endsWith("\r              \r")
        .doesNotContain("\n");
  }
}
