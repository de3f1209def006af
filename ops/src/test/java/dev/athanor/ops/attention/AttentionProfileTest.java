package dev.athanor.ops.attention;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.profile.Profile;
import dev.athanor.engine.profile.Profile.Row;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Op;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.attention.backward.AttentionBackward;
import dev.athanor.ops.attention.prefill.Attention;
import dev.athanor.ops.profile.OpProfile;
import dev.athanor.testing.TestTier;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Profiles of attention kernels: no bank conflicts, and accesses to whole sectors. */
@Tag(TestTier.THOROUGH_TAG)
class AttentionProfileTest {

  /** Returns the profile of one launch of every plan. */
  private static List<Profile> profiles(
      Op op, Map<String, TensorType> types, Map<String, ?> given, int launch) {
    return profiles(op, types, given, launch, Gpu.H200);
  }

  private static List<Profile> profiles(
      Op op, Map<String, TensorType> types, Map<String, ?> given, int launch, Gpu gpu) {
    var attributes = Attributes.of(op.description(), given);
    var all = new ArrayList<Profile>();
    for (var plan : op.plans(types, attributes, OpProfile.capability(gpu))) {
      all.add(OpProfile.run(plan, types, gpu, Long.MAX_VALUE).launches().get(launch));
    }
    assertThat(all).isNotEmpty();
    return all;
  }

  private static Map<String, TensorType> dense(DType dtype, int s, int d) {
    var each = TensorType.of(dtype, s, d);
    return Map.of("q", each, "k", each, "v", each);
  }

  private static List<Row> rows(Profile profile, String opcode) {
    var rows =
        profile.rows().stream()
            .filter(row -> row.instruction().opcode().startsWith(opcode) && row.executed() > 0)
            .toList();
    assertThat(rows).as("%s of %s", opcode, profile.kernel()).isNotEmpty();
    return rows;
  }

  private static void assertNoConflicts(Profile profile, String opcode) {
    for (var row : rows(profile, opcode)) {
      assertThat(row.shared().wavefronts())
          .as("wavefronts of %s at %s of %s", opcode, row.instruction().source(), profile.kernel())
          .isEqualTo(row.shared().ideal());
    }
  }

  private static void assertWholeSectors(Profile profile, String opcode) {
    for (var row : rows(profile, opcode)) {
      assertThat(row.global().sectors())
          .as("sectors of %s at %s of %s", opcode, row.instruction().source(), profile.kernel())
          .isEqualTo(row.global().ideal());
    }
  }

  @ParameterizedTest
  @CsvSource({"F16, 64, false", "F16, 64, true", "BF16, 128, true", "F16, 256, false"})
  void tensorKernelsHaveNoConflictsAndMoveWholeSectors(DType dtype, int d, boolean causal) {
    for (var profile :
        profiles(new Attention(), dense(dtype, 128, d), Map.of("causal", causal), 0)) {
      if (profile.kernel().contains("_groups_")) {
        assertNoConflicts(profile, "stmatrix");
        continue;
      }
      assertNoConflicts(profile, "ldmatrix");
      assertNoConflicts(profile, "cp.async.cg");
      assertWholeSectors(profile, "cp.async.cg");
      assertWholeSectors(profile, "st.global");
      assertThat(profile.divergentBranches()).isZero();
    }
  }

  /** Tiles that are masked for all queries of a block are not computed. */
  @ParameterizedTest
  @ValueSource(strings = {"F16", "F32"})
  void skipsMaskedTiles(DType dtype) {
    var types = dense(dtype, 256, 64);
    var unit = dtype == DType.F16 ? "tensor f16" : "f32";
    long all = minFlops(profiles(new Attention(), types, Map.of(), 0), unit);
    long causal = minFlops(profiles(new Attention(), types, Map.of("causal", true), 0), unit);
    long window =
        minFlops(profiles(new Attention(), types, Map.of("causal", true, "window", 1), 0), unit);
    assertThat(causal).isBetween(all / 2, all * 3 / 4);
    // the diagonal alone
    assertThat(window).isLessThanOrEqualTo(all * 2 / 5);
  }

  private static long minFlops(List<Profile> profiles, String unit) {
    return profiles.stream()
        .mapToLong(profile -> profile.flops().getOrDefault(unit, 0L))
        .min()
        .orElseThrow();
  }

  @ParameterizedTest
  @ValueSource(ints = {64, 128})
  void simtKernelsHaveNoConflicts(int d) {
    for (var profile : profiles(new Attention(), dense(DType.F32, 64, d), Map.of(), 0)) {
      assertNoConflicts(profile, "ld.shared.v4");
      assertNoConflicts(profile, "st.shared");
      assertNoConflicts(profile, "cp.async.cg");
      assertWholeSectors(profile, "cp.async.cg");
      assertWholeSectors(profile, "st.global");
    }
  }

  /** A V100 has no {@code mma}, and copies through registers. */
  @ParameterizedTest
  @CsvSource({"F16, 64", "BF16, 128"})
  void simtKernelsOf16BitsHaveNoConflicts(DType dtype, int d) {
    for (var profile : profiles(new Attention(), dense(dtype, 64, d), Map.of(), 0, Gpu.V100)) {
      assertNoConflicts(profile, "ld.shared");
      assertNoConflicts(profile, "st.shared");
      assertWholeSectors(profile, "st.global");
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void tensorGradientKernelsHaveNoConflicts(int launch) {
    var each = TensorType.of(DType.F16, 64, 64);
    var types =
        Map.of(
            "q", each,
            "k", each,
            "v", each,
            "grad", each,
            "out", each,
            "lse", TensorType.of(DType.F32, 64));
    for (var profile : profiles(new AttentionBackward(), types, Map.of(), launch)) {
      assertNoConflicts(profile, "ldmatrix");
      assertNoConflicts(profile, "cp.async.cg");
      assertWholeSectors(profile, "cp.async.cg");
      assertWholeSectors(profile, "st.global");
    }
  }
}
