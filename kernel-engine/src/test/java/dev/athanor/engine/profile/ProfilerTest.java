package dev.athanor.engine.profile;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.profile.Profile.Row;
import dev.athanor.engine.profile.Profile.Traffic;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.text.Parser;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Counts of small kernels, verified by hand. */
class ProfilerTest {

  /** Uninitialized reads do not matter here. */
  private static final EmulatorOptions OPTIONS =
      EmulatorOptions.DEFAULT.withMemoryBytes(1 << 24).withSanitize(Sanitize.OFF);

  /** Before a body, {@code %r0} is the thread and {@code %rd2} the address of its word. */
  private static final String PROLOGUE =
      """
      .version 7.8
      .target sm_90
      .address_size 64
      .visible .entry k(.param .u64 buffer)
      {
      .shared .align 128 .b8 tile[32768];
      .reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<16>; .reg .f32 %f<16>;
      ld.param.u64 %rd0, [buffer];
      mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x;
      mad.lo.u32 %r3, %r1, %r2, %r0; mul.wide.u32 %rd1, %r3, 4; add.u64 %rd2, %rd0, %rd1;
      """;

  private static Profile run(String body, int blocks, int threads) {
    return run(body, blocks, threads, OPTIONS, 1).getFirst();
  }

  private static List<Profile> run(
      String body, int blocks, int threads, EmulatorOptions options, int launches) {
    return run(body, Dim3.of(blocks), threads, options, launches);
  }

  private static List<Profile> run(
      String body, Dim3 grid, int threads, EmulatorOptions options, int launches) {
    var profiler = new Profiler();
    try (var device = new EmulatedDevice(options.withObservers(List.of(profiler)));
        var stream = device.openStream();
        var buffer = device.allocate(1 << 20)) {
      stream.fill(buffer, 0, 1 << 20, (byte) 0);
      var kernel = device.load(Parser.parse(PROLOGUE + body + "\nret;\n}\n", "k.ptx"), "k");
      for (int i = 0; i < launches; i++) {
        stream.launch(new Launch(kernel, grid, Dim3.of(threads), 0, List.of(Argument.of(buffer))));
      }
    }
    return profiler.profiles();
  }

  private static Row row(Profile profile, String opcode) {
    return profile.rows().stream()
        .filter(row -> row.instruction().opcode().equals(opcode))
        .findFirst()
        .orElseThrow();
  }

  @ParameterizedTest
  @CsvSource({"1, 1", "2, 2", "3, 1", "8, 8", "32, 32", "33, 1", "48, 16"})
  void sharedMemoryStrides(int stride, int ways) {
    var profile =
        run(
            """
            mul.lo.u32 %%r4, %%r0, %d; mov.u32 %%r5, tile; add.u32 %%r5, %%r5, %%r4;
            st.shared.u32 [%%r5], %%r0; ld.shared.u32 %%r6, [%%r5];
            """
                .formatted(4 * stride),
            3,
            64);
    for (var opcode : List.of("st.shared.u32", "ld.shared.u32")) {
      var row = row(profile, opcode);
      assertThat(row.executed()).isEqualTo(6);
      assertThat(row.shared())
          .isEqualTo(new Profile.Shared(6, 6 * 128, 6L * ways, 6, 6L * ways, ways));
      assertThat(row.shared().conflicts()).isEqualTo(6L * (ways - 1));
    }
    assertThat(profile.traffic()).isEqualTo(Map.of(Space.SHARED, new Traffic(768, 768)));
  }

  @Test
  void contiguousAccessesUseEachSectorOnce() {
    var profile = run("ld.global.u32 %r4, [%rd2]; st.global.u32 [%rd2], %r4;", 5, 96);
    assertThat(row(profile, "ld.global.u32").global())
        .isEqualTo(new Profile.Global(15, 15 * 128, 15 * 128, 60, 60, 15));
    assertThat(profile.touchedSectors()).isEqualTo(60);
    assertThat(profile.traffic()).isEqualTo(Map.of(Space.GLOBAL, new Traffic(1920, 1920)));
  }

  @Test
  void stridedAccessesWasteSectors() {
    var profile =
        run(
            "mul.wide.u32 %rd3, %r3, 64; add.u64 %rd3, %rd0, %rd3; ld.global.u32 %r4, [%rd3];",
            1, 32);
    var global = row(profile, "ld.global.u32").global();
    assertThat(global).isEqualTo(new Profile.Global(1, 128, 128, 32, 4, 16));
    assertThat(global.wastedBytes()).isEqualTo(32 * 28);
    assertThat(global.sectorsPerRequest()).isEqualTo(32);
  }

