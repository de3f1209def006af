package dev.athanor.ops.tile;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.ptx.Module;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.LedgerEntry;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.profile.OpProfile;
import dev.athanor.testing.TestTier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The main loops of products on tensor cores, compared with those of dense products. */
@Tag(TestTier.THOROUGH_TAG)
class MainLoopTest {

  private static final String CONVOLUTION =
      "x=f16[32,56,56,64] weight=f16[64,3,3,64] bias=f16[64] before=1,1 after=1,1 activation=relu"
          + " channelsLast=true";
  private static final String PRODUCT =
      "a=f16[100352,576] b=f16[64,576] bias=f16[64] transposeB=true activation=relu";

  private static final String GROUPS =
      "a=f16[4096,4096] b=f16[8,4096,4096] sizes=i32[8] transposeB=true";
  private static final String ONE = "a=f16[4096,4096] b=f16[4096,4096] transposeB=true";

  /** With 64 channels, a tap takes one or two stages, so that the table is read often. */
  @ParameterizedTest
  @CsvSource({"A100, 128x64x32x4", "A100, 128x128x64x3", "H200, 128x64x32x4", "H200, 128x128x64x3"})
  void convolutionsHaveAtMost15PercentMoreInstructions(String gpu, String tile) {
    assertThat(perMatrixInstruction("convolution", CONVOLUTION, gpu, tile))
        .isLessThanOrEqualTo(1.15 * perMatrixInstruction("matmul", PRODUCT, gpu, tile));
  }

  @ParameterizedTest
  @CsvSource({
    "A100, 64x64x32x3",
    "A100, 128x128x64x3",
    "H200, 128x128x64x3",
    "H200, 128x128x64x5_groups"
  })
  void groupsHaveAtMost5PercentMoreInstructions(String gpu, String tile) {
    assertThat(perMatrixInstruction("grouped-matmul", GROUPS, gpu, tile))
        .isLessThanOrEqualTo(1.05 * perMatrixInstruction("matmul", ONE, gpu, tile));
  }

  private static double perMatrixInstruction(String op, String problem, String gpu, String tile) {
    var device = OpProfile.capability(Gpu.named(gpu).orElseThrow());
    var kernel =
        Problem.parse(Catalogue.load().find(op).orElseThrow(), problem).plans(device).stream()
            .map(Plan::kernels)
            .map(kernels -> kernels.getFirst())
            .filter(each -> each.name().contains("_%s_".formatted(tile)))
            .findFirst()
            .orElseThrow();
    var target = device.target();
    var entry =
        LedgerEntry.assemble(
                LedgerEntry.assembler(target), kernel.name(), Module.of(kernel), target)
            .entry();
    assertThat(entry.matrix()).isPositive();
    return entry.instructions() / (double) entry.matrix();
  }
}
