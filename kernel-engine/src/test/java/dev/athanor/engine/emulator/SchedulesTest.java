package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.athanor.engine.device.DeviceException.KernelFault;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.Schedule;
import dev.athanor.testing.TestTier;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Threads progress independently, in any order. */
class SchedulesTest {

  private static final long SEED = TestTier.seed();

  private static Rig rig(Schedule schedule) {
    System.out.println("athanor.seed=" + SEED);
    return new Rig(EmulatorOptions.DEFAULT.withSchedule(schedule).withSeed(SEED));
  }

  /** Lanes of a warp take a lock in turn, which requires progress while others spin. */
  @ParameterizedTest
  @EnumSource(Schedule.class)
  void lockWithinAWarp(Schedule schedule) {
    int threads = TestTier.choose(16, 48, 48); // the time grows with the square
    try (var rig = rig(schedule)) {
      var out =
          rig.run(
              """
              $again:
              atom.global.cas.b32 %r5, [%rd1], 0, 1;
              setp.ne.u32 %p0, %r5, 0;
              @%p0 bra $again;
              membar.gl;
              ld.volatile.global.u32 %r6, [%rd1+4];
              add.u32 %r6, %r6, 1;
              st.volatile.global.u32 [%rd1+4], %r6;
              membar.gl;
              atom.global.exch.b32 %r7, [%rd1], 0;
              st.global.u32 [%rd2], %r6;
              """,
              2, threads, 0, 0);
      Arrays.sort(out);
      assertThat(out).containsExactly(IntStream.rangeClosed(1, 2 * threads).toArray());
    }
  }

  /** A warp polls for a store of another. */
  @ParameterizedTest
  @EnumSource(Schedule.class)
  void waitForAnotherWarp(Schedule schedule) {
    try (var rig = rig(schedule)) {
      var out =
          rig.run(
              """
              setp.ge.u32 %p0, %r0, 32;
              @%p0 bra $second;
              $wait: ld.acquire.gpu.global.u32 %r5, [%rd1];
              setp.eq.u32 %p1, %r5, 0;
              @%p1 bra $wait;
              bra $end;
              $second:
              mov.u32 %r5, 9;
              st.release.gpu.global.u32 [%rd1], %r5;
              $end:
              st.global.u32 [%rd2], %r5;
              """,
              1, 64, 0);
      assertThat(out).containsOnly(9);
    }
  }

  /** Votes, shuffles and barriers reconverge diverged lanes. */
  @ParameterizedTest
  @EnumSource(Schedule.class)
  void collectivesAfterDivergence(Schedule schedule) {
    try (var rig = rig(schedule)) {
      var out =
          rig.run(
              """
              and.b32 %r5, %r0, 3; mov.u32 %r6, 0;
              $loop:
              setp.eq.u32 %p0, %r5, 0; @%p0 bra $out;
              add.u32 %r6, %r6, %r5; sub.u32 %r5, %r5, 1; bra $loop;
              $out:
              shfl.sync.bfly.b32 %r7, %r6, 1, 31, -1;
              bar.red.popc.u32 %r8, 0, %p0;
              mad.lo.u32 %r9, %r7, 100, %r8;
              st.global.u32 [%rd2], %r9;
              """,
              1, 64);
      int[] sums = {0, 1, 3, 6};
      for (int i = 0; i < 64; i++) {
        assertThat(out[i]).isEqualTo(sums[(i ^ 1) & 3] * 100 + 64);
      }
    }
  }

  @Test
  void schedulesAreReproducible() {
    var body =
        "atom.global.add.u32 %r5, [%rd1], 1; add.u32 %r6, %r5, 0; st.global.u32 [%rd2], %r5;\n";
    var seen =
        IntStream.range(0, 6)
            .mapToObj(run -> {
              var options =
                  EmulatorOptions.DEFAULT
                      .withWorkers(1)
                      .withSchedule(Schedule.RANDOM)
                      .withSeed(run / 2);
              try (var rig = new Rig(options)) {
                return Arrays.toString(rig.run(body, 1, 256, 0));
              }
            })
            .toList();
    assertThat(seen.get(0)).isEqualTo(seen.get(1));
    assertThat(seen.get(2)).isEqualTo(seen.get(3));
    assertThat(seen.get(4)).isEqualTo(seen.get(5));
    assertThat(seen.stream().distinct().count()).isGreaterThan(1);
  }

