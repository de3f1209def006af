package dev.athanor.engine.lift;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.analysis.Assemblers;
import dev.athanor.engine.analysis.Ptxas;
import dev.athanor.testing.Programs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Machine code of kernels in Java is as short as nvcc's, and the published table is right. */
class NvccComparisonTest {
  private static final Path TABLE = Path.of("../docs/results/lifted-kernels.md");
  private static final String VERSION = "13.0";
  private static final String CUDA = "install the CUDA toolkit " + VERSION;

  private static List<String> rows() throws IOException {
    try (var lines = Files.lines(TABLE)) {
      return lines
          .filter(line -> NvccComparison.KERNELS.stream().anyMatch(k -> line.startsWith("| " + k)))
          .toList();
    }
  }

  @Test
  void kernelsNeedAtMostATenthMoreThanNvccs() throws IOException {
    var assembler = Assemblers.any();
    var rows = rows();
    assertThat(rows).hasSameSizeAs(NvccComparison.KERNELS);
    for (var row : rows) {
      var cells = Arrays.stream(row.split("\\|")).map(String::strip).toList();
      var lifted = NvccComparison.lifted(assembler, cells.get(1));
      assertThat(lifted.instructions())
          .as("instructions of %s", cells.get(1))
          .isLessThanOrEqualTo(Integer.parseInt(cells.get(2)) * 11 / 10);
      assertThat(lifted.registers())
          .as("registers of %s", cells.get(1))
          .isLessThanOrEqualTo(Integer.parseInt(cells.get(5)) * 11 / 10);
    }
  }

  @Test
  void theTableIsWhatTheToolsMake() throws IOException, InterruptedException {
    Programs.require("nvcc", CUDA);
    Programs.require(
        Ptxas.find().filter(found -> found.name().contains(VERSION)), "ptxas " + VERSION, CUDA);
    assertThat(rows())
        .as("the table in %s", TABLE)
        .isEqualTo(NvccComparison.measure().stream().map(NvccComparison::row).toList());
  }
}