  @Test
  void countsDivergence() {
    var profile =
        run(
            """
            setp.lt.u32 %p0, %r0, 40;
            @%p0 bra LOW;
            add.u32 %r4, %r0, 1;
            LOW:
            add.u32 %r5, %r0, 2;
            @%p0 add.u32 %r6, %r0, 3;
            bar.sync 0;
            """,
            2, 96);
    // warp 0 branches, warp 1 diverges with 8 lanes taken, warp 2 falls through
    assertThat(profile.branches()).isEqualTo(6);
    assertThat(profile.divergentBranches()).isEqualTo(2);
    assertThat(profile.barriers()).isEqualTo(6);
    var rows = profile.rows().stream().filter(r -> r.instruction().opcode().equals("add.u32"));
    assertThat(rows.map(Row::active).toList()).containsExactly(2L * (24 + 32), 2L * 96, 2L * 40);
    assertThat(profile.activeLanes().get(0)).as("a guard that holds for no lane").isPositive();
    assertThat(profile.activeLanes().get(24)).isEqualTo(2);
    assertThat(profile.activeLanes().stream().mapToLong(n -> n).sum())
        .isEqualTo(profile.executed());
  }

  /**
   * Generated instructions (canonical NaNs, negated predicates, narrowed registers) are not
   * counted.
   */
  @Test
  void omitsGeneratedInstructions() {
    var body =
        """
        ld.global.f32 %f1, [%rd2];
        add.f32 %f1, %f1, %f1;
        mov.b32 %r4, %f1;
        setp.lt.u32 %p0, %r0, 4;
        setp.eq.and.u32 %p1, %r0, %r4, !%p0;
        ld.global.s32 %rd5, [%rd2];
        st.global.u32 [%rd2], %rd5;
        atom.global.max.u32 _, [%rd2], %r4;
        ret;
        """;
    var profile = run(body, 1, 32);
    var prologue = run("", 1, 32);
    int before = prologue.rows().size() - 2; // without its return and rows without executions
    assertThat(profile.rows().stream().skip(before).map(row -> row.instruction().toString()))
        .startsWith(body.lines().toArray(String[]::new));
    assertThat(profile.executed()).isEqualTo(prologue.executed() + body.lines().count() - 1);
    assertThat(profile.mix()).doesNotContainKeys("max", "cvt", "not").containsEntry("add", 2L);
  }

  @Test
  void countsOperationsOfActiveLanes() {
    var profile =
        run(
            """
            mov.f32 %f1, 0f3F800000;
            fma.rn.f32 %f0, %f1, %f1, %f1;
            setp.lt.u32 %p0, %r0, 5;
            @%p0 mul.f32 %f4, %f0, %f0;
            ex2.approx.f32 %f5, %f0;
            """,
            1, 32);
    assertThat(profile.flops()).isEqualTo(Map.of("f32", 64L + 5, "special", 32L));
    assertThat(profile.mix()).containsEntry("mov", 4L).containsEntry("fma", 1L);
  }

  @Test
  void copiesReadGlobalAndWriteSharedMemory() {
    var profile =
        run(
            """
            mul.lo.u32 %r4, %r0, 16; mov.u32 %r5, tile; add.u32 %r5, %r5, %r4;
            mul.wide.u32 %rd3, %r0, 16; add.u64 %rd3, %rd0, %rd3;
            cp.async.cg.shared.global [%r5], [%rd3], 16; cp.async.wait_all; bar.sync 0;
            ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r6, %r7, %r8, %r9}, [%r5];
            mul.lo.u32 %r4, %r0, 128; mov.u32 %r5, tile; add.u32 %r5, %r5, %r4;
            ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r6, %r7}, [%r5];
            """,
            1, 32);
    var copy = row(profile, "cp.async.cg.shared.global");
    assertThat(copy.global()).isEqualTo(new Profile.Global(1, 512, 512, 16, 16, 4));
    assertThat(copy.shared()).isEqualTo(new Profile.Shared(1, 512, 4, 4, 4, 1));
    assertThat(row(profile, "ldmatrix.sync.aligned.m8n8.x4.shared.b16").shared())
        .isEqualTo(new Profile.Shared(1, 512, 4, 4, 4, 1));
    // all rows of 128 bytes start in bank 0
    assertThat(row(profile, "ldmatrix.sync.aligned.m8n8.x2.shared.b16").shared())
        .isEqualTo(new Profile.Shared(1, 256, 16, 2, 16, 8));
    assertThat(profile.traffic())
        .isEqualTo(
            Map.of(
                Space.GLOBAL, new Traffic(512, 0),
                Space.SHARED, new Traffic(768, 512)));
  }

