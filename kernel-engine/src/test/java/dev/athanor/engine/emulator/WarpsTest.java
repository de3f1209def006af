package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Execution;
import dev.athanor.engine.layout.Fragment;
import dev.athanor.engine.layout.Fragments;
import java.util.Arrays;
import java.util.Random;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** Warp-level instructions. */
@ParameterizedClass
@EnumSource(
    value = Execution.class,
    names = {"INTERPRETED", "COMPILED"})
class WarpsTest {

  private final EmulatorOptions options;
  private final Rig rig;

  WarpsTest(Execution execution) {
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
  void allShuffleModes() {
    assertThat(rig.run(shuffle("down", 4, 31), 1, 64))
        .isEqualTo(each(64, i -> i % 32 + 4 < 32 ? 1000 + i + 4 : i));
    assertThat(rig.run(shuffle("up", 3, 0), 1, 64))
        .isEqualTo(each(64, i -> i % 32 >= 3 ? 1000 + i - 3 : i));
    assertThat(rig.run(shuffle("bfly", 16, 31), 1, 64)).isEqualTo(each(64, i -> 1000 + (i ^ 16)));
    assertThat(rig.run(shuffle("idx", 5, 31), 1, 64))
        .isEqualTo(each(64, i -> 1000 + i / 32 * 32 + 5));
    // in segments of 8
    assertThat(rig.run(shuffle("down", 2, (24 << 8) | 31), 1, 32))
        .isEqualTo(each(32, i -> i % 8 + 2 < 8 ? 1000 + i + 2 : i));
  }

  /** Adds 1000 to a value from a lane in range. */
  private static String shuffle(String mode, int distance, int clamp) {
    return """
    shfl.sync.%s.b32 %%r5|%%p0, %%r0, %d, %d, -1;
    @%%p0 add.u32 %%r5, %%r5, 1000;
    st.global.u32 [%%rd2], %%r5;
    """
        .formatted(mode, distance, clamp);
  }

  @Test
  void warpSumByShuffles() {
    var body =
        """
        ld.global.u32 %r5, [%rd3];
        mov.u32 %r6, 16;
        STEP:
        shfl.sync.bfly.b32 %r7, %r5, %r6, 31, -1;
        add.u32 %r5, %r5, %r7;
        shr.u32 %r6, %r6, 1;
        setp.ne.u32 %p0, %r6, 0;
        @%p0 bra STEP;
        st.global.u32 [%rd2], %r5;
        """;
    var in = each(64, i -> 3 * i + 1);
    int low = Arrays.stream(in, 0, 32).sum();
    int high = Arrays.stream(in, 32, 64).sum();
    assertThat(rig.run(body, 1, 64, in)).isEqualTo(each(64, i -> i < 32 ? low : high));
  }

  @Test
  void halfWarpsShuffleSeparately() {
    var body =
        """
        setp.ge.u32 %p0, %r0, 16;
        @%p0 bra HIGH;
        shfl.sync.idx.b32 %r5, %r0, 3, 31, 65535;
        bra DONE;
        HIGH:
        shfl.sync.idx.b32 %r5, %r0, 20, 31, -65536;
        add.u32 %r5, %r5, 100;
        DONE:
        st.global.u32 [%rd2], %r5;
        """;
    assertThat(rig.run(body, 1, 32)).isEqualTo(each(32, i -> i < 16 ? 3 : 120));
  }

  @Test
  void divergedLanesMeetAtAShuffle() {
    // odd lanes take a longer path; all lanes exchange with their neighbor at the end
    var body =
        """
        mov.u32 %r5, %r0;
        and.b32 %r6, %r0, 1;
        setp.eq.u32 %p0, %r6, 0;
        @%p0 bra EXCHANGE;
        mov.u32 %r7, 0;
        LOOP:
        add.u32 %r5, %r5, 10;
        add.u32 %r7, %r7, 1;
        setp.lt.u32 %p1, %r7, %r0;
        @%p1 bra LOOP;
        EXCHANGE:
        shfl.sync.bfly.b32 %r8, %r5, 1, 31, -1;
        st.global.u32 [%rd2], %r8;
        """;
    assertThat(rig.run(body, 1, 32)).isEqualTo(each(32, i -> i % 2 == 0 ? 11 * i + 11 : i - 1));
  }

  @Test
  void exitedThreadsAreNotAwaited() {
    var body =
        """
        setp.ge.u32 %p0, %r0, 20;
        @%p0 bra LAST;
        shfl.sync.bfly.b32 %r5, %r0, 1, 31, -1;
        st.global.u32 [%rd2], %r5;
        ret;
        LAST:
        setp.lt.u32 %p1, %r0, 30;
        @%p1 ret;
        mov.u32 %r5, 5;
        st.global.u32 [%rd2], %r5;
        """;
    assertThat(rig.run(body, 1, 32)).isEqualTo(each(32, i -> i < 20 ? i ^ 1 : i < 30 ? 0 : 5));
  }

  @Test
  void wholeWarpsCanSkipAnInstruction() {
    var body =
        """
        mov.u32 %r5, 0;
        and.b32 %r6, %r0, 32;
        setp.eq.u32 %p0, %r6, 0;
        @%p0 shfl.sync.bfly.b32 %r5, %r0, 1, 31, -1;
        st.global.u32 [%rd2], %r5;
        """;
    assertThat(rig.run(body, 1, 128)).isEqualTo(each(128, i -> (i & 32) == 0 ? i ^ 1 : 0));
  }

  private static short half(float value) {
    return Float.floatToFloat16(value);
  }

  /**
   * Returns the registers of a fragment of halves: word {@code r} of lane {@code l} is at 32r + l.
   */
  private static int[] words(Fragment fragment, short[] matrix) {
    var words = new int[16 * fragment.elements()];
    for (int lane = 0; lane < 32; lane++) {
      for (int i = 0; i < fragment.elements(); i++) {
        var at = fragment.at(lane, i);
        int bits = matrix[at.row() * fragment.columns() + at.column()] & 0xFFFF;
        words[32 * (i / 2) + lane] |= bits << (16 * (i % 2));
      }
    }
    return words;
  }

  /** Returns integers, whose sum is exact in any order. */
  private static short[] matrix(int elements, long seed) {
    var random = new Random(seed);
    var matrix = new short[elements];
    for (int i = 0; i < elements; i++) {
      matrix[i] = half(random.nextInt(17) - 8);
    }
    return matrix;
  }

  private static float[] product(short[] a, short[] b, float c) {
    var product = new float[16 * 8];
    for (int row = 0; row < 16; row++) {
      for (int column = 0; column < 8; column++) {
        float sum = c;
        for (int k = 0; k < 16; k++) {
          sum += Float.float16ToFloat(a[16 * row + k]) * Float.float16ToFloat(b[8 * k + column]);
        }
        product[8 * row + column] = sum;
      }
    }
    return product;
  }

  private static float[] unpack(int[] words) {
    var matrix = new float[16 * 8];
    for (int lane = 0; lane < 32; lane++) {
      for (int i = 0; i < 4; i++) {
        var at = Fragments.C_16X8.at(lane, i);
        matrix[8 * at.row() + at.column()] = Float.intBitsToFloat(words[32 * i + lane]);
      }
    }
    return matrix;
  }

  private static final String MULTIPLY =
      """
      mov.f32 %f0, 0f40A00000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;
      mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
        {%f4, %f5, %f6, %f7}, {%r10, %r11, %r12, %r13}, {%r14, %r15}, {%f0, %f1, %f2, %f3};
      st.global.f32 [%rd2], %f4;
      st.global.f32 [%rd2+128], %f5;
      st.global.f32 [%rd2+256], %f6;
      st.global.f32 [%rd2+384], %f7;
      """;

  @Test
  void tensorCoresMultiplyFragments() {
    var a = matrix(256, 1);
    var b = matrix(128, 2);
    var in =
        IntStream.concat(
                Arrays.stream(words(Fragments.A_16X16, a)),
                Arrays.stream(words(Fragments.B_16X8, b)))
            .toArray();
    var body =
        """
        ld.global.b32 %r10, [%rd3]; ld.global.b32 %r11, [%rd3+128];
        ld.global.b32 %r12, [%rd3+256]; ld.global.b32 %r13, [%rd3+384];
        ld.global.b32 %r14, [%rd3+512]; ld.global.b32 %r15, [%rd3+640];
        """
            + MULTIPLY;
    assertThat(multiply(body, in)).isEqualTo(product(a, b, 5));
  }

  private float[] multiply(String body, int[] in) {
    try (var out = rig.ints(new int[128]);
        var input = rig.ints(in)) {
      rig.run(body, Dim3.of(1), Dim3.of(32), out, input, 0);
      return unpack(rig.read(out));
    }
  }

  @Test
  void ldmatrixLoadsFragments() {
    // a is 16x16 at the start, b 16x8 after it, both row-major: b's fragment is of its transpose
    var a = matrix(256, 3);
    var b = matrix(128, 4);
    var in = new int[192];
    for (int i = 0; i < 384; i++) {
      short value = i < 256 ? a[i] : b[i - 256];
      in[i / 2] |= (value & 0xFFFF) << (16 * (i % 2));
    }
    var body =
        """
        shl.b32 %r5, %r0, 2;
        ld.global.b32 %r6, [%rd3]; st.shared.b32 [%r5], %r6;
        ld.global.b32 %r6, [%rd3+128]; st.shared.b32 [%r5+128], %r6;
        ld.global.b32 %r6, [%rd3+256]; st.shared.b32 [%r5+256], %r6;
        ld.global.b32 %r6, [%rd3+384]; st.shared.b32 [%r5+384], %r6;
        ld.global.b32 %r6, [%rd3+512]; st.shared.b32 [%r5+512], %r6;
        ld.global.b32 %r6, [%rd3+640]; st.shared.b32 [%r5+640], %r6;
        bar.sync 0;
        and.b32 %r7, %r0, 15; shl.b32 %r7, %r7, 5;
        shr.u32 %r8, %r0, 4; shl.b32 %r8, %r8, 4;
        add.u32 %r7, %r7, %r8;
        ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r7];
        and.b32 %r9, %r0, 15; shl.b32 %r9, %r9, 4;
        ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r14, %r15}, [%r9+512];
        """
            + MULTIPLY;
    assertThat(multiply(body, in)).isEqualTo(product(a, b, 5));
  }

  @Test
  void ldmatrixLoadsOneMatrix() {
    var in = each(32, i -> (2 * i) | ((2 * i + 1) << 16)); // element (r, c) is 8r + c
    var body =
        """
        shl.b32 %%r5, %%r0, 2;
        ld.global.b32 %%r6, [%%rd3]; st.shared.b32 [%%r5], %%r6;
        bar.sync 0;
        and.b32 %%r7, %%r0, 7; shl.b32 %%r7, %%r7, 4;
        ldmatrix.sync.aligned.m8n8.x1%s.shared.b16 {%%r8}, [%%r7];
        st.global.b32 [%%rd2], %%r8;
        """;
    assertThat(rig.run(body.formatted(""), 1, 32, in)).isEqualTo(in);
    assertThat(rig.run(body.formatted(".trans"), 1, 32, in))
        .isEqualTo(each(32, i -> (16 * (i % 4) + i / 4) | ((16 * (i % 4) + 8 + i / 4) << 16)));
  }
}
