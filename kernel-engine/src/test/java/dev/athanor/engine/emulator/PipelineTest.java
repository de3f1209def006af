package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.DeviceException.KernelFault;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.TensorMap;
import dev.athanor.engine.device.TensorMap.Element;
import dev.athanor.engine.device.TensorMap.SwizzleMode;
import dev.athanor.engine.emulator.SampleRig.Way;
import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.emulator.options.Schedule;
import dev.athanor.testing.TestTier;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Errors in a pipeline's protocol are visible, as a wrong result or a fault. The test changes one
 * line of the warp-specialized sample product, in which six k-blocks pass through a ring of four
 * stages filled by the producers of two blocks.
 */
@Tag(TestTier.THOROUGH_TAG)
class PipelineTest {

  private static final String SAMPLE = "hopper/gemm_ws_128x256x64_c2";
  private static final int M = 256;
  private static final int N = 256;
  private static final int K = 6 * 64;
  private static final float[] A = HopperSamplesTest.integers(M * K, 40);
  private static final float[] B = HopperSamplesTest.integers(N * K, 41);
  private static final short[] C =
      HopperSamplesTest.bfloats(HopperSamplesTest.product(A, B, M, N, K));

  /** The outcome of a run. */
  enum Outcome {
    RIGHT,
    WRONG_NUMBER,
    FAULT
  }

  /**
   * A mutation and the outcome that reveals it under some timing.
   *
   * @param from a pattern of the replaced text
   * @param outcome {@code RIGHT} if ptxas repairs the mutation, so that only the sanitizer reveals
   *     it
   */
  record Broken(String what, Pattern from, String to, Outcome outcome) {
    String text() {
      var text = SampleRig.text(SAMPLE);
      var changed = from.matcher(text).replaceAll(to);
      assertThat(changed).isNotEqualTo(text);
      return changed;
    }

    @Override
    public String toString() {
      return what;
    }
  }

  private static Broken without(String what, String line, Outcome outcome) {
    return new Broken(what, Pattern.compile(line, Pattern.LITERAL), "", outcome);
  }

  private static Broken with(String what, String from, String to, Outcome outcome) {
    return new Broken(what, Pattern.compile(from), to, outcome);
  }

  static Stream<Broken> changes() {
    return Stream.of(
        without(
            "consumers do not wait until a stage is full",
            "CW: mbarrier.try_wait.parity.shared::cta.b64 %p2,[%r26],%r13; @!%p2 bra CW;",
            Outcome.FAULT),
        without(
            "producers do not wait until a stage is empty",
            "PW: mbarrier.try_wait.parity.shared::cta.b64 %p2,[%r25],%r13; @!%p2 bra PW;",
            Outcome.FAULT),
        without(
            "a stage is given back before its product is done",
            "wgmma.wait_group.sync.aligned 1;",
            Outcome.WRONG_NUMBER),
        without(
            "sums are used before the products are done",
            "wgmma.wait_group.sync.aligned 0;",
            Outcome.RIGHT),
        without(
            "a tile is stored while an earlier one is still read",
            " @%p6 cp.async.bulk.wait_group.read 1;",
            Outcome.WRONG_NUMBER),
        with(
            "the other block's half of B is not announced",
            "(\\[%r26\\]),49152",
            "$1,32768",
            Outcome.WRONG_NUMBER),
        with(
            "only a block's own consumers are expected to empty a stage",
            "(\\[%r9\\+\\d+\\]),4",
            "$1,2",
            Outcome.FAULT),
        with(
            "more consumers are expected to empty a stage than there are",
            "(\\[%r9\\+\\d+\\]),4",
            "$1,8",
            Outcome.FAULT),
        with(
            "a producer waits for the wrong phase at first",
            "mov.u32 %r13,1;",
            "mov.u32 %r13,0;",
            Outcome.FAULT));
  }

  private static Outcome run(Way way, String text, Sanitize sanitize) {
    try (var rig = new SampleRig(way, text, sanitize)) {
      var c = rig.buffer(new short[M * N]);
      rig.run(
          "gemm_ws",
          Dim3.of(2),
          Dim3.of(384),
          229440,
          Argument.of(map(M, K, 128), rig.buffer(HopperSamplesTest.bfloats(A))),
          Argument.of(map(N, K, 128), rig.buffer(HopperSamplesTest.bfloats(B))),
          Argument.of(map(M, N, 64), c),
          1,
          1,
          K / 64);
      return Arrays.equals(rig.shorts(c), C) ? Outcome.RIGHT : Outcome.WRONG_NUMBER;
    } catch (KernelFault fault) {
      return Outcome.FAULT;
    }
  }

  private static TensorMap map(int rows, int columns, int boxRows) {
    return TensorMap.matrix(Element.BF16, rows, columns, boxRows, 64)
        .withSwizzle(SwizzleMode.BYTES_128);
  }

  private static Map<AsyncTiming, Outcome> outcomes(String text, Sanitize sanitize) {
    var all = new EnumMap<AsyncTiming, Outcome>(AsyncTiming.class);
    for (var timing : AsyncTiming.values()) {
      all.put(timing, run(new Way(SAMPLE, Schedule.CONVERGING, timing), text, sanitize));
    }
    return all;
  }

  @Test
  void correctPipelinePassesInAllTimings() {
    assertThat(outcomes(SampleRig.text(SAMPLE), Sanitize.FULL).values())
        .containsOnly(Outcome.RIGHT);
  }

  @ParameterizedTest
  @MethodSource("changes")
  void brokenPipelineFailsInSomeTiming(Broken broken) {
    var outcomes = assertThat(outcomes(broken.text(), Sanitize.OFF).values());
    if (broken.outcome == Outcome.RIGHT) {
      outcomes.containsOnly(Outcome.RIGHT);
    } else {
      outcomes.contains(broken.outcome);
    }
  }

  @ParameterizedTest
  @MethodSource("changes")
  void sanitizerReportsABrokenPipelineInEachTiming(Broken broken) {
    assertThat(outcomes(broken.text(), Sanitize.FULL).values()).containsOnly(Outcome.FAULT);
  }
}
