package dev.athanor.ops.attention;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Step;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.TestDevices;
import dev.athanor.ops.attention.FlashVariant.Store;
import dev.athanor.ops.attention.prefill.Attention;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.profile.OpProfile;
import dev.athanor.testing.TestTier;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Shared memory of attention kernels, and the devices that have enough. */
@Tag(TestTier.THOROUGH_TAG)
class SharedMemoryTest {

  private static final Attention ATTENTION = new Attention();
  private static final Plan.Cost COST = Plan.Cost.of(1, Map.of(), Map.of());

  private static FlashVariant variant(Tile tile, DType dtype, int d, int dv) {
    return new FlashVariant(
        tile,
        dtype,
        d,
        dv,
        16,
        16,
        new Score(false, false, false, false, false),
        false,
        Store.DENSE,
        false,
        false,
        Optional.empty());
  }

  /**
   * A block stores its rows of queries, or of the output where those are wider, a tile of keys and
   * one of values. On CUDA cores, rows are padded to a multiple of 64 elements plus 16 bytes, and
   * each row has its weights in f32, padded so that the rows of one half-warp lie 16 banks apart
   * from those of the other.
   */
  @ParameterizedTest
  @CsvSource({
    // (64 + 64 + 64) rows of 68 and 64 rows of 68 weights, 4 bytes each
    "FMA, 64, 64, 8, F32, 64, 64, 69632",
    // (64 + 64 + 64) rows of 72, 2 bytes each, and the weights
    "FMA, 64, 64, 8, F16, 64, 64, 45056",
    // 64 rows of 64, 2 · 64 rows of 64, 2 bytes each
    "TENSOR, 64, 64, 16, F16, 64, 64, 24576",
    "TENSOR, 64, 64, 16, BF16, 64, 64, 24576",
    // (128 + 2 · 64) rows of 64, 2 bytes each
    "TENSOR, 128, 64, 32, F16, 64, 64, 32768",
    "TENSOR, 128, 32, 16, F16, 256, 256, 98304",
    // 8 rows of 260, 2 · 16 rows of 260, 8 rows of 16 weights: 4 bytes each
    "FMA, 8, 16, 2, F32, 256, 256, 42112",
    // queries of 16 and values of 128: the output determines the size of the first array
    "TENSOR, 64, 64, 16, F16, 16, 128, 34816",
    // 224 KiB; a block on Hopper may have 227 KiB
    "TENSOR, 256, 96, 32, F16, 256, 256, 229376"
  })
  void computesTheSharedMemoryOfATile(
      Tile.Unit unit, int rows, int columns, int warpRows, DType dtype, int d, int dv, int bytes) {
    var variant = variant(new Tile(unit, rows, columns, warpRows), dtype, d, dv);
    assertThat(variant.sharedBytes()).isEqualTo(bytes);
  }

  private static List<LaunchPlan> plans(DType dtype, int d, Capability device) {
    var type = TensorType.of(dtype, 1, 32, 4096, d);
    var inputs = Map.of("q", type, "k", type, "v", type);
    return ATTENTION
        .plans(inputs, Attributes.of(ATTENTION.description(), Map.of()), device)
        .stream()
        .map(LaunchPlan.class::cast)
        .toList();
  }

  /** The largest tile offered is the largest that fits the device. */
  @ParameterizedTest
  @CsvSource({
    "F16, 256, 101376, 98304",
    "F16, 256, 98304, 98304",
    "F16, 256, 98303, 65536",
    "F16, 256, 65535, 40960",
    "F16, 576, 232448, 110592",
    "F16, 576, 101376, 73728",
    "F32, 576, 101376, 93312",
    "F16, 128, 49152, 49152",
    "F16, 64, 28672, 24576",
    "F32, 64, 65536, 39552"
  })
  void plansFitTheSharedMemoryOfABlock(DType dtype, int d, int available, int most) {
    var plans = plans(dtype, d, TestDevices.of(Target.SM_80, 108, available));
    assertThat(plans).isNotEmpty();
    assertThat(plans.stream().mapToInt(LaunchPlan::requiredSharedMemory).max()).hasValue(most);
    for (var plan : plans) {
      var step = plan.steps().getFirst();
      assertThat(plan.requiredSharedMemory())
          .isEqualTo(step.sharedBytes() + plan.kernels().getFirst().staticSharedBytes())
          .isLessThanOrEqualTo(available);
    }
  }