  @Test
  void atomicsOnOneWordSerialize() {
    var profile = run("atom.shared.add.u32 %r4, [tile], 1; red.global.add.u32 [%rd0], 1;", 1, 32);
    assertThat(row(profile, "atom.shared.add.u32").shared())
        .isEqualTo(new Profile.Shared(1, 128, 32, 1, 32, 32));
    assertThat(row(profile, "red.global.add.u32").global())
        .isEqualTo(new Profile.Global(1, 128, 4, 1, 1, 1));
    assertThat(profile.traffic().get(Space.SHARED)).isEqualTo(new Traffic(128, 128));
  }

  private static final String LOOP =
      """
      mov.u32 %r4, 0;
      AGAIN:
      ld.global.u32 %r5, [%rd2]; add.u32 %r4, %r4, 1;
      and.b32 %r6, %r3, 7; setp.lt.u32 %p0, %r4, %r6;
      @%p0 bra AGAIN;
      """;

  @Test
  void countsAreIndependentOfWorkers() {
    var alone = run(LOOP, 100, 96, OPTIONS.withWorkers(1), 1);
    assertThat(run(LOOP, 100, 96, OPTIONS.withWorkers(4), 1)).isEqualTo(alone);
    assertThat(alone.getFirst().divergentBranches()).isPositive();
    assertThat(alone.getFirst().blocksRun()).isEqualTo(100);
    assertThat(alone.getFirst().touchedSectors()).isEqualTo(100 * 96 * 4 / 32);
  }

  @Test
  void launchesHaveSeparateProfiles() {
    var profiles = run(LOOP, 10, 32, OPTIONS.withWorkers(3), 2);
    assertThat(profiles).hasSize(2);
    assertThat(profiles.get(0)).isEqualTo(profiles.get(1));
  }

  /** As in causal attention, where a block has the more keys the later its queries are. */
  @ParameterizedTest
  @CsvSource({"16, 1, 1", "16, 8, 3", "5, 16, 2", "4, 4, 16"})
  void sampledBlocksStandForBlocksOfUnequalWork(int x, int y, int z) {
    var body =
        """
        mov.u32 %r4, %ctaid.x; add.u32 %r4, %r4, 1;
        again: sub.u32 %r4, %r4, 1; setp.ne.u32 %p0, %r4, 0; @%p0 bra again;
        """;
    var grid = new Dim3(x, y, z);
    var whole = run(body, grid, 32, OPTIONS, 1).getFirst();
    var some = run(body, grid, 32, OPTIONS.withBlocks(4), 1).getFirst();
    assertThat(some.blocksRun()).isEqualTo(4);
    assertThat(whole.blocksRun()).isEqualTo(grid.count());
    assertThat((double) row(some, "sub.u32").executed() / 4)
        .isCloseTo((double) row(whole, "sub.u32").executed() / grid.count(), within(1e-9));
  }

  @Test
  void profilesOnlySomeBlocks() {
    var some = run(LOOP, 100, 96, OPTIONS.withBlocks(7), 1).getFirst();
    assertThat(some.blocksRun()).isEqualTo(7);
    assertThat(some.grid()).isEqualTo(Dim3.of(100));
    assertThat(some.touchedSectors()).isEqualTo(7 * 96 * 4 / 32);
  }

  @Test
  void groupsInstructionsBySourceLine() {
    var profile = run("add.u32 %r4, %r0, 1; add.u32 %r4, %r4, 1;\nadd.u32 %r4, %r4, 1;", 1, 32);
    int first = 1 + (int) PROLOGUE.lines().count();
    assertThat(profile.lines().get("k.ptx:" + first)).hasSize(2);
    assertThat(profile.lines().get("k.ptx:" + (first + 1))).hasSize(1);
  }
}
