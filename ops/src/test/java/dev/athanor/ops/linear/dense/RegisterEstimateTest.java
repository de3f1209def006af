package dev.athanor.ops.linear.dense;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.LedgerEntry;
import dev.athanor.ops.Production;
import dev.athanor.ops.TestDevices;
import dev.athanor.ops.tile.TilePlanner;
import dev.athanor.testing.TestTier;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Compares the planner's estimate of registers with the allocation of ptxas for the same kernels,
 * as recorded in the ledgers of first choices.
 */
@Tag(TestTier.THOROUGH_TAG)
class RegisterEstimateTest {

  private static final int MAX_REGISTERS = 255;

  /**
   * Registers that ptxas may allocate beyond the estimate. It uses free registers to run ahead,
   * most in the epilogues of int8 with one scale and of c stored two bytes at a time. That is not a
   * fault: kernels that need more registers than there are spill, and are not in the ledgers.
   */
  private static final int MARGIN = 80;

  private record Row(String kernel, Target target, int estimate, int actual) {}

  @Test
  void firstChoicesStayNearTheirEstimates() throws IOException {
    var rows = new ArrayList<Row>();
    for (var name : List.of("matmul", "matmul-int8", "matmul-backward")) {
      var variants = new HashMap<String, TensorVariant>();
      for (var plan : Production.firstChoices(Catalogue.load().find(name).orElseThrow())) {
        for (var step : plan.steps()) {
          if (step.variant() instanceof TensorVariant tensor) {
            variants.put(tensor.name(), tensor);
          }
        }
      }
      for (var line :
          Files.readAllLines(Path.of("src/test/resources/first-choices", name + ".txt"))) {
        var terms = line.split(" +");
        var variant = variants.get(terms[1]);
        if (variant != null) {
          registers(terms)
              .forEach((target, actual) ->
                  rows.add(new Row(terms[1], target, estimate(variant, target), actual)));
        }
      }
    }
    assertThat(rows).hasSizeGreaterThan(300);
    var below = rows.stream().filter(row -> row.estimate < row.actual).toList();
    if (TestTier.current() == TestTier.SWEEP) {
      System.out.printf(
          "registers of first choices: %d estimates, %d below the allocation of ptxas%n",
          rows.size(), below.size());
      below.forEach(row ->
          System.out.printf(
              "  %s for %s: %d estimated, %d allocated%n",
              row.kernel, row.target, row.estimate, row.actual));
    }
    assertThat(rows)
        .allSatisfy(row -> {
          assertThat(row.estimate).isLessThanOrEqualTo(MAX_REGISTERS);
          assertThat(row.actual).isLessThanOrEqualTo(row.estimate + MARGIN);
        });
  }

  private static int estimate(TensorVariant variant, Target target) {
    var device = TestDevices.of(target, 132, 232_448);
    return new TilePlanner(1, 1, 1, 1, variant.a(), variant.b(), device)
        .registers(variant.product());
  }

  /** Returns the registers for the targets whose instructions the kernels are written in. */
  private static Map<Target, Integer> registers(String[] terms) {
    return Arrays.stream(terms)
        .skip(2)
        .map(LedgerEntry::parse)
        .filter(entry -> entry.target().sm() >= 80)
        .collect(Collectors.toMap(LedgerEntry::target, LedgerEntry::registers));
  }
}