  @Test
  void reportsTheSharedMemoryOfEveryTileIfNoneFits() {
    assertThatThrownBy(() -> plans(DType.F32, 256, TestDevices.of(Target.SM_80, 108, 16_384)))
        .isInstanceOf(OpException.UnsupportedOnDevice.class)
        .hasMessageStartingWith("test device (sm_80) cannot compute this attention of f32: ")
        .hasMessageContainingAll(
            "requires 69120 bytes of shared memory; the limit per block on test device is"
                + " 16384",
            "requires 51456 bytes of shared memory; the limit per block on test device is"
                + " 16384",
            "requires 42112 bytes of shared memory; the limit per block on test device is"
                + " 16384");
  }

  private static List<LaunchPlan> offered(Gpu gpu, int sharedBytes) {
    return offered(OpProfile.capability(gpu), sharedBytes, 256, Dim3.of(1));
  }

  private static List<LaunchPlan> offered(
      Capability device, int sharedBytes, int threads, Dim3 grid) {
    var variant = variant(new Tile(Tile.Unit.TENSOR, 256, 96, 32), DType.F16, 256, 256);
    return new Candidates("attention", device)
        .offer(1, "", new Step(variant, grid, threads, sharedBytes, Arguments.NONE))
        .plans(Map.of(), COST);
  }

  /** A launch opts in to more than 48 KiB; the limit depends on the GPU. */
  @ParameterizedTest
  @CsvSource({"28672", "49152", "65536", "81920", "101376"})
  void gpusSinceAmpereAcceptUpTo99KiB(int bytes) {
    for (var gpu : Gpu.ALL.stream().filter(each -> each.target().sm() >= 80).toList()) {
      assertThat(offered(gpu, bytes)).hasSize(1);
      assertThat(OpProfile.capability(gpu).sharedBytesPerBlock()).isEqualTo(48 << 10);
    }
  }

  @Test
  void onlyHopperAccepts224KiB() {
    for (var gpu : List.of(Gpu.H100, Gpu.H200)) {
      assertThat(offered(gpu, 229_376)).hasSize(1);
      assertThat(offered(gpu, 232_448)).hasSize(1);
    }
    assertRejected(Gpu.H200, 232_449, "H200 (sm_90a)", 232_448);
    assertRejected(Gpu.RTX_4090, 229_376, "RTX 4090 (sm_89)", 101_376);
    assertRejected(Gpu.L4, 229_376, "L4 (sm_89)", 101_376);
    assertRejected(Gpu.T4, 65_537, "T4 (sm_75)", 65_536);
    assertRejected(Gpu.V100, 98_305, "V100 (sm_70)", 98_304);
    assertRejected(Gpu.A100, 229_376, "A100 (sm_80)", 166_912);
  }

  private static void assertRejected(Gpu gpu, int bytes, String device, int limit) {
    assertThatThrownBy(() -> offered(gpu, bytes))
        .isInstanceOf(OpException.UnsupportedOnDevice.class)
        .hasMessage(
            "%s cannot compute this attention: requires %d bytes of shared memory; the limit"
                + " per block on %s is %d",
            device, bytes, gpu.name(), limit);
  }

  /** The order is: shapes, target, shared memory, block, grid. */
  @Test
  void reportsProblemsInOrder() {
    var old = TestDevices.of(Target.of("sm_61"), 40, 16_384);
    assertThatThrownBy(() -> plans(DType.F32, 577, old))
        .isInstanceOf(OpException.TooLarge.class)
        .hasMessage(
            "input \"q\" has shape [1, 32, 4096, 577] with a head size of 577; the maximum"
                + " is 576");
    assertThatThrownBy(() -> plans(DType.F32, 256, old))
        .hasMessage(
            "test device (sm_61) cannot compute this attention of f32: requires sm_70; the"
                + " device is sm_61; f32 uses CUDA cores on sm_61");
    var small = TestDevices.of(Target.SM_80, 40, 16_384);
    var tall = Dim3.of(1, 65_536);
    assertThatThrownBy(() -> offered(small, 16_385, 2048, tall))
        .hasMessageEndingWith(
            "requires 16385 bytes of shared memory; the limit per block on test device is"
                + " 16384");
    assertThatThrownBy(() -> offered(small, 16_384, 2048, tall))
        .hasMessageEndingWith("requires blocks of 2048 threads; the limit on test device is 1024");
    assertThatThrownBy(() -> offered(small, 16_384, 1024, tall))
        .hasMessageEndingWith(
            "requires a grid of 1x65536x1 blocks; the limit on test device is 65535 along y"
                + " and z");
    assertThat(offered(small, 16_384, 1024, Dim3.of(1, 65_535))).hasSize(1);
  }
}
