package dev.athanor.engine.lift;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.lift.refusal.Refusal;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** The rows of the table of errors in docs/programming-model.md are reasons in their own words. */
class ProgrammingModelTest {
  private static final Path PAGE = Path.of("../docs/programming-model.md");
  private static final String HEADER = "| what the method does | what to write instead |";

  @Test
  void theErrorsHaveTheWordsOfTheRefusals() throws IOException {
    var rows =
        Files.readAllLines(PAGE).stream()
            .dropWhile(line -> !line.equals(HEADER))
            .skip(2)
            .takeWhile(line -> line.startsWith("|"))
            .toList();
    var refusals =
        Arrays.stream(Refusal.values())
            .map(each -> "| %s | %s |".formatted(each.what("…", "…", "…"), each.remedy()))
            .toList();
    assertThat(rows).isNotEmpty().doesNotHaveDuplicates();
    assertThat(refusals).containsAll(rows);
  }
}
