package dev.athanor.engine.profile;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.profile.Profile.Row;
import dev.athanor.engine.profile.Roofline.Bound;
import dev.athanor.engine.profile.Roofline.Resource;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.text.Parser;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;

/** Bounds computed by hand. */
class RooflineTest {

  private static final Profile.Shared NO_SHARED = new Profile.Shared(0, 0, 0, 0, 0, 0);
  private static final Profile.Global NO_GLOBAL = new Profile.Global(0, 0, 0, 0, 0, 0);
  private static final String MMA =
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
          + " {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f0,%f1,%f2,%f3};";

  private static Instruction instruction(String text, int line) {
    var module =
        """
        .version 7.8
        .target sm_80
        .address_size 64
        .visible .entry k()
        {
        .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .f32 %f<8>; .reg .f64 %fd<4>;
        """
            + "\n".repeat(line)
            + text
            + "\n}\n";
    return Parser.parse(module, "k.ptx")
        .kernels()
        .getFirst()
        .instructions()
        .findFirst()
        .orElseThrow();
  }

  private static Row row(String text, int line, long executed) {
    return new Row(instruction(text, line), executed, 32 * executed, 0, NO_SHARED, NO_GLOBAL, 0);
  }

  private static Profile profile(int blocks, long run, long sectors, Row... rows) {
    return new Profile(
        "k",
        Dim3.of(blocks),
        Dim3.of(128),
        0,
        run,
        List.of(rows),
        Collections.nCopies(33, 0L),
        sectors);
  }

  private static Bound bound(Roofline roofline, Resource resource) {
    return roofline.bounds().stream()
        .filter(bound -> bound.resource() == resource)
        .findFirst()
        .orElseThrow();
  }

  private static Offset<Double> close(double to) {
    return within(1e-9 * to);
  }

  @Test
  void slowestResourceIsTheLimiter() {
    // A100: 108 multiprocessors at 1.41 GHz, 64 lanes of f32, 2.039 TB/s
    var profile =
        profile(1000, 1000, 1_000_000, row("fma.rn.f32 %f0, %f1, %f2, %f3;", 0, 10_000_000));
    var roofline = Roofline.of(profile, Gpu.A100, 32, null);
    double f32 = 10_000_000.0 * 32 / (64 * 108 * 1.41e9);
    assertThat(bound(roofline, Resource.F32).seconds()).isCloseTo(f32, close(f32));
    double dram = 32e6 / (0.9 * 2.039e12);
    assertThat(bound(roofline, Resource.DRAM).seconds()).isCloseTo(dram, close(dram));
    double issue = 10_000_000.0 / (4 * 108 * 1.41e9);
    assertThat(bound(roofline, Resource.ISSUE).seconds()).isCloseTo(issue, close(issue));
    assertThat(bound(roofline, Resource.ISSUE).estimate()).isTrue();
    assertThat(roofline.limiter().resource()).isEqualTo(Resource.F32);
    assertThat(roofline.limiter().estimate()).isFalse();
  }

  @Test
  void tensorCoresAndSharedMemory() {
    var load =
        new Row(
            instruction("ld.shared.u32 %r0, [%r1];", 3),
            1000,
            32_000,
            0,
            new Profile.Shared(1000, 128_000, 8000, 1000, 8000, 8),
            NO_GLOBAL,
            0);
    var roofline =
        Roofline.of(profile(132, 132, 0, row(MMA, 0, 1_000_000), load), Gpu.H100, 64, null);
    double tensor = 1e6 * 4096 / (2540 * 132 * 1.98e9);
    assertThat(bound(roofline, Resource.TENSOR).seconds()).isCloseTo(tensor, close(tensor));
    double shared = 8000 / (132 * 1.98e9);
    assertThat(bound(roofline, Resource.SHARED).seconds()).isCloseTo(shared, close(shared));
  }

  /** Hopper reaches its peak only with {@code wgmma}, Volta with {@code wmma}. */
  @Test
  void opaqueProductsReachThePeakOfVoltaOnly() {
    var registers = "{%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}";
    var sums = registers.replace("%r", "%f");
    var text =
        "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 %s, %s, %s, %s;"
            .formatted(sums, registers, registers, sums);
    var profile = profile(1000, 1000, 0, row(text, 0, 1000));
    var volta = bound(Roofline.of(profile, Gpu.V100, 64, null), Resource.TENSOR);
    assertThat(volta.rate()).isCloseTo(1024 * 80 * 1.53e9, close(1024 * 80 * 1.53e9));
    var hopper = bound(Roofline.of(profile, Gpu.H100, 64, null), Resource.TENSOR);
    assertThat(hopper.rate()).isCloseTo(2540 * 132 * 1.98e9, close(2540 * 132 * 1.98e9));
  }

