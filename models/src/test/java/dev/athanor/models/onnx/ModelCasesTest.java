package dev.athanor.models.onnx;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.testing.OnnxFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Runs models by the float64 references of the ops. */
class ModelCasesTest {

  private static final Path LEDGER = Path.of("src/test/resources/operators.txt");

  /** The passing tests and all tests of an operator. */
  private static final class Count {
    private int passed;
    private int all;
  }

  /**
   * Compares the number of passing tests of each operator with the ledger, which {@code -Dbless}
   * writes. A node that the import does not support is refused; none gives a wrong result.
   */
  @Test
  void everyNodeIsRightOrRefused() throws IOException {
    var counts = new TreeMap<String, Count>();
    var wrong = new ArrayList<String>();
    for (var each : ModelCase.of(OnnxFiles.nodes())) {
      var outcome = each.outcome();
      var count = counts.computeIfAbsent(each.operator(), _ -> new Count());
      count.all++;
      if (outcome.equals("passed")) {
        count.passed++;
      } else if (outcome.startsWith("wrong")) {
        wrong.add(each.name() + ": " + outcome);
      }
    }
    assertThat(wrong).isEmpty();
    var lines = new StringBuilder();
    counts.forEach((operator, count) ->
        lines.append("%s %d/%d%n".formatted(operator, count.passed, count.all)));
    int passed = counts.values().stream().mapToInt(count -> count.passed).sum();
    int all = counts.values().stream().mapToInt(count -> count.all).sum();
    lines.append("all %d/%d%n".formatted(passed, all));
    if (Boolean.getBoolean("bless")) {
      Files.writeString(LEDGER, lines, UTF_8);
    }
    assertThat(lines.toString()).isEqualToNormalizingNewlines(Files.readString(LEDGER, UTF_8));
  }

  static List<ModelCase> models() {
    return ModelCase.of(OnnxFiles.models());
  }

  @ParameterizedTest
  @MethodSource("models")
  void modelsReturnWhatPyTorchExpects(ModelCase model) throws IOException {
    assertThat(model.outcome()).isEqualTo("passed");
  }
}
