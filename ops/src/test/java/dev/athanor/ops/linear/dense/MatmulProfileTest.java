package dev.athanor.ops.linear.dense;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.profile.Profile;
import dev.athanor.engine.profile.Profile.Row;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.profile.OpProfile;
import dev.athanor.testing.TestTier;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Profiles of tensor-core kernels: no bank conflicts, and whole sectors. */
@Tag(TestTier.THOROUGH_TAG)
public class MatmulProfileTest {

  private static final Matmul MATMUL = new Matmul();

  /** Returns the profile of every launch of every plan for a product. */
  public static List<Profile> profiles(
      DType dtype, boolean transposeA, boolean transposeB, int m, int n, int k) {
    return profiles(dtype, transposeA, transposeB, m, n, k, Map.of());
  }

  private static List<Profile> profiles(
      DType dtype,
      boolean transposeA,
      boolean transposeB,
      int m,
      int n,
      int k,
      Map<String, String> more) {
    var types =
        Map.of(
            "a", new TensorType(dtype, transposeA ? Shape.of(k, m) : Shape.of(m, k)),
            "b", new TensorType(dtype, transposeB ? Shape.of(n, k) : Shape.of(k, n)));
    var given = new HashMap<String, Object>(more);
    given.put("transposeA", transposeA);
    given.put("transposeB", transposeB);
    var attributes = Attributes.of(MATMUL.description(), given);
    var all = new ArrayList<Profile>();
    for (var plan : MATMUL.plans(types, attributes, OpProfile.capability(Gpu.H200))) {
      // after their copies, these plans run the kernels for aligned rows along K
      if (!plan.kernel().matches(".*_(padded|transposed)")) {
        all.addAll(OpProfile.run(plan, types, Gpu.H200, Long.MAX_VALUE).launches());
      }
    }
    return all;
  }

  public static List<Row> rows(Profile profile, String opcode) {
    var rows =
        profile.rows().stream()
            .filter(row -> row.instruction().opcode().startsWith(opcode) && row.executed() > 0)
            .toList();
    assertThat(rows).as("%s of %s", opcode, profile.kernel()).isNotEmpty();
    return rows;
  }

  public static void assertNoConflicts(Profile profile, String opcode) {
    for (var row : rows(profile, opcode)) {
      assertThat(row.shared().requests()).isPositive();
      assertThat(row.shared().wavefronts())
          .as("wavefronts of %s at %s of %s", opcode, row.instruction().source(), profile.kernel())
          .isEqualTo(row.shared().ideal());
    }
  }

  public static void assertWholeSectors(Profile profile, String opcode) {
    long sectors = 0;
    for (var row : rows(profile, opcode)) {
      assertThat(row.global().sectors())
          .as("sectors of %s at %s of %s", opcode, row.instruction().source(), profile.kernel())
          .isEqualTo(row.global().ideal());
      sectors += row.global().sectors();
    }
    assertThat(sectors).isPositive();
  }

  /** Covers every dtype, transposes of both operands, both widths of c, and every tile. */
  @ParameterizedTest
  @CsvSource({
    "F16, false, false, f16",
    "F16, true, true, f32",
    "BF16, false, true, bf16",
    "F32, true, false, f32",
    "F32, false, true, f32",
    "E4M3, false, true, f16",
    "E5M2, true, false, f16",
    "E4M3, true, false, f32"
  })
  void tensorKernelsHaveNoConflictsAndMoveWholeSectors(
      DType dtype, boolean transposeA, boolean transposeB, String out) {
    var attributes = new HashMap<>(Map.of("outDtype", out));
    if (dtype == DType.F32) {
      attributes.put("precision", "tf32");
    }
    var profiles = profiles(dtype, transposeA, transposeB, 128, 256, 64, attributes);
    // the tile that needs the most registers is rejected if fp8 is widened
    int ofWarps = dtype.bytes() == 1 ? 7 : 8;
    int ofGroups = dtype.bytes() == 2 ? 3 : 0;
    boolean alongDepth = !transposeA && transposeB;
    int persistent = dtype.bytes() == 2 ? 6 : dtype.bytes() == 1 && alongDepth ? 4 : 0;
    assertThat(profiles).hasSize(ofWarps + ofGroups + persistent);
    for (var profile : profiles) {
      // a stage of transposed bytes has short rows if the tile is narrow; 16 bytes are half a
      // sector
      boolean narrow = dtype.bytes() == 1 && transposeA && narrow(profile.kernel());
      for (var row : rows(profile, "")) {
        if (row.shared().requests() > 0 && !(narrow && copies(row)) && !isWait(row)) {
          assertThat(row.shared().wavefronts())
              .as("%s at %s of %s", row.instruction(), row.instruction().source(), profile.kernel())
              .isEqualTo(row.shared().ideal());
        }
      }
      if (profile.kernel().contains("_persistent_")) {
        assertThat(profile.rows())
            .noneMatch(row -> row.instruction().opcode().startsWith("st.global"));
        continue;
      }
      if (!narrow) {
        assertWholeSectors(profile, "cp.async.cg");
      }
      assertWholeSectors(profile, "st.global");
      assertThat(rows(profile, "st.global"))
          .allSatisfy(row -> assertThat(row.instruction().opcode()).isEqualTo("st.global.v4.b32"));
      assertThat(profile.divergentBranches()).isZero();
    }
  }

  private static boolean narrow(String kernel) {
    return kernel.contains("_32x") || kernel.contains("_16x");
  }

  /** The lanes of a warp wait for the same mbarrier one by one. */
  private static boolean isWait(Row row) {
    return row.instruction().opcode().startsWith("mbarrier.try_wait");
  }

  private static boolean copies(Row row) {
    return row.instruction().opcode().startsWith("cp.async");
  }

  /** Rows that are not aligned to 16 bytes are copied in smaller pieces to the same positions. */
  @ParameterizedTest
  @CsvSource({"100, cp.async.ca", "98, cp.async.ca", "97, st.shared"})
  void narrowCopiesHaveNoConflicts(int k, String store) {
    for (var profile : profiles(DType.F16, false, true, 128, 128, k)) {
      assertNoConflicts(profile, "ldmatrix");
      assertNoConflicts(profile, store);
    }
  }

  /** The partial sums of a split K are written and read in whole sectors. */
  @Test
  void partialSumsMoveInWholeSectors() {
    var shared =
        profiles(DType.BF16, false, false, 64, 64, 512).stream()
            .filter(p -> p.kernel().contains("_split") || p.kernel().contains("_sum_"))
            .toList();
    assertThat(shared).hasSizeGreaterThanOrEqualTo(4);
    for (var profile : shared) {
      assertWholeSectors(profile, "st.global");
      if (profile.kernel().contains("_sum_")) {
        assertWholeSectors(profile, "ld.global");
      }
    }
  }
}
