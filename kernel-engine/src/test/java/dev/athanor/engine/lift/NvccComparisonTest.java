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

/**
 * Machine code of kernels in Java is about as short as nvcc's, and the published table is right.
 */
class NvccComparisonTest {
  private static final Path TABLE = Path.of("../docs/results/lifted-kernels.md");
  private static final String VERSION = "13.0";
  private static final String CUDA = "install the CUDA toolkit " + VERSION;

  /** With up to 32 registers, a multiprocessor runs as many threads as it can hold. */
  private static final int FREE_REGISTERS = 32;

  private static List<String> rows() throws IOException {
    try (var lines = Files.lines(TABLE)) {
      return lines
          .filter(line ->
              NvccComparison.KERNELS.stream().anyMatch(k -> line.startsWith("| " + k + " ")))
          .toList();
    }
  }

  @Test
  void kernelsAreAsShortAsTheyWere() throws IOException {
    var assembler = Assemblers.any();
    var rows = rows();
    assertThat(rows).hasSameSizeAs(NvccComparison.KERNELS);
    for (int i = 0; i < rows.size(); i++) {
      var kernel = NvccComparison.KERNELS.get(i);
      var cells = Arrays.stream(rows.get(i).split("\\|")).map(String::strip).toList();
      assertThat(cells.get(1)).isEqualTo(kernel.name());
      var lifted = NvccComparison.lifted(assembler, kernel);
      assertThat(lifted.instructions())
          .as("instructions of %s", kernel)
          .isLessThanOrEqualTo(Double.parseDouble(cells.get(2)) * kernel.limit());
      assertThat((double) lifted.registers())
          .as("registers of %s", kernel)
          .isLessThanOrEqualTo(
              Math.max(FREE_REGISTERS, Integer.parseInt(cells.get(5)) * kernel.registers()));
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
