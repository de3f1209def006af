package dev.athanor.ops.matmul;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.profile.Profile;
import dev.athanor.engine.profile.Profile.Row;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.profile.OpProfile;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the layouts of the kernels are for: no bank conflicts, and whole sectors. */
class MatmulProfileTest {

  private static final Matmul MATMUL = new Matmul();

  /** The profile of every plan for a product. */
  static List<Profile> profiles(
      DType dtype, boolean transposeA, boolean transposeB, int m, int n, int k) {
    var types =
        Map.of(
            "a", new TensorType(dtype, transposeA ? Shape.of(k, m) : Shape.of(m, k)),
            "b", new TensorType(dtype, transposeB ? Shape.of(n, k) : Shape.of(k, n)));
    var attributes =
        Attributes.of(
            MATMUL.description(),
            Map.of(
                "transposeA", Boolean.toString(transposeA),
                "transposeB", Boolean.toString(transposeB)));
    var all = new ArrayList<Profile>();
    for (var plan : MATMUL.plans(types, attributes, OpProfile.capability(Gpu.H200))) {
      all.addAll(OpProfile.run(plan, types, Gpu.H200, Long.MAX_VALUE).launches());
    }
    return all;
  }

  static List<Row> rows(Profile profile, String opcode) {
    var rows =
        profile.rows().stream()
            .filter(row -> row.instruction().opcode().startsWith(opcode) && row.executed() > 0)
            .toList();
    assertThat(rows).as("%s of %s", opcode, profile.kernel()).isNotEmpty();
    return rows;
  }

  static void hasNoConflicts(Profile profile, String opcode) {
    for (var row : rows(profile, opcode)) {
      assertThat(row.shared().requests()).isPositive();
      assertThat(row.shared().wavefronts())
          .as("wavefronts of %s at %s of %s", opcode, row.instruction().source(), profile.kernel())
          .isEqualTo(row.shared().ideal());
    }
  }

  static void movesWholeSectors(Profile profile, String opcode) {
    long sectors = 0;
    for (var row : rows(profile, opcode)) {
      assertThat(row.global().sectors())
          .as("sectors of %s at %s of %s", opcode, row.instruction().source(), profile.kernel())
          .isEqualTo(row.global().ideal());
      sectors += row.global().sectors();
    }
    assertThat(sectors).isPositive();
  }

  @ParameterizedTest
  @CsvSource({
    "F16, false, false",
    "F16, false, true",
    "F16, true, false",
    "BF16, true, true",
    "BF16, false, false"
  })
  void tensorKernelsHaveNoConflictsAndMoveWholeSectors(
      DType dtype, boolean transposeA, boolean transposeB) {
    var profiles = profiles(dtype, transposeA, transposeB, 128, 256, 96);
    assertThat(profiles).hasSize(3);
    for (var profile : profiles) {
      hasNoConflicts(profile, "ldmatrix");
      hasNoConflicts(profile, "cp.async.cg");
      movesWholeSectors(profile, "cp.async.cg");
      assertThat(profile.divergentBranches()).isZero();
      assertThat(profile.flops()).containsEntry("tensor " + dtype.text(), 2L * 128 * 256 * 96);
    }
  }

  /** Rows that copies of 16 bytes do not suit are copied in smaller pieces to the same places. */
  @ParameterizedTest
  @CsvSource({"100, cp.async.ca", "98, cp.async.ca", "97, st.shared"})
  void narrowCopiesHaveNoConflictsEither(int k, String store) {
    for (var profile : profiles(DType.F16, false, true, 128, 128, k)) {
      hasNoConflicts(profile, "ldmatrix");
      hasNoConflicts(profile, store);
    }
  }
}
