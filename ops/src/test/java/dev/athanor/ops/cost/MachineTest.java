package dev.athanor.ops.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.profile.OpProfile;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The cost model by which planners rank kernels. */
class MachineTest {

  private static final Machine H200 = Machine.of(OpProfile.capability(Gpu.H200));
  private static final Offset<Double> CLOSE = within(1e-9);

  private static Capability named(String name, Target target, int multiprocessors) {
    return new Capability(
        "cuda:0", name, target, "0", multiprocessors, 1024, 49_152, 101_376, 1L << 34);
  }

  /** Names are as drivers report them; for unknown names, the nearest target decides. */
  @ParameterizedTest
  @CsvSource({
    "NVIDIA H200, 90, H200",
    "NVIDIA H100 80GB HBM3, 90, H100",
    "NVIDIA A100-SXM4-80GB, 80, A100",
    "NVIDIA GeForce RTX 4090, 89, RTX 4090",
    "NVIDIA L4, 89, L4",
    "NVIDIA A10, 86, A10",
    "NVIDIA A40, 86, RTX 3090",
    "Tesla T4, 75, T4",
    "Quadro RTX 8000, 75, RTX 2080 Ti",
    "Tesla V100-SXM2-16GB, 70, V100",
    "NVIDIA GeForce RTX 5080, 120, RTX 5090",
    "NVIDIA B200, 100, B200"
  })
  void usesTheRatesOfTheMostSimilarGpu(String name, int sm, String gpu) {
    assertThat(Machine.of(named(name, new Target(sm, false), 100)).gpu().name()).isEqualTo(gpu);
  }

  @Test
  void usesTheRatesOfTheDataSheet() {
    assertThat(H200.laneCycles(128, Type.F32)).isEqualTo(1);
    assertThat(H200.laneCycles(128, Type.F64)).isEqualTo(2);
    assertThat(H200.tensorCycles(128, Type.F64)).isEqualTo(1);
    assertThat(H200.tensorCycles(1270, Type.F16)).isEqualTo(1);
    var a100 = Machine.of(OpProfile.capability(Gpu.A100));
    assertThat(a100.laneCycles(64, Type.F32)).isEqualTo(1);
    assertThat(a100.laneCycles(64, Type.F64)).isEqualTo(2);
    assertThat(a100.tensorCycles(1024, Type.BF16)).isEqualTo(1);
    assertThat(a100.tensorCycles(64, Type.F64)).isEqualTo(1);
    // mma of f64 runs on the FP64 cores; a multiprocessor has two
    var rtx4090 = Machine.of(OpProfile.capability(Gpu.RTX_4090));
    assertThat(rtx4090.tensorCycles(128, Type.F64)).isEqualTo(64);
    assertThatThrownBy(() -> H200.tensorCycles(1, Type.U64))
        .hasMessageContaining("is not for tensor cores");
  }

  private static BlockWork computing(int threads, int registers, double busy) {
    return new BlockWork(threads, registers, 0, busy, 0, 0, 0);
  }

  private static double cycles(long blocks, BlockWork work) {
    double microseconds = H200.microseconds(blocks, work, 0) - Machine.LAUNCH_MICROSECONDS;
    return microseconds * 1980 - H200.latency();
  }

  /** Returns the cycles of the instructions before the first load and after the last store. */
  private static double prologue(int threads) {
    return 100.0 * threads / 32 / 4;
  }

  @Test
  void launchesTakeWholeWavesAndAShorterLastOne() {
    // 128 registers: two blocks of 256 threads on a multiprocessor
    var work = computing(256, 128, 1e6);
    double one = 1e6 + prologue(256);
    assertThat(H200.resident(work)).isEqualTo(2);
    assertThat(H200.slots(work)).isEqualTo(264);
    assertThat(cycles(1, work)).isCloseTo(one, within(1e-3));
    assertThat(cycles(132, work)).isCloseTo(one, within(1e-3));
    assertThat(cycles(133, work)).isCloseTo(2 * one, within(1e-3));
    assertThat(cycles(264, work)).isCloseTo(2 * one, within(1e-3));
    assertThat(cycles(265, work)).isCloseTo(3 * one, within(1e-3));
  }

  @Test
  void fewWarpsDoNotFillAMultiprocessor() {
    assertThat(cycles(1, computing(32, 32, 1e6))).isCloseTo(8 * (1e6 + prologue(32)), within(1e-3));
    assertThat(cycles(8 * 132, computing(32, 32, 1e6)))
        .isCloseTo(8 * (1e6 + prologue(32)), within(1e-3));
  }

  @Test
  void otherBlocksHideStalls() {
    var stalling = new BlockWork(256, 128, 0, 1e6, 5e5, 0, 0);
    assertThat(cycles(132, stalling)).isCloseTo(1.5e6 + prologue(256), within(1e-3));
    assertThat(cycles(264, stalling)).isCloseTo(2 * (1e6 + prologue(256)), within(1e-3));
  }

  @Test
  void latencyLimitsTheBandwidth() {
    // from the L2 cache: 46 bytes a cycle and multiprocessor if enough are in flight
    var much = new BlockWork(256, 64, 0, 0, 0, 1e6, 1e6);
    var little = new BlockWork(256, 64, 0, 0, 0, 1e6, 3000);
    double computing = 0.25 * prologue(256);
    assertThat(cycles(132, much)).isCloseTo(1e6 / (6144 / 132.0) + computing, within(1e-3));
    // 3000 bytes in 300 cycles
    assertThat(cycles(132, little)).isCloseTo(1e5 + computing, within(1e-3));
  }

  @Test
  void memoryLimitsTheSpeed() {
    var work = new BlockWork(256, 64, 0, 0, 0, 32 << 20, 1 << 20);
    double bytes = 132.0 * (32 << 20);
    assertThat(H200.microseconds(132, work, bytes)).isGreaterThan(bytes / 4.3e6);
    assertThat(H200.streaming(0))
        .isCloseTo(Machine.LAUNCH_MICROSECONDS + H200.latency() / 1980, CLOSE);
    assertThat(H200.streaming(2, 4.3e6)).isCloseTo(2 * H200.streaming(0) + 1, within(1e-6));
  }

  @Test
  void partialSumsAreReadFromTheCacheIfTheyFit() {
    double cached = H200.sum(1 << 20, 0, 1);
    assertThat(cached).isLessThan(H200.streaming(1 << 20));
    assertThat(H200.sum(1 << 30, 0, 1)).isEqualTo(H200.streaming(2.0 * (1 << 30)));
    assertThat(H200.sum(1 << 20, 0, 11) - cached).isCloseTo(3000 / 1980.0, within(1e-9));
  }

  @Test
  void dependentLaunchesOverlapWithThePreviousOneFromHopperOn() {
    assertThat(H200.dependentSum(1 << 20, 0, 1)).isCloseTo(H200.sum(1 << 20, 0, 1) - 1, CLOSE);
    var a100 = Machine.of(OpProfile.capability(Gpu.A100));
    assertThat(a100.dependentSum(1 << 20, 0, 1)).isEqualTo(a100.sum(1 << 20, 0, 1));
  }

  @Test
  void smallerDevicesHaveLessBandwidth() {
    var half = Machine.of(named("H200", Gpu.H200.target(), 66));
    double most = 4.3e9;
    double launch = H200.streaming(0);
    assertThat(half.streaming(most) - launch)
        .isCloseTo(2 * (H200.streaming(most) - launch), within(1e-6));
  }
}
