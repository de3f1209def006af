package dev.athanor.ops.attention.warpgroup;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import dev.athanor.engine.emulator.options.Schedule;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Problem;
import dev.athanor.ops.Runner;
import dev.athanor.ops.Tensors;
import dev.athanor.ops.TestDevices;
import dev.athanor.testing.TestTier;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Masks of attention by blocks whose warpgroups have roles. */
class WarpgroupMaskTest {

  private static final String PLAIN =
      "q=f16[140,64] k=f16[200,64] v=f16[200,64] mask=%s[140,200] withLse=true";

  private static Problem problem(String text) {
    return WarpgroupAttentionTest.problem(text);
  }

  private static Map<String, HostTensor> draw(Problem problem) {
    return new HashMap<>(problem.draw(new SplittableRandom(TestTier.seed())));
  }

  private static void write(HostTensor tensor, long at, double value) {
    tensor.type().dtype().write(tensor.data(), at, value);
  }

  private static void hide(HostTensor mask, long at) {
    write(mask, at, mask.type().dtype() == DType.BOOL ? 0 : Double.NEGATIVE_INFINITY);
  }

  /** Returns inputs with keys that the mask hides; the last one is NaN, and so is its value. */
  private static Map<String, HostTensor> drawHidden(Problem problem) {
    var inputs = draw(problem);
    var mask = Tensors.get(inputs, "mask");
    int keys = (int) mask.type().shape().extent(-1);
    long elements = mask.type().shape().elements();
    for (long at = 0; at < elements; at++) {
      boolean ofLastRow = at >= elements - keys && elements > keys;
      if (at % 3 == 0 || at % keys == keys - 1 || ofLastRow) {
        hide(mask, at);
      }
    }
    for (var name : List.of("k", "v")) {
      var tensor = Tensors.get(inputs, name);
      long columns = tensor.type().shape().extent(-1);
      for (long at = 0; at < tensor.type().shape().elements(); at++) {
        if (at / columns % keys == keys - 1) {
          write(tensor, at, Double.NaN);
        }
      }
    }
    return inputs;
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "q=f16[140,64] k=f16[200,64] v=f16[200,64] mask=bool[140,200] withLse=true",
        "q=bf16[2,4,70,72] k=bf16[2,2,131,72] v=bf16[2,2,131,40] mask=f32[2,1,70,131] causal=true"
      })
  void matchesTheReference(String text) {
    var problem = problem(text);
    assertThat(
            WarpgroupAttentionTest.verify(
                problem, drawHidden(problem), WarpgroupAttentionTest.OPTIONS))
        .isEqualTo(1);
  }

  /** All dtypes, broadcasts of batches, heads and queries, and odd numbers of keys. */
  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @ValueSource(
      strings = {
        "q=f16[65,16] k=f16[1,16] v=f16[1,16] mask=f16[65,1] withLse=true",
        "q=f16[130,64] k=f16[301,64] v=f16[301,64] mask=bool[1,301] window=90",
        "q=f16[2,4,97,128] k=f16[2,1,66,128] v=f16[2,1,66,128] mask=f16[4,97,66] softcap=2 scale=0.3 withLse=true",
        "q=bf16[2,4,67,64] k=bf16[2,4,129,64] v=bf16[2,4,129,64] mask=bf16[2,4,1,129] causal=true",
        "q=f16[3,70,128] k=f16[3,127,128] v=f16[3,127,128] mask=bool[3,70,127] alignment=top-left causal=true window=60 withLse=true",
        "q=bf16[1,2,140,192] k=bf16[1,2,100,192] v=bf16[1,2,100,128] mask=f32[2,1,100] softcap=9 causal=true window=50 withLse=true",
        "q=f16[66,256] k=f16[97,256] v=f16[97,256] mask=f16[66,97] causal=true withLse=true",
        "q=f16[66,208] k=f16[98,208] v=f16[98,208] mask=bool[66,98]"
      })
  void awkwardShapesMatchTheReference(String text) {
    matchesTheReference(text);
  }

  @Test
  @Tag(TestTier.THOROUGH_TAG)
  void manyKeysMatchTheReference() {
    matchesTheReference("q=f16[65,64] k=f16[4099,64] v=f16[4099,64] mask=f32[65,4099] softcap=5");
  }

  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @EnumSource
  void allTimingsAndSchedulesMatchTheReference(AsyncTiming timing) {
    var problem =
        problem(
            "q=f16[1,2,150,64] k=f16[1,1,330,64] v=f16[1,1,330,64] mask=f16[150,330] softcap=2");
    var inputs = drawHidden(problem);
    for (var schedule : Schedule.values()) {
      var options =
          WarpgroupAttentionTest.OPTIONS
              .withAsyncTiming(timing)
              .withSchedule(schedule)
              .withSeed(TestTier.seed());
      assertThat(WarpgroupAttentionTest.verify(problem, inputs, options)).isPositive();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"bool", "f16", "f32"})
  void hiddenRowsAreZero(String dtype) {
    var problem = problem(PLAIN.formatted(dtype));
    var inputs = draw(problem);
    IntStream.range(0, 200).forEach(key -> hide(Tensors.get(inputs, "mask"), 70 * 200 + key));
    for (var plan : WarpgroupAttentionTest.plans(problem)) {
      var outputs = Runner.run(plan, inputs);
      assertThat(Tensors.get(outputs, "lse").get(70)).isEqualTo(Double.NEGATIVE_INFINITY);
      for (int c = 0; c < 64; c++) {
        assertThat(Tensors.get(outputs, "out").get(70 * 64 + c)).isZero();
      }
      assertThat(Tensors.get(outputs, "lse").get(71)).isFinite();
    }
  }

  /** Only the queries whose mask shows an infinite value get it, and the row of a NaN is NaN. */
  @Test
  void specialNumbersReachTheirQueries() {
    var problem = problem(PLAIN.formatted("f32"));
    var inputs = draw(problem);
    write(Tensors.get(inputs, "v"), 150 * 64 + 7, Double.NEGATIVE_INFINITY);
    var mask = Tensors.get(inputs, "mask");
    for (int row = 0; row < 140; row++) {
      if (row % 3 > 0) {
        hide(mask, row * 200 + 150);
      }
    }
    write(mask, 100 * 200 + 20, Double.NaN);
    for (var plan : WarpgroupAttentionTest.plans(problem)) {
      var out = Tensors.get(Runner.run(plan, inputs), "out");
      for (int row = 0; row < 140; row++) {
        assertThat(Double.isInfinite(out.get(row * 64 + 7))).isEqualTo(row % 3 == 0);
        assertThat(Double.isNaN(out.get(row * 64 + 8))).isEqualTo(row == 100);
      }
    }
  }

  /** On an H200, warpgroups are predicted to be the fastest with a softcap or a mask, too. */
  @ParameterizedTest
  @ValueSource(strings = {"softcap=50", "mask=f16[4096,4096]", "softcap=50 mask=bool[1,4096]"})
  void areTheFirstChoice(String attributes) {
    var plan =
        problem(
                "q=f16[1,16,4096,128] k=f16[1,16,4096,128] v=f16[1,16,4096,128] causal=true "
                    + attributes)
            .plans(TestDevices.H200)
            .getFirst();
    assertThat(plan.kernel()).contains("_groups_");
  }
}
