package dev.athanor.engine.emulator.memory;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.Rig;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import dev.athanor.engine.emulator.options.EmulatorOptions.Execution;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Loads, stores and asynchronous copies. */
@ParameterizedClass
@EnumSource(
    value = Execution.class,
    names = {"INTERPRETED", "COMPILED"})
class MemoryTest {

  private static final int POISON = Registers.POISON;

  private final EmulatorOptions options;
  private final Rig rig;

  MemoryTest(Execution execution) {
    options = Rig.options(execution);
    rig = new Rig(options);
  }

  @AfterEach
  void close() {
    rig.close();
  }

  private static int[] each(int threads, IntUnaryOperator value) {
    return IntStream.range(0, threads).map(value).toArray();
  }

  @Test
  void freshMemoryIsPoisoned() {
    try (var rig = Rig.unwatched();
        var fresh = rig.device().allocate(4096)) {
      assertThat(rig.read(fresh)).containsOnly(POISON);
      assertThat(rig.run("ld.shared.b32 %r5, [tile+64];\nst.global.b32 [%rd2], %r5;\n", 2, 32))
          .containsOnly(POISON);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {5, 64, 100})
  void vectorsOfFour(int threads) {
    var body =
        """
        mul.wide.u32 %rd5, %r0, 16; add.u64 %rd6, %rd1, %rd5; add.u64 %rd7, %rd0, %rd5;
        ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%rd6];
        shl.b32 %r5, %r0, 4;
        st.shared.v4.f32 [%r5], {%f3, %f2, %f1, %f0};
        ld.shared.v4.u32 {%r6, %r7, %r8, %r9}, [%r5];
        st.global.v4.b32 [%rd7], {%r6, %r7, %r8, %r9};
        """;
    check(body, threads, 4, i -> 4 * (i / 4) + 3 - i % 4);
  }

  @Test
  void vectorsOfTwo() {
    var body =
        """
        mul.wide.u32 %rd5, %r0, 8; add.u64 %rd6, %rd1, %rd5; add.u64 %rd7, %rd0, %rd5;
        ld.global.v2.u32 {%r5, %r6}, [%rd6];
        st.global.v2.u32 [%rd7], {%r6, %r5};
        """;
    check(body, 100, 2, i -> i ^ 1);
  }

  @Test
  void wordsOf64Bits() {
    var body =
        """
        mul.wide.u32 %rd5, %r0, 8; add.u64 %rd6, %rd1, %rd5; add.u64 %rd7, %rd0, %rd5;
        ld.global.f64 %fd0, [%rd6];
        mov.b64 %rd8, %fd0;
        mov.b64 {%r5, %r6}, %rd8;
        mov.b64 %rd8, {%r6, %r5};
        st.global.u64 [%rd7], %rd8;
        """;
    check(body, 100, 2, i -> i ^ 1);
  }

  /** Each thread copies some words; checks that {@code out[i]} is {@code in[source(i)]}. */
  private void check(String body, int threads, int words, IntUnaryOperator source) {
    var values = each(words * threads, i -> i * 12_345 + 1);
    try (var out = rig.ints(new int[words * threads]);
        var in = rig.ints(values)) {
      rig.run(body, Dim3.of(1), Dim3.of(threads), out, in, 0);
      assertThat(rig.read(out)).isEqualTo(each(words * threads, i -> values[source.applyAsInt(i)]));
    }
  }

  @Test
  void narrowLoadsExtendByType() {
    var in = each(40, i -> i % 2 == 0 ? 0x1234_80FF : 0x7F01);
    assertThat(rig.run(narrow("s8"), 1, 40, in)).isEqualTo(each(40, i -> i % 2 == 0 ? -1 : 1));
    assertThat(rig.run(narrow("u8"), 1, 40, in)).isEqualTo(each(40, i -> i % 2 == 0 ? 255 : 1));
    assertThat(rig.run(narrow("s16"), 1, 40, in))
        .isEqualTo(each(40, i -> i % 2 == 0 ? (short) 0x80FF : 0x7F01));
    assertThat(rig.run(narrow("u16"), 1, 40, in))
        .isEqualTo(each(40, i -> i % 2 == 0 ? 0x80FF : 0x7F01));
  }

  private static String narrow(String type) {
    return """
    ld.global.%s %%rs0, [%%rd3];
    cvt.%s32.%s16 %%r5, %%rs0;
    st.global.u32 [%%rd2], %%r5;
    """
        .formatted(type, type.charAt(0), type.charAt(0));
  }

  @Test
  void narrowStoresKeepNeighbors() {
    var body =
        """
        mov.u32 %r5, 287454020;
        st.global.u32 [%rd2], %r5;
        cvt.u16.u32 %rs0, %r0;
        st.global.u8 [%rd2+1], %rs0;
        st.global.u16 [%rd2+2], %rs0;
        """;
    assertThat(rig.run(body, 1, 40)).isEqualTo(each(40, i -> (i << 16) | (i << 8) | 0x44));
  }

  @Test
  void lanesLoadFromSeveralBuffers() {
    var body =
        """
        and.b32 %r5, %r0, 1;
        setp.eq.u32 %p0, %r5, 0;
        selp.u64 %rd5, %rd2, %rd3, %p0;
        mov.u32 %r6, 5;
        st.global.u32 [%rd2], %r6;
        ld.global.u32 %r7, [%rd5];
        st.global.u32 [%rd2], %r7;
        """;
    assertThat(rig.run(body, 1, 64, each(64, i -> 100 + i)))
        .isEqualTo(each(64, i -> i % 2 == 0 ? 5 : 100 + i));
  }

  @Test
  void loadsCanOverwriteTheirAddress() {
    var body =
        """
        shl.b32 %r5, %r0, 2;
        add.u32 %r6, %r5, 512;
        st.shared.u32 [%r5], %r6;
        st.shared.u32 [%r6], %r0;
        ld.shared.u32 %r5, [%r5];
        ld.shared.u32 %r5, [%r5];
        st.global.u32 [%rd2], %r5;
        """;
    assertThat(rig.run(body, 1, 64)).isEqualTo(each(64, i -> i));
  }

  private static final String TWO_GROUPS =
      """
      shl.b32 %r5, %r0, 4;
      mul.wide.u32 %rd5, %r0, 16; add.u64 %rd5, %rd5, %rd1;
      cp.async.cg.shared.global [%r5], [%rd5], 16;
      cp.async.commit_group;
      cp.async.ca.shared.global [%r5+2048], [%rd5+8], 8, 4;
      cp.async.commit_group;
      WAIT
      ld.shared.u32 %r6, [%r5+12];
      ld.shared.u32 %r7, [%r5+2048];
      ld.shared.u32 %r8, [%r5+2052];
      mul.lo.u32 %r9, %r0, 3; mul.wide.u32 %rd6, %r9, 4; add.u64 %rd6, %rd6, %rd0;
      st.global.u32 [%rd6], %r6;
      st.global.u32 [%rd6+4], %r7;
      st.global.u32 [%rd6+8], %r8;
      """;

  /**
   * Returns what each of 64 threads reads: the first group's last word, and both words of the
   * second.
   */
  private static int[] copied(EmulatorOptions options, String wait) {
    try (var rig = new Rig(options);
        var out = rig.ints(new int[192]);
        var in = rig.ints(each(256, i -> 1000 + i))) {
      rig.run(TWO_GROUPS.replace("WAIT", wait), Dim3.of(1), Dim3.of(64), out, in, 0);
      return rig.read(out);
    }
  }

  private static int[] expected(boolean first, boolean second) {
    return each(
        192,
        i ->
            switch (i % 3) {
              case 0 -> first ? 1000 + 4 * (i / 3) + 3 : POISON;
              case 1 -> second ? 1000 + 4 * (i / 3) + 2 : POISON;
              default -> second ? 0 : POISON;
            });
  }

  @ParameterizedTest
  @EnumSource(AsyncTiming.class)
  void asyncCopiesCompleteAndZeroFill(AsyncTiming timing) {
    var options = EmulatorOptions.DEFAULT.withAsyncTiming(timing);
    assertThat(copied(options, "cp.async.wait_all;")).isEqualTo(expected(true, true));
    assertThat(copied(options, "cp.async.wait_group 0;")).isEqualTo(expected(true, true));
  }

  @Test
  void lateCopiesRevealAMissingWait() {
    var late = EmulatorOptions.DEFAULT.withSanitize(Sanitize.OFF).withAsyncTiming(AsyncTiming.LAZY);
    assertThat(copied(late, "")).isEqualTo(expected(false, false));
    assertThat(copied(late, "cp.async.wait_group 2;")).isEqualTo(expected(false, false));
    assertThat(copied(late, "cp.async.wait_group 1;")).isEqualTo(expected(true, false));
    assertThat(copied(late.withAsyncTiming(AsyncTiming.EAGER), "")).isEqualTo(expected(true, true));
  }

  @Test
  void threadsWaitOnlyForTheirCopies() {
    var body =
        """
        shl.b32 %r5, %r0, 2;
        cp.async.ca.shared.global [%r5], [%rd3], 4;
        setp.lt.u32 %p0, %r0, 8;
        @%p0 cp.async.wait_all;
        ld.shared.u32 %r6, [%r5];
        st.global.u32 [%rd2], %r6;
        """;
    try (var rig = Rig.unwatched()) {
      assertThat(rig.run(body, 1, 32, each(32, i -> i + 1)))
          .isEqualTo(each(32, i -> i < 8 ? i + 1 : POISON));
    }
  }

  @Test
  void copiesOfExitedThreadsComplete() {
    var body =
        """
        shl.b32 %r5, %r0, 2;
        setp.ge.u32 %p0, %r0, 32;
        @%p0 cp.async.ca.shared.global [%r5], [%rd3], 4;
        @%p0 ret;
        bar.sync 0;
        ld.shared.u32 %r6, [%r5+128];
        st.global.u32 [%rd2], %r6;
        """;
    try (var rig = Rig.unwatched()) {
      assertThat(rig.run(body, 1, 64, each(64, i -> i + 1)))
          .isEqualTo(each(64, i -> i < 32 ? i + 33 : 0));
    }
  }
}
