package dev.athanor.ops.linear.simt;

import static dev.athanor.ops.linear.dense.MatmulProfileTest.assertNoConflicts;
import static dev.athanor.ops.linear.dense.MatmulProfileTest.assertWholeSectors;
import static dev.athanor.ops.linear.dense.MatmulProfileTest.profiles;
import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.profile.Profile;
import dev.athanor.ops.DType;
import dev.athanor.testing.TestTier;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Profiles of the tiled kernels of f32 and f64: no bank conflicts, and whole sectors. */
@Tag(TestTier.THOROUGH_TAG)
class CoresProfileTest {

  private static List<Profile> tiled(
      DType dtype, boolean transposeA, boolean transposeB, int m, int n, int k) {
    var tiled =
        profiles(dtype, transposeA, transposeB, m, n, k).stream()
            .filter(profile -> profile.grid().y() == 1)
            .filter(profile -> profile.kernel().matches("matmul_f.._[0-9].*"))
            .toList();
    assertThat(tiled).hasSize(dtype == DType.F32 ? 3 : 4);
    return tiled;
  }

  @ParameterizedTest
  @CsvSource({
    "F32, false, false",
    "F32, false, true",
    "F32, true, false",
    "F32, true, true",
    "F64, false, true",
    "F64, true, false"
  })
  void tilesHaveNoConflictsAndMoveWholeSectors(
      DType dtype, boolean transposeA, boolean transposeB) {
    for (var profile : tiled(dtype, transposeA, transposeB, 128, 128, 64)) {
      assertNoConflicts(profile, "ld.shared");
      assertNoConflicts(profile, "st.shared");
      assertWholeSectors(profile, "ld.global.nc.v" + 16 / dtype.bytes());
      assertWholeSectors(profile, "st.global.v" + 16 / dtype.bytes());
      assertThat(profile.divergentBranches()).isZero();
      var unit = profile.kernel().contains("mma") ? "tensor f64" : dtype.text();
      assertThat(profile.flops().get(unit)).isGreaterThanOrEqualTo(2L * 128 * 128 * 64);
    }
  }

  /** Rows that start at any element are transposed and stored without conflicts. */
  @ParameterizedTest
  @CsvSource({"F32, 66", "F32, 65", "F64, 65"})
  void narrowLoadsHaveNoConflicts(DType dtype, int k) {
    for (var profile : tiled(dtype, false, true, 64, 64, k)) {
      assertNoConflicts(profile, "ld.shared");
      assertNoConflicts(profile, "st.shared");
    }
  }

  /** The partial sums of a split K are read and added in whole sectors, without conflicts. */
  @ParameterizedTest
  @CsvSource({"F32, 2048", "F64, 2048"})
  void partialSumsHaveNoConflictsAndMoveWholeSectors(DType dtype, int k) {
    var sums =
        profiles(dtype, false, false, 32, 32, k).stream()
            .filter(profile -> profile.kernel().startsWith("share_sum"))
            .toList();
    assertThat(sums).isNotEmpty();
    for (var profile : sums) {
      assertNoConflicts(profile, "ld.shared");
      assertNoConflicts(profile, "st.shared");
      assertWholeSectors(profile, "ld.global.v" + 16 / dtype.bytes());
      assertWholeSectors(profile, "st.global.v" + 16 / dtype.bytes());
    }
  }

  /** Each stage needs one barrier, and the start another. */
  @ParameterizedTest
  @CsvSource({"F32, 64", "F32, 65", "F64, 16"})
  void usesOneBarrierPerStage(DType dtype, int k) {
    for (var profile : tiled(dtype, false, false, 32, 32, k)) {
      long warps = profile.block().x() / 32;
      int depth = profile.kernel().contains("128x64x8") ? 8 : 16;
      assertThat(profile.mix().get("bar")).isEqualTo(warps * (1 + Math.ceilDiv(k, depth)));
    }
  }
}
