package dev.athanor.engine.analysis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.text.Parser;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LivenessTest {

  @Test
  void valuesLiveFromWriteToLastRead() {
    var kernel =
        kernel(
            """
            mov.s32 %r0, 1;
            mov.s32 %r1, 2;
            add.s32 %r2, %r0, %r1;
            add.s32 %r2, %r2, %r1;
            st.shared.s32 [tile], %r2;
            ret;
            """);
    assertThat(live(kernel))
        .containsExactly(
            List.of(),
            List.of("%r0"),
            List.of("%r0", "%r1"),
            List.of("%r1", "%r2"),
            List.of("%r2"),
            List.of());
    assertThat(Liveness.of(kernel).mostWords()).isEqualTo(2);
  }

  @Test
  void loopInputsLiveThroughoutTheLoop() {
    var kernel =
        kernel(
            """
            mov.s32 %r0, 0;
            mov.s32 %r1, 5;
            $top:
            add.s32 %r0, %r0, %r1;
            setp.lt.s32 %p0, %r0, 100;
            @%p0 bra $top;
            st.shared.s32 [tile], %r0;
            ret;
            """);
    assertThat(live(kernel).get(3)).containsExactly("%r0", "%r1");
    assertThat(live(kernel).get(5)).containsExactlyInAnyOrder("%r0", "%r1", "%p0");
    assertThat(live(kernel).get(6)).containsExactly("%r0");
  }

  @Test
  void guardedWritesKeepTheOldValueAlive() {
    var kernel =
        kernel(
            """
            mov.s32 %r0, 0;
            setp.eq.s32 %p0, %r0, 0;
            @%p0 mov.s32 %r0, 1;
            st.shared.s32 [tile], %r0;
            ret;
            """);
    assertThat(live(kernel).get(2)).containsExactlyInAnyOrder("%r0", "%p0");
  }

  @Test
  void accumulatorsLiveUntilTheirProduct() {
    for (var scale : List.of("0", "1", "%p0")) {
      var text =
          """
          .reg .f32 %f<4>;
          mov.f32 %f0, 0f3F800000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;
          wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16
              {%f0, %f1, %f2, %f3}, %rd0, %rd0, SCALE, 1, 1, 0, 0;
          ret;
          """;
      var live = live(kernel(text.replace("SCALE", scale))).get(4);
      if (scale.equals("0")) {
        assertThat(live).containsExactly("%rd0");
      } else {
        assertThat(live).contains("%f0", "%f1", "%f2", "%f3", "%rd0");
      }
    }
  }

  @Test
  void predicatesTakeNoRegistersAndWideValuesTwo() {
    var kernel =
        kernel(
            """
            mov.b64 %rd0, 7;
            setp.eq.s64 %p0, %rd0, 7;
            @%p0 st.shared.b64 [tile], %rd0;
            ret;
            """);
    assertThat(IntStream.range(0, 4).map(Liveness.of(kernel)::words)).containsExactly(0, 2, 2, 0);
  }

  /** Computes a number of values before using any of them. */
  @ParameterizedTest
  @ValueSource(ints = {1, 63, 64, 65, 300})
  void pressureIsTheMaximumOfLiveRegisters(int values) {
    var makes =
        IntStream.range(0, values)
            .mapToObj("mov.u32 %%a%d, %%tid.x;\n"::formatted)
            .collect(Collectors.joining());
    var reads =
        IntStream.range(0, values)
            .mapToObj("st.shared.u32 [tile], %%a%d;\n"::formatted)
            .collect(Collectors.joining());
    var declared = ".reg .b32 %%a<%d>;\n".formatted(values);
    assertThat(Liveness.of(kernel(declared + makes + reads + "ret;\n")).mostWords())
        .isEqualTo(values);
    // consecutive values share a register
    var each =
        IntStream.range(0, values)
            .mapToObj(
                i -> "mov.u32 %%a%d, %%tid.x;\nst.shared.u32 [tile], %%a%d;\n".formatted(i, i))
            .collect(Collectors.joining());
    assertThat(Liveness.of(kernel(declared + each + "ret;\n")).mostWords()).isEqualTo(1);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 7, 8, 9})
  void predicatesAreCountedSeparately(int predicates) {
    var makes =
        IntStream.range(0, predicates)
            .mapToObj("setp.eq.u32 %%q%d, %%r0, %1$d;\n"::formatted)
            .collect(Collectors.joining());
    var uses =
        IntStream.range(0, predicates)
            .mapToObj("@%%q%d st.shared.u32 [tile], %%r0;\n"::formatted)
            .collect(Collectors.joining());
    var start = ".reg .pred %%q<%d>;\nmov.u32 %%r0, %%tid.x;\n".formatted(predicates);
    assertThat(Liveness.of(kernel(start + makes + uses + "ret;\n")).mostPredicates())
        .isEqualTo(predicates);
    assertThat(Liveness.of(kernel(start + makes + "ret;\n")).mostPredicates()).isZero();
  }

  private static List<List<String>> live(Kernel kernel) {
    var liveness = Liveness.of(kernel);
    return IntStream.range(0, kernel.body().size())
        .mapToObj(i -> liveness.before(i).stream().map(Register::name).toList())
        .toList();
  }

  private static Kernel kernel(String body) {
    var text =
        """
        .version 7.4
        .target sm_80
        .visible .entry k()
        {
        .shared .align 8 .b8 tile[8];
        .reg .b32 %r<4>;
        .reg .b64 %rd<4>;
        .reg .pred %p<4>;
        """;
    return Parser.parse(text + body + "}\n", "liveness.ptx").kernels().getFirst();
  }
}