  @Test
  void fewBlocksUseFewMultiprocessors() {
    var few = Roofline.of(profile(2, 2, 0, row(MMA, 0, 1000)), Gpu.H200, 64, null);
    double tensor = 1000 * 4096 / (2540 * 2 * 1.98e9);
    assertThat(bound(few, Resource.TENSOR).seconds()).isCloseTo(tensor, close(tensor));
    assertThat(few.waves()).isEqualTo(1);
    // 64 registers: 8 blocks of 4 warps a multiprocessor
    assertThat(few.occupancy().blocks()).isEqualTo(8);
    assertThat(few.waveEfficiency()).isEqualTo(2.0 / (132 * 8));
    var tail = Roofline.of(profile(132 * 8 + 1, 1, 0, row(MMA, 0, 1000)), Gpu.H200, 64, null);
    assertThat(tail.waves()).isEqualTo(2);
  }

  @Test
  void extrapolatesToAllBlocksExceptDram() {
    var row = row("fma.rn.f32 %f0, %f1, %f2, %f3;", 0, 1000);
    var whole = Roofline.of(profile(1000, 1000, 5, row), Gpu.L4, 32, null);
    var part = Roofline.of(profile(1000, 10, 5, row), Gpu.L4, 32, null);
    double f32 = 100 * bound(whole, Resource.F32).seconds();
    assertThat(bound(part, Resource.F32).seconds()).isCloseTo(f32, close(f32));
    assertThat(bound(part, Resource.DRAM)).isEqualTo(bound(whole, Resource.DRAM));
  }

  @Test
  void costliestLinesComeFirst() {
    var profile =
        profile(
            132,
            132,
            0,
            row("mov.u32 %r0, %r1;", 0, 1_000_000_000),
            row("add.f32 %f0, %f1, %f2;", 1, 3000),
            row("add.f32 %f0, %f1, %f2;", 2, 1000),
            row("ex2.approx.f32 %f0, %f1;", 3, 3000),
            row("add.f32 %f0, %f1, %f2;", 4, 2),
            row("add.f32 %f0, %f1, %f2;", 5, 1),
            row("add.f32 %f0, %f1, %f2;", 6, 3));
    var lines = Roofline.of(profile, Gpu.H200, 32, null).lines();
    assertThat(lines.stream().map(Roofline.LineCost::line))
        .containsExactly("k.ptx:10", "k.ptx:8", "k.ptx:9", "k.ptx:13", "k.ptx:11");
    assertThat(lines.getFirst().resource()).isEqualTo(Resource.SPECIAL);
    assertThat(lines.getFirst().share()).isEqualTo(1);
    assertThat(lines.get(1).share()).isCloseTo(3000 / 4006.0, within(1e-12));
  }

  @Test
  void f64ProductsFallBackToFp64Cores() {
    var row = row("fma.rn.f64 %fd0, %fd1, %fd2, %fd3;", 0, 1000);
    var roofline = Roofline.of(profile(128, 128, 0, row), Gpu.RTX_4090, 32, null);
    double f64 = 32_000 / (2 * 128 * 2.52e9);
    assertThat(roofline.limiter().seconds()).isCloseTo(f64, close(f64));
    assertThat(roofline.limiter().resource()).isEqualTo(Resource.F64);
  }

  @Test
  void reportsBlocksThatDoNotFit() {
    var profile =
        new Profile(
            "k",
            Dim3.of(4),
            Dim3.of(128),
            200 << 10,
            4,
            List.of(row("add.f32 %f0, %f1, %f2;", 0, 1)),
            Collections.nCopies(33, 0L),
            0);
    assertThat(Roofline.of(profile, Gpu.L4, 32, null).waves()).isInfinite();
  }

  private static final String WGMMA =
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
          + " {%f0,%f1,%f2,%f3}, %rd0, %rd1, 1, 1, 1, 0, 0;";

  /** The rest of Hopper's peak is only for {@code wgmma}. */
  @Test
  void mmaSyncIsSlowerThanWgmmaOnHopper() {
    var wgmma = Roofline.of(profile(132, 132, 0, row(WGMMA, 0, 1000)), Gpu.H200, 64, null);
    double peak = 1000.0 * 2 * 64 * 8 * 16 / 4 / (4096 * 132 * 1.98e9);
    assertThat(bound(wgmma, Resource.TENSOR).seconds()).isCloseTo(peak, close(peak));
    var mma = Roofline.of(profile(132, 132, 0, row(MMA, 0, 1000)), Gpu.H200, 64, null);
    assertThat(bound(mma, Resource.TENSOR).rate() / bound(wgmma, Resource.TENSOR).rate())
        .isCloseTo(0.62, within(0.001));
    var ampere = Roofline.of(profile(108, 108, 0, row(MMA, 0, 1000)), Gpu.A100, 64, null);
    assertThat(bound(ampere, Resource.TENSOR).rate()).isEqualTo(2048 * 108 * 1.41e9);
  }

