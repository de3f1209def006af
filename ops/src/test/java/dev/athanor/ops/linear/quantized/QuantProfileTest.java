package dev.athanor.ops.linear.quantized;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.profile.Profile;
import dev.athanor.engine.profile.Profile.Row;
import dev.athanor.engine.profile.Roofline;
import dev.athanor.engine.profile.Roofline.Bound;
import dev.athanor.engine.profile.Roofline.Resource;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Op;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.profile.OpProfile;
import dev.athanor.ops.quant.BlockBytes;
import dev.athanor.ops.quant.Dequantize;
import dev.athanor.testing.TestTier;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Profiles of kernels with quantized weights: whole sectors, and no bank conflicts. */
@Tag(TestTier.THOROUGH_TAG)
class QuantProfileTest {

  private static final int K = 1024;
  private static final int N = 16;

  /** Returns the profiles of the plans whose kernel names start with a prefix. */
  private static List<Profile> profiles(
      Op op, Map<String, ?> attributes, Map<String, TensorType> types, String prefix) {
    var profiles = new ArrayList<Profile>();
    var given = Attributes.of(op.description(), attributes);
    for (var plan : op.plans(types, given, OpProfile.capability(Gpu.H200))) {
      if (plan.kernel().startsWith(prefix)) {
        profiles.addAll(OpProfile.run(plan, types, Gpu.H200, Long.MAX_VALUE).launches());
      }
    }
    assertThat(profiles).isNotEmpty();
    return profiles;
  }

  private static Map<String, TensorType> gguf(DType format, int m) {
    return Map.of("a", TensorType.of(DType.F16, m, K), "w", TensorType.of(format, N, K));
  }

  private static List<Row> rows(Profile profile, String opcode) {
    return profile.rows().stream()
        .filter(row -> row.instruction().opcode().startsWith(opcode) && row.executed() > 0)
        .toList();
  }

  private static List<Row> rows(Profile profile, String opcode, Class<?> of) {
    return rows(profile, opcode).stream()
        .filter(row -> row.instruction().source().toString().startsWith(of.getSimpleName()))
        .toList();
  }

  private static long sectors(List<Row> rows) {
    return rows.stream().mapToLong(row -> row.global().sectors()).sum();
  }