  @Test
  void reportsLivelocks() {
    List<String> reports;
    try (var rig = new Rig(EmulatorOptions.DEFAULT.withPatience(1 << 15))) {
      reports =
          catchThrowableOfType(
                  KernelFault.class,
                  () ->
                      rig.run(
                          """
                          $wait: ld.volatile.global.u32 %r5, [%rd1];
                          setp.eq.u32 %p1, %r5, 0;
                          @%p1 bra $wait;
                          """,
                          1, 40, 0))
              .reports();
    }
    assertThat(reports).hasSize(2);
    assertThat(reports.getFirst())
        .endsWith(
            "loops forever with lanes 0xffffffff; in 32768 backward jumps no"
                + " thread stored anything, passed a barrier or exited");
    assertThat(reports.getLast()).contains("with lanes 0x000000ff");
  }

  /** Threads of a warp arrive at one barrier by several instructions, in several phases. */
  private static final String SEVERAL_PLACES =
      """
      and.b32 %r10, %r0, 3; mov.u32 %r11, 0; mov.u32 %r20, tile;
      shl.b32 %r12, %r0, 2; add.u32 %r12, %r12, %r20;
      add.u32 %r13, %r0, 1; and.b32 %r13, %r13, 63; shl.b32 %r13, %r13, 2; add.u32 %r13, %r13, %r20;
      st.shared.u32 [%r12], %r0;
      $round:
      setp.eq.u32 %p0, %r10, 0; @%p0 bra $first; setp.eq.u32 %p1, %r10, 1; @%p1 bra $second;
      barrier.sync 3;
      bra $read;
      $first:
      barrier.sync 3, 64;
      bra $read;
      $second:
      mov.u32 %r14, 3; @%p1 barrier.sync %r14;
      $read:
      ld.shared.u32 %r15, [%r13];
      setp.eq.u32 %p2, %r15, 70;
      @%p0 bra $odd;
      barrier.red.popc.u32 %r16, 4, %p2;
      bra $write;
      $odd:
      barrier.red.popc.u32 %r16, 4, %p0;
      $write:
      st.shared.u32 [%r12], %r15;
      add.u32 %r11, %r11, 1; setp.lt.u32 %p3, %r11, 3; @%p3 bra $round;
      mad.lo.u32 %r15, %r16, 1000, %r15;
      st.global.u32 [%rd2], %r15;
      """;

  @ParameterizedTest
  @EnumSource(Schedule.class)
  void barrierAtSeveralInstructions(Schedule schedule) {
    var body = SEVERAL_PLACES.replace("barrier.sync 3, 64;", "barrier.sync 3;");
    try (var rig = rig(schedule)) {
      assertThat(rig.run(body, 1, 64))
          .containsExactly(IntStream.range(0, 64).map(i -> 16_000 + (i + 3) % 64).toArray());
    }
  }

  /** The warp arrives with its last thread; some of its threads continue at once. */
  @ParameterizedTest
  @EnumSource(Schedule.class)
  void arriveAndWaitInOneWarp(Schedule schedule) {
    var body =
        """
        setp.lt.u32 %p0, %r0, 16; mov.u32 %r5, 5;
        @%p0 bra $arrive;
        barrier.sync 1, 64;
        ld.shared.u32 %r5, [tile];
        bra $end;
        $arrive:
        setp.eq.u32 %p1, %r0, 0; @%p1 st.shared.u32 [tile], 7;
        barrier.arrive 1, 64;
        $end:
        st.global.u32 [%rd2], %r5;
        """;
    try (var rig = rig(schedule)) {
      assertThat(rig.run(body, 1, 64))
          .containsExactly(IntStream.range(0, 64).map(i -> i < 16 ? 5 : 7).toArray());
    }
  }

  private static String fault(String body) {
    try (var rig = new Rig()) {
      return catchThrowableOfType(KernelFault.class, () -> rig.run(body, 1, 64))
          .reports()
          .getFirst();
    }
  }

  @Test
  void mismatchedBarriersAtSeveralInstructions() {
    assertThat(fault(SEVERAL_PLACES))
        .contains("barrier.sync 3")
        .containsAnyOf(
            "waits for 64 threads, but others at barrier 3 wait for all threads",
            "waits for all threads, but others at barrier 3 wait for 64 threads");
    var places =
        "setp.lt.u32 %p0, %r0, 16; @%p0 bra $other; FIRST bra $end; $other: SECOND $end: ret;";
    assertThat(
            fault(
                places
                    .replace("FIRST", "barrier.sync 1;")
                    .replace("SECOND", "barrier.red.popc.u32 %r5, 1, %p0;")))
        .containsAnyOf(
            "does not combine a predicate, but others at barrier 1 do",
            "combines a predicate, but others at barrier 1 do not");
    for (var second : List.of("barrier.sync 2;", "barrier.sync.aligned 1;", "bar.sync 1;")) {
      assertThat(fault(places.replace("FIRST", "barrier.sync 1;").replace("SECOND", second)))
          .contains("waits forever for other threads of its warp");
    }
  }
}
