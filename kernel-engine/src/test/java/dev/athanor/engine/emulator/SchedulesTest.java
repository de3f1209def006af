package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.athanor.engine.device.DeviceException.KernelFault;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Threads go on in any order, and each at last. */
class SchedulesTest {

  private static final long SEED = Long.getLong("athanor.seed", System.nanoTime());

  private static Rig rig(Schedule schedule) {
    System.out.println("athanor.seed=" + SEED);
    return new Rig(EmulatorOptions.DEFAULT.withSchedule(schedule).withSeed(SEED));
  }

  /** A lock that lanes of one warp take in turn, which needs each to go on while others spin. */
  @ParameterizedTest
  @EnumSource(Schedule.class)
  void aLockWithinAWarp(Schedule schedule) {
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
              2, 48, 0, 0);
      Arrays.sort(out);
      assertThat(out).containsExactly(IntStream.rangeClosed(1, 96).toArray());
    }
  }

  /** One warp waits in a loop for what another stores. */
  @ParameterizedTest
  @EnumSource(Schedule.class)
  void waitingForAnotherWarp(Schedule schedule) {
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

  /** Votes, shuffles and barriers bring together what branches parted. */
  @ParameterizedTest
  @EnumSource(Schedule.class)
  void divergenceThenCollectives(Schedule schedule) {
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
  void oneSeedGivesOneOrder() {
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
  void threadsThatGoRoundForEverAreNamed() {
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
            "goes round a loop for ever with lanes 0xffffffff; in 32768 jumps backward no"
                + " thread stored anything, passed a barrier or ended");
    assertThat(reports.getLast()).contains("with lanes 0x000000ff");
  }
}