  /**
   * A warp copies its steps in units of 16 bytes: every sector of the weights once, except sectors
   * that two steps share.
   */
  @ParameterizedTest
  @EnumSource(
      value = DType.class,
      names = {"Q4_0", "Q4_1", "Q5_0", "Q8_0", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS", "MXFP4"})
  void copiesReadEverySectorOnce(DType format) {
    long all = TensorType.of(format, N, K).bytes() / 32;
    int staged = 0;
    for (var profile : profiles(new MatmulGguf(), Map.of(), gguf(format, 1), "gemv")) {
      var copies = rows(profile, "cp.async.cg");
      if (!copies.isEmpty()) {
        staged++;
        assertThat(sectors(copies)).as(profile.kernel()).isBetween(all, all + all / 8);
      }
    }
    assertThat(staged).isEqualTo(2);
  }

  /** The quants of blocks are aligned to 16 bytes; those of neighboring blocks share sectors. */
  @ParameterizedTest
  @EnumSource(
      value = DType.class,
      names = {"Q4_K", "Q5_K"})
  void readsQuantsInWholeSectorsExceptAtBlockEnds(DType format) {
    long quants = N * K / 2 / 32;
    for (var profile : profiles(new MatmulGguf(), Map.of(), gguf(format, 1), "gemv")) {
      var loads = rows(profile, "ld.global.nc.v4.u32", BlockBytes.class);
      if (rows(profile, "cp.async.cg").isEmpty()) {
        // 128 bytes that start in the middle of a sector touch five sectors
        assertThat(loads.stream().mapToLong(row -> row.global().sectors()).max().orElseThrow())
            .isBetween(quants / 2, quants * 5 / 4);
      } else {
        assertThat(loads).isEmpty();
      }
    }
  }

  /**
   * A block copies its rows to shared memory once for all of its columns, so that the DRAM traffic
   * of the weights, not the L2 cache, limits the speed.
   */
  @ParameterizedTest
  @CsvSource({
    "Q4_0, F32",
    "Q4_1, F32",
    "Q5_0, F16",
    "Q8_0, F32",
    "Q4_K, F32",
    "Q4_K, F16",
    "Q5_K, F16",
    "Q6_K, F32",
    "IQ4_XS, F16",
    "MXFP4, F32"
  })
  void readsRowsOncePerBlock(DType format, DType in) {
    var types = Map.of("a", TensorType.of(in, 1, K), "w", TensorType.of(format, 64, K));
    int staged = 0;
    for (var profile : profiles(new MatmulGguf(), Map.of(), types, "gemv")) {
      if (!profile.kernel().contains("split")) {
        staged++;
        assertRowsAreStaged(profile, K * in.bytes());
      }
    }
    assertThat(staged).isPositive();
  }

  private static void assertRowsAreStaged(Profile profile, int bytesOfRows) {
    var loads = rows(profile, "ld.global", StagedRows.class);
    assertThat(sectors(loads)).isEqualTo(profile.grid().count() * bytesOfRows / 32);
    assertNoConflicts(rows(profile, "ld.shared", StagedRows.class));
    assertNoConflicts(rows(profile, "st.shared", StagedRows.class));
    var bounds = Roofline.of(profile, Gpu.H200, 64, null).bounds();
    assertThat(seconds(bounds, Resource.L2)).isLessThan(seconds(bounds, Resource.DRAM));
  }

  private static double seconds(List<Bound> bounds, Resource resource) {
    return bounds.stream()
        .filter(bound -> bound.resource() == resource)
        .findFirst()
        .orElseThrow()
        .seconds();
  }

  /**
   * A block copies its words, the rows of a and the scales in whole sectors, once each. Lanes read
   * them without bank conflicts.
   */
  @ParameterizedTest
  @CsvSource({
    "k-packed, 1, 128",
    "k-packed, 4, 128",
    "k-packed, 8, 64",
    "k-packed, 4, 32",
    "gptq, 1, 128",
    "gptq, 8, 64",
    "awq, 1, 128",
    "awq, 4, 32"
  })
  void copiesInt4WeightsInWholeSectors(String layout, int m, int group) {
    var packed =
        switch (layout) {
          case "k-packed" -> TensorType.of(DType.U32, 64, K / 8);
          case "gptq" -> TensorType.of(DType.U32, K / 8, 64);
          default -> TensorType.of(DType.U32, K, 8);
        };
    var scales = TensorType.of(DType.F16, K / group, 64);
    var types = Map.of("a", TensorType.of(DType.F16, m, K), "packed", packed, "scales", scales);
    var attributes = Map.of("layout", layout, "groupSize", group);
    for (var profile : profiles(new MatmulInt4(), attributes, types, "gemv")) {
      var copies = rows(profile, "cp.async.cg");
      long bytes = packed.bytes() + scales.bytes() + profile.grid().count() * m * K * 2;
      assertThat(sectors(copies)).as(profile.kernel()).isEqualTo(bytes / 32);
      for (var row : copies) {
        assertThat(row.global().sectors()).isEqualTo(row.global().ideal());
      }
      assertNoConflicts(rows(profile, "ld.shared", Int4Fragments.class));
    }
  }

  /**
   * Dequantized chunks of 16-bit elements are stored to shared memory and loaded from it in one
   * wavefront each.
   */
  @ParameterizedTest
  @EnumSource(
      value = DType.class,
      names = {"Q4_0", "Q4_1", "Q5_0", "Q8_0", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS", "MXFP4"})
  void dequantizedStagesHaveNoBankConflicts(DType format) {
    for (var profile : profiles(new MatmulGguf(), Map.of(), gguf(format, 64), "mma")) {
      if (!profile.kernel().startsWith("mma")) {
        continue; // it adds the partial sums of a split K
      }
      assertNoConflicts(rows(profile, "st.shared", WeightStaging.class));
      assertNoConflicts(rows(profile, "ldmatrix"));
      assertThat(profile.flops())
          .hasEntrySatisfying(
              "tensor f16", f -> assertThat(f).isGreaterThanOrEqualTo(2L * 64 * N * K));
    }
  }

  @Test
  void int8StagesHaveNoBankConflicts() {
    var types =
        Map.of(
            "x", TensorType.of(DType.F16, 64, 256),
            "wq", TensorType.of(DType.I8, 256, 64),
            "wk", TensorType.of(DType.I8, 256, 64),
            "wv", TensorType.of(DType.I8, 256, 64),
            "scaleQ", TensorType.of(DType.F32),
            "scaleK", TensorType.of(DType.F32),
            "scaleV", TensorType.of(DType.F32));
    for (var profile : profiles(new QkvProject(false), Map.of(), types, "mma")) {
      assertNoConflicts(rows(profile, "st.shared", WeightStaging.class));
      assertNoConflicts(rows(profile, "ldmatrix"));
    }
  }

  private static void assertNoConflicts(List<Row> rows) {
    assertThat(rows).isNotEmpty();
    for (var row : rows) {
      assertThat(row.shared().wavefronts())
          .as("wavefronts at %s", row.instruction().source())
          .isEqualTo(row.shared().ideal());
    }
  }

  /** A lane writes both halves of its decoded elements in 16-byte accesses. */
  @ParameterizedTest
  @CsvSource({"Q4_0, f16", "Q4_K, f32", "Q6_K, bf16", "IQ4_XS, f16", "MXFP4, f32", "NF4, f16"})
  void dequantizeWritesWholeSectors(DType format, String out) {
    var types = Map.of("x", TensorType.of(format, 4, 1024));
    for (var profile : profiles(new Dequantize(), Map.of("outDtype", out), types, "dequantize")) {
      var stores = rows(profile, "st.global.v4");
      assertThat(stores).isNotEmpty();
      for (var row : stores) {
        assertThat(row.global().sectors()).isEqualTo(row.global().ideal());
      }
    }
  }
}