  /** A load of 16 bytes by each lane. */
  private static Row load(int line, long executed) {
    var global = new Profile.Global(executed, 512 * executed, 512 * executed, 16 * executed, 0, 0);
    return new Row(
        instruction("ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%rd1];", line),
        executed,
        32 * executed,
        0,
        NO_SHARED,
        global,
        0);
  }

  /** 132 blocks of 4 warps have 270 KB in flight, and 600 ns later another 270 KB. */
  @Test
  void fewWarpsCannotSaturateMemory() {
    long rounds = 1000;
    long warps = 132 * 4;
    long sectors = warps * rounds * 16;
    var profile = profile(132, 132, sectors, load(0, warps * rounds));
    var roofline = Roofline.of(profile, Gpu.H200, 32, null);
    double dram = sectors * 32 / 4.3e12;
    assertThat(bound(roofline, Resource.DRAM).seconds()).isCloseTo(dram, close(dram));
    double latency = rounds * 600e-9;
    assertThat(bound(roofline, Resource.LATENCY).seconds()).isCloseTo(latency, close(latency));
    assertThat(bound(roofline, Resource.LATENCY).estimate()).isTrue();
    assertThat(roofline.limiter().resource()).isEqualTo(Resource.LATENCY);
    // 16 blocks on each multiprocessor, or 16 loads before the first is used
    var more = profile(16 * 132, 16 * 132, 16 * sectors, load(0, 16 * warps * rounds));
    assertThat(Roofline.of(more, Gpu.H200, 32, null).limiter().resource()).isEqualTo(Resource.DRAM);
    var loads = IntStream.range(0, 16).mapToObj(i -> load(i, warps * rounds)).toArray(Row[]::new);
    var unrolled = Roofline.of(profile(132, 132, 16 * sectors, loads), Gpu.H200, 32, null);
    assertThat(unrolled.limiter().resource()).isEqualTo(Resource.DRAM);
    assertThat(bound(unrolled, Resource.LATENCY).seconds()).isCloseTo(latency, close(latency));
  }

  @Test
  void loadsBeforeTheLoopAreNotInFlightWithItsOwn() {
    long warps = 132 * 4;
    var profile = profile(132, 132, 1000, load(0, warps), load(1, 10 * warps));
    assertThat(BytesInFlight.perWarp(profile, null)).isEqualTo(512);
  }

  @Test
  void writesWaitForNothing() {
    var store =
        new Row(
            instruction("st.global.v4.u32 [%rd1], {%r0, %r1, %r2, %r3};", 0),
            132,
            32 * 132,
            0,
            NO_SHARED,
            new Profile.Global(132, 512 * 132, 512 * 132, 16 * 132, 0, 0),
            0);
    var roofline = Roofline.of(profile(132, 132, 16 * 132, store), Gpu.H200, 32, null);
    assertThat(roofline.bounds().stream().map(Bound::resource))
        .contains(Resource.DRAM)
        .doesNotContain(Resource.LATENCY);
    // half of the traffic is read: half of the bytes wait
    var copy = profile(132, 132, 32 * 132, load(1, 132), store);
    assertThat(bound(Roofline.of(copy, Gpu.H200, 32, null), Resource.LATENCY).amount())
        .isEqualTo(16 * 132 * 32);
  }

  /** A pipeline of 4 stages waits until 2 are pending and then commits the third. */
  @Test
  void copiesOfAPipelineAreInFlightTogether() {
    var copy =
        new Row(
            instruction("cp.async.cg.shared.global [%r1], [%rd1], 16;", 0),
            100,
            3200,
            0,
            NO_SHARED,
            new Profile.Global(100, 51_200, 51_200, 1600, 1600, 400),
            0);
    var profile = profile(1, 1, 1600, copy, row("cp.async.wait_group 2;", 1, 100));
    assertThat(BytesInFlight.perWarp(profile, null)).isEqualTo(3 * 512);
  }

  @Test
  void deviceMemoryTrafficOfWholeLaunchesCanBeGiven() {
    var part = profile(1000, 4, 5, load(0, 16));
    var roofline = Roofline.of(part, Gpu.H100, 32, null, 1e9);
    assertThat(bound(roofline, Resource.DRAM).amount()).isEqualTo(1e9);
    assertThat(bound(roofline, Resource.DRAM).rate()).isEqualTo(0.9 * 3.35e12);
    assertThat(bound(roofline, Resource.LATENCY).amount()).isEqualTo(1e9);
  }
}
