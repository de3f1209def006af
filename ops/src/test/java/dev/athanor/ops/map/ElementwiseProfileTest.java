package dev.athanor.ops.map;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.profile.Profile;
import dev.athanor.engine.profile.Profile.Row;
import dev.athanor.engine.profile.Profile.Traffic;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.ops.DType;
import dev.athanor.ops.Runner;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.profile.OpProfile;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Profiles of elementwise ops, moves and reductions: each element is moved once, in whole sectors
 * and without bank conflicts.
 */
class ElementwiseProfileTest {

  private static Profile profile(
      String op, Map<String, TensorType> inputs, Map<String, ?> attributes) {
    var plan = Runner.plans(Runner.op(op), inputs, attributes).getFirst();
    var launches = OpProfile.run(plan, inputs, Gpu.H200, Long.MAX_VALUE).launches();
    assertThat(launches).hasSize(1);
    return launches.getFirst();
  }

  private static Traffic global(Profile profile) {
    return Objects.requireNonNull(profile.traffic().get(Space.GLOBAL));
  }

  private static List<Row> rows(Profile profile, String opcode) {
    var rows =
        profile.rows().stream()
            .filter(row -> row.instruction().opcode().startsWith(opcode) && row.active() > 0)
            .toList();
    assertThat(rows).as("%s of %s", opcode, profile.kernel()).isNotEmpty();
    return rows;
  }

  private static void assertWholeSectors(Profile profile) {
    for (var opcode : List.of("ld.global", "st.global")) {
      for (var row : rows(profile, opcode)) {
        assertThat(row.global().sectors())
            .as("%s at %s", row.instruction().opcode(), row.instruction().source())
            .isEqualTo(row.global().ideal());
        assertThat(row.global().wastedBytes()).isZero();
      }
    }
  }

  private static void assertNoConflicts(Profile profile, String opcode) {
    for (var row : rows(profile, opcode)) {
      assertThat(row.shared().conflicts())
          .as("conflicts of %s at %s", opcode, row.instruction().source())
          .isZero();
    }
  }

  @ParameterizedTest
  @CsvSource({"F32, ld.global.v4.f32", "F16, ld.global.v4.b32", "BF16, ld.global.v4.b32"})
  void activationsMoveEachElementOnceIn16ByteAccesses(DType dtype, String load) {
    var profile = profile("silu", Map.of("x", TensorType.of(dtype, 64, 128)), Map.of());
    long bytes = 64L * 128 * dtype.bytes();
    assertThat(profile.traffic()).isEqualTo(Map.of(Space.GLOBAL, new Traffic(bytes, bytes)));
    assertThat(rows(profile, "ld.global"))
        .allSatisfy(row -> assertThat(row.instruction().opcode()).isEqualTo(load));
    assertThat(profile.divergentBranches()).isZero();
    assertWholeSectors(profile);
  }

  @Test
  void gatesAndSumsReadBothOperandsOnce() {
    var type = TensorType.of(DType.F16, 16, 256);
    for (var profile :
        List.of(
            profile("swiglu", Map.of("gate", type, "up", type), Map.of()),
            profile("add", Map.of("a", type, "b", type), Map.of()))) {
      assertThat(profile.traffic())
          .isEqualTo(Map.of(Space.GLOBAL, new Traffic(2 * type.bytes(), type.bytes())));
      assertWholeSectors(profile);
    }
  }

  @Test
  void readsBiasInVectors() {
    var profile =
        profile(
            "bias-activation",
            Map.of("x", TensorType.of(DType.F32, 8, 128), "bias", TensorType.of(DType.F32, 128)),
            Map.of("activation", "gelu"));
    assertWholeSectors(profile);
    assertThat(rows(profile, "ld.global"))
        .allSatisfy(row -> assertThat(row.instruction().opcode()).isEqualTo("ld.global.v4.f32"));
  }

  @ParameterizedTest
  @CsvSource({
    "U8, 128, 64",
    "F16, 64, 128",
    "F32, 64, 64",
    "F64, 32, 96",
    "F16, 96, 40",
    "F32, 68, 100"
  })
  void transposesTilesWithoutConflicts(DType dtype, long rows, long columns) {
    var profile = profile("transpose", Map.of("x", TensorType.of(dtype, rows, columns)), Map.of());
    long bytes = rows * columns * dtype.bytes();
    assertThat(global(profile)).isEqualTo(new Traffic(bytes, bytes));
    assertNoConflicts(profile, "st.shared");
    assertNoConflicts(profile, "ld.shared");
    if (rows * dtype.bytes() % 32 == 0 && columns * dtype.bytes() % 32 == 0) {
      assertWholeSectors(profile);
    }
  }

  /** Rows that are aligned only to elements are moved one element at a time. */
  @Test
  void unalignedRowsHaveNoConflicts() {
    for (var dtype : List.of(DType.U8, DType.BF16, DType.F32, DType.I64)) {
      var profile = profile("transpose", Map.of("x", TensorType.of(dtype, 65, 33)), Map.of());
      assertNoConflicts(profile, "st.shared");
      assertNoConflicts(profile, "ld.shared");
    }
  }

  /** Swaps heads and sequence by copying runs of the innermost dimension in 16-byte accesses. */
  @Test
  void copiesRunsInVectors() {
    var type = TensorType.of(DType.F16, 2, 6, 4, 32);
    var profile = profile("transpose", Map.of("x", type), Map.of("axisA", 1, "axisB", 2));
    assertThat(profile.kernel()).startsWith("copy_i16_");
    assertThat(profile.traffic())
        .isEqualTo(Map.of(Space.GLOBAL, new Traffic(type.bytes(), type.bytes())));
    assertWholeSectors(profile);
  }

  @Test
  void gatherMovesRowsInVectors() {
    var profile =
        profile(
            "gather",
            Map.of(
                "table", TensorType.of(DType.BF16, 2, 128), "index", TensorType.of(DType.I32, 64)),
            Map.of());
    for (var row : rows(profile, "ld.global.nc.v4.b32")) {
      assertThat(row.global().wastedBytes()).isZero();
    }
    assertThat(global(profile).written()).isEqualTo(64L * 128 * 2);
  }

  @ParameterizedTest
  @CsvSource({"F32, 64, 128, -1", "F16, 16, 512, -1", "BF16, 64, 256, 0", "F64, 40, 64, 0"})
  void reductionsReadEachElementOnce(DType dtype, long rows, long columns, int axis) {
    var type = TensorType.of(dtype, rows, columns);
    for (var op : List.of("reduce", "argmax")) {
      for (var plan : Runner.plans(Runner.op(op), Map.of("x", type), Map.of("axis", axis))) {
        var first =
            OpProfile.run(plan, Map.of("x", type), Gpu.H200, Long.MAX_VALUE).launches().getFirst();
        long read = 0;
        for (var row : rows(first, "ld.global")) {
          assertThat(row.global().wastedBytes()).as(plan.kernel()).isZero();
          read += row.global().bytes();
        }
        assertThat(read).as(plan.kernel()).isEqualTo(type.bytes());
      }
    }
  }
}
