package dev.athanor.ops.row;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.profile.Profile;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Runner;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.profile.OpProfile;
import dev.athanor.testing.TestTier;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Profiles of row kernels: rows held in registers are read once, in whole sectors. */
@Tag(TestTier.THOROUGH_TAG)
class RowProfileTest {

  private static final int ROWS = 8;

  /** Returns the profile of each plan by kernel. */
  private static Map<String, OpProfile> profiles(
      String name, DType dtype, int n, Map<String, ?> attributes) {
    var op = Runner.op(name);
    var types = new HashMap<String, TensorType>();
    for (var input : op.description().inputs()) {
      boolean shared = input.shape().equals("[N]");
      var type = input.name().equals("mask") ? DType.U8 : dtype;
      types.put(input.name(), shared ? TensorType.of(type, n) : TensorType.of(type, ROWS, n));
    }
    var profiles = new HashMap<String, OpProfile>();
    var given = Attributes.of(op.description(), attributes);
    for (var plan : op.plans(types, given, OpProfile.capability(Gpu.H200))) {
      profiles.put(plan.kernel(), OpProfile.run(plan, types, Gpu.H200, Long.MAX_VALUE));
    }
    return profiles;
  }

  private static void assertNoConflictsAndWholeSectors(Profile profile) {
    long sectors = 0;
    for (var row : profile.rows()) {
      assertThat(row.shared().wavefronts())
          .as("wavefronts at %s of %s", row.instruction().source(), profile.kernel())
          .isEqualTo(row.shared().ideal());
      assertThat(row.global().sectors())
          .as("sectors at %s of %s", row.instruction().source(), profile.kernel())
          .isEqualTo(row.global().ideal());
      sectors += row.global().sectors();
    }
    assertThat(sectors).isPositive();
  }

  /**
   * The parameters are the row and weight elements read, and the elements written, per element of
   * x.
   */
  @ParameterizedTest
  @CsvSource({
    "softmax, F32, 1024, 1, 0, 1",
    "softmax, F16, 4096, 1, 0, 1",
    "softmax, BF16, 64, 1, 0, 1",
    "layer-norm, F16, 1024, 1, 2, 1",
    "layer-norm, F32, 128, 1, 2, 1",
    "rms-norm, BF16, 8192, 1, 1, 1",
    "residual-rms-norm, F16, 2048, 2, 1, 2",
    "residual-layer-norm, F32, 512, 2, 2, 2"
  })
  void readsHeldRowsOnce(
      String op, DType dtype, int n, int rowsRead, int weightsRead, int rowsWritten) {
    var profiles = profiles(op, dtype, n, Map.of());
    assertThat(profiles).hasSizeGreaterThan(1);
    profiles.forEach((kernel, profile) -> {
      var launch = profile.launches().getFirst();
      assertNoConflictsAndWholeSectors(launch);
      var traffic = Objects.requireNonNull(launch.traffic().get(Space.GLOBAL));
      long bytes = (long) ROWS * n * dtype.bytes();
      assertThat(traffic.written()).as(kernel).isEqualTo(rowsWritten * bytes);
      if (!kernel.endsWith("_steps")) {
        assertThat(traffic.read()).as(kernel).isEqualTo((rowsRead + weightsRead) * bytes);
        // sectors of memory: all rows share the weights
        assertThat(launch.touchedSectors())
            .as(kernel)
            .isEqualTo(((rowsRead + rowsWritten) * bytes + weightsRead * bytes / ROWS) / 32);
      }
    });
  }

  @Test
  void readsLongRowsTwice() {
    int n = 40_960;
    var profiles = profiles("softmax", DType.F32, n, Map.of());
    assertThat(profiles)
        .containsOnlyKeys("softmax_f32_t512_v4x4_steps", "softmax_split_f32_t128_v4x1");
    var launch =
        Objects.requireNonNull(profiles.get("softmax_f32_t512_v4x4_steps")).launches().getFirst();
    assertNoConflictsAndWholeSectors(launch);
    var traffic = Objects.requireNonNull(launch.traffic().get(Space.GLOBAL));
    assertThat(traffic.read()).isEqualTo(2L * ROWS * n * 4);
    assertThat(traffic.written()).isEqualTo((long) ROWS * n * 4);
  }

  /**
   * Each launch reads the row once; in the second, each of the 80 blocks of a row also reads the
   * partial sums of all blocks.
   */
  @Test
  void readsSplitRowsTwice() {
    int n = 40_960;
    int parts = 80;
    var launches =
        Objects.requireNonNull(
                profiles("softmax", DType.F32, n, Map.of()).get("softmax_split_f32_t128_v4x1"))
            .launches();
    assertThat(launches).hasSize(2);
    launches.forEach(RowProfileTest::assertNoConflictsAndWholeSectors);
    var first = Objects.requireNonNull(launches.get(0).traffic().get(Space.GLOBAL));
    assertThat(first.read()).isEqualTo((long) ROWS * n * 4);
    assertThat(first.written()).isEqualTo(8L * ROWS * parts);
    var second = Objects.requireNonNull(launches.get(1).traffic().get(Space.GLOBAL));
    assertThat(second.read()).isEqualTo((long) ROWS * n * 4 + 8L * ROWS * parts * parts);
    assertThat(second.written()).isEqualTo((long) ROWS * n * 4);
  }

  /**
   * x and grad are read once, gamma twice; the sums of each team are written once and read once.
   */
  @Test
  void gradientsReadTheirInputsOnce() {
    int n = 1024;
    profiles("layer-norm-backward", DType.F32, n, Map.of())
        .forEach((kernel, profile) -> {
          profile.launches().forEach(RowProfileTest::assertNoConflictsAndWholeSectors);
          assertThat(profile.launches()).hasSize(3);
          if (!kernel.endsWith("_steps")) {
            var plan = (LaunchPlan) profile.plan();
            var rows =
                Objects.requireNonNull(profile.launches().get(0).traffic().get(Space.GLOBAL));
            assertThat(rows.read()).isEqualTo(4L * ROWS * n * 4);
            assertThat(rows.written()).isEqualTo((long) ROWS * n * 4 + plan.workspaceBytes());
            var sums =
                Objects.requireNonNull(profile.launches().get(1).traffic().get(Space.GLOBAL));
            assertThat(2 * sums.read()).isEqualTo(plan.workspaceBytes());
            assertThat(sums.written()).isEqualTo(4L * n);
          }
        });
  }

  @ParameterizedTest
  @CsvSource({"half, F32, 64", "half, BF16, 128", "interleaved, F32, 64", "interleaved, F16, 128"})
  void ropeReadsEachPairOnce(String style, DType dtype, int d) {
    var op = Runner.op("rope");
    int half = d / 2;
    var types =
        Map.of(
            "x", TensorType.of(dtype, ROWS, 4, d),
            "cos", TensorType.of(dtype, ROWS, half),
            "sin", TensorType.of(dtype, ROWS, half));
    var attributes = Attributes.of(op.description(), Map.of("style", style));
    for (var plan : op.plans(types, attributes, OpProfile.capability(Gpu.H200))) {
      var launch = OpProfile.run(plan, types, Gpu.H200, Long.MAX_VALUE).launches().getFirst();
      assertNoConflictsAndWholeSectors(launch);
      long bytes = (long) ROWS * 4 * d * dtype.bytes();
      var traffic = Objects.requireNonNull(launch.traffic().get(Space.GLOBAL));
      assertThat(traffic.written()).as(plan.kernel()).isEqualTo(bytes);
      // cosines and sines once per head
      assertThat(traffic.read()).as(plan.kernel()).isEqualTo(2 * bytes);
    }
  }
}
