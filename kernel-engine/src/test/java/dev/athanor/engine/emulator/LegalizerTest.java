package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.legal.Legalizer;
import dev.athanor.engine.ptx.text.Parser;
import java.util.Arrays;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Compares instructions with what replaces them on older targets, bit for bit. */
class LegalizerTest {

  private static final Target VOLTA = new Target(70, false);

  private static final int THREADS = 32;

  /** Words of input per thread. */
  private static final int WORDS = 8;

  /** Loads eight words into %r10 to %r17 and %f10 to %f17; %p1 holds in two of three threads. */
  private static final String LOADS =
      "mul.wide.u32 %rd5, %r0, 32; add.u64 %rd5, %rd1, %rd5;"
          + IntStream.range(0, WORDS)
              .mapToObj(i ->
                  "ld.global.b32 %%r%d, [%%rd5+%d]; mov.b32 %%f%d, %%r%d;"
                      .formatted(10 + i, 4 * i, 10 + i, 10 + i))
              .reduce("", String::concat)
          + "rem.u32 %r9, %r0, 3; setp.ne.u32 %p1, %r9, 0; mov.u32 %r20, 77; mov.f32 %f20, 0f42000000;"
          + "mov.b16 %rs0, 5;";

  private static final String STORE = "st.global.u32 [%rd2], %r20;";

  static Stream<Arguments> conversions() {
    return Stream.of(
            "cvt.rn.bf16.f32 %rs0, %f10; cvt.u32.u16 %r20, %rs0;",
            "@%p1 cvt.rn.bf16.f32 %rs0, %f10; cvt.u32.u16 %r20, %rs0;",
            "cvt.rn.bf16x2.f32 %r20, %f10, %f11;",
            "@!%p1 cvt.rn.bf16x2.f32 %r20, %f10, %f11;",
            "cvt.rn.f16x2.f32 %r20, %f10, %f11;",
            "cvt.rna.tf32.f32 %r20, %f10;",
            "cvt.u16.u32 %rs1, %r10; cvt.rn.f16x2.e4m3x2 %r20, %rs1;",
            "cvt.u16.u32 %rs1, %r10; @%p1 cvt.rn.f16x2.e5m2x2 %r20, %rs1;",
            "fma.rn.bf16x2 %r20, %r10, %r11, %r12;",
            "@%p1 fma.rn.bf16x2 %r20, %r10, %r11, %r12;",
            "max.NaN.f32 %f20, %f10, %f11; mov.b32 %r20, %f20;",
            "@%p1 min.NaN.f32 %f20, %f10, %f11; mov.b32 %r20, %f20;")
        .flatMap(body -> Stream.of(VOLTA, Target.SM_75).map(target -> Arguments.of(body, target)));
  }

  @ParameterizedTest
  @MethodSource("conversions")
  void converts(String body, Target target) {
    var random = new Random(3);
    for (int round = 0; round < 20; round++) {
      var in = random.ints((long) THREADS * WORDS).map(bits -> number(random, bits)).toArray();
      assertThat(run(target, LOADS + body + STORE, in))
          .isEqualTo(run(Target.SM_90, LOADS + body + STORE, in));
    }
  }

  /** Returns random bits, or those of a special or a common number. */
  private static int number(Random random, int bits) {
    int[] special = {
      0,
      0x8000_0000,
      0x7F80_0000,
      0xFF80_0000,
      0x7FC0_0000,
      0x7F80_0001,
      1,
      0x007F_FFFF,
      0x7F7F_FFFF,
      0x3F80_8000,
      0x3F81_8000,
      0x3F80_7FFF,
      0x3F80_3F81,
      0xBF80_3F80,
      0x3380_3380
    };
    return switch (random.nextInt(4)) {
      case 0 -> special[random.nextInt(special.length)];
      case 1 -> Float.floatToRawIntBits((float) random.nextGaussian());
      case 2 -> (bits & 0x807F_807F) | 0x3F00_3F00;
      default -> bits;
    };
  }

  static Stream<Arguments> copies() {
    return Stream.of(
            "cp.async.cg.shared.global [%r21], [%rd5], 16;",
            "@%p1 cp.async.ca.shared.global [%r21], [%rd5], 8;",
            "cp.async.ca.shared.global [%r21], [%rd5+4], 4;",
            "cp.async.cg.shared.global [%r21], [%rd5], 16, %r22;",
            "@%p1 cp.async.cg.shared.global.L2::128B [%r21], [%rd5], 16, %r22;",
            "cp.async.ca.shared.global [%r21+4], [%rd5+12], 4, %r23;",
            "cp.async.cg.shared.global [%r21], [%rd5], 16, %p1;")
        .flatMap(body -> Stream.of(VOLTA, Target.SM_75).map(target -> Arguments.of(body, target)));
  }

  /** Each thread copies to 32 bytes of its own and adds their words. */
  @ParameterizedTest
  @MethodSource("copies")
  void copiesAtOnce(String copy, Target target) {
    var body =
        LOADS
            + """
            mov.u32 %r21, tile; mad.lo.u32 %r21, %r0, 32, %r21;
            rem.u32 %r22, %r0, 17; rem.u32 %r23, %r0, 5;
            mov.u32 %r24, 99;
            st.shared.u32 [%r21], %r24; st.shared.u32 [%r21+4], %r24;
            st.shared.u32 [%r21+8], %r24; st.shared.u32 [%r21+12], %r24;
            """
            + copy
            + """
            cp.async.commit_group; cp.async.wait_group 0; bar.sync 0;
            ld.shared.u32 %r25, [%r21]; ld.shared.u32 %r26, [%r21+4];
            ld.shared.u32 %r27, [%r21+8]; ld.shared.u32 %r28, [%r21+12];
            mul.lo.u32 %r26, %r26, 3; mul.lo.u32 %r27, %r27, 5; mul.lo.u32 %r28, %r28, 7;
            add.u32 %r20, %r25, %r26; add.u32 %r20, %r20, %r27; add.u32 %r20, %r20, %r28;
            """
            + STORE;
    var in = new Random(5).ints((long) THREADS * WORDS).toArray();
    assertThat(run(target, body, in)).isEqualTo(run(Target.SM_90, body, in));
  }

  static Stream<Arguments> loads() {
    return Stream.of("x1", "x2", "x4")
        .flatMap(count -> Stream.of(count, count + ".trans"))
        .map(shape -> {
          int count = shape.charAt(1) - '0';
          var results =
              IntStream.range(0, count)
                  .mapToObj(i -> "%r" + (30 + i))
                  .collect(Collectors.joining(",", "{", "}"));
          return Arguments.of(
              "ldmatrix.sync.aligned.m8n8.%s.shared.b16 %s, [%%r21+16];".formatted(shape, results));
        });
  }

  @ParameterizedTest
  @MethodSource("loads")
  void loadsMatrices(String load) {
    var body =
        LOADS
            + """
            mov.u32 %r22, tile; mad.lo.u32 %r22, %r0, 32, %r22;
            st.shared.v4.u32 [%r22], {%r10,%r11,%r12,%r13};
            st.shared.v4.u32 [%r22+16], {%r14,%r15,%r16,%r17};
            mov.u32 %r23, 30; sub.u32 %r23, %r23, %r0; max.s32 %r23, %r23, 0;
            mov.u32 %r21, tile; mad.lo.u32 %r21, %r23, 32, %r21;
            mov.u32 %r31, 0; mov.u32 %r32, 0; mov.u32 %r33, 0;
            bar.sync 0;
            """
            + load
            + """
            mad.lo.u32 %r30, %r31, 3, %r30; mad.lo.u32 %r30, %r32, 5, %r30;
            mad.lo.u32 %r20, %r33, 7, %r30;
            """
            + STORE;
    var in = new Random(9).ints((long) THREADS * WORDS).toArray();
    assertThat(run(VOLTA, body, in)).isEqualTo(run(Target.SM_90, body, in));
  }

  static Stream<Arguments> products() {
    return Stream.concat(
        turing().map(product -> Arguments.of(product, Target.SM_75)),
        volta().map(product -> Arguments.of(product, VOLTA)));
  }

  private static Stream<String> volta() {
    return Stream.concat(
        turing()
            .filter(product -> !product.contains("4.s4") && !product.contains("f16.f16.f16.f16")),
        Stream.of(
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f20,%f21,%f22,%f23},"
                + " {%r10,%r11,%r12,%r13}, {%r14,%r15}, {%f30,%f30,%f30,%f30};",
            "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f20,%f21,%f22,%f23},"
                + " {%r10,%r11,%r12,%r13}, {%r14,%r15}, {%f30,%f30,%f30,%f30};"));
  }

  private static Stream<String> turing() {
    return Stream.of(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f20,%f21,%f22,%f23},"
            + " {%r10,%r11,%r12,%r13}, {%r14,%r15}, {%f30,%f30,%f30,%f30};",
        "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r30,%r31},"
            + " {%r10,%r11,%r12,%r13}, {%r14,%r15}, {%r29,%r29};",
        "mma.sync.aligned.m16n8k16.row.col.s32.s8.u8.s32 {%r30,%r31,%r32,%r33},"
            + " {%r10,%r11}, {%r14}, {%r29,%r16,%r17,%r29};",
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r30,%r31,%r32,%r33},"
            + " {%r10,%r11,%r12,%r13}, {%r14,%r15}, {%r29,%r16,%r17,%r29};",
        "mma.sync.aligned.m16n8k32.row.col.s32.u4.s4.s32 {%r30,%r31,%r32,%r33},"
            + " {%r10,%r11}, {%r14}, {%r29,%r16,%r17,%r29};",
        "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {%r30,%r31,%r32,%r33},"
            + " {%r10,%r11,%r12,%r13}, {%r14,%r15}, {%r29,%r16,%r17,%r29};",
        // results in the place of factors
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r10,%r11,%r12,%r13},"
            + " {%r10,%r11,%r12,%r13}, {%r14,%r15}, {%r10,%r16,%r17,%r13};"
            + "mov.b32 %r30, %r10; mov.b32 %r31, %r11; mov.b32 %r32, %r12; mov.b32 %r33, %r13;");
  }

  @ParameterizedTest
  @MethodSource("products")
  void multipliesMatrices(String product, Target target) {
    var body =
        LOADS
            + "mov.f32 %f30, 0f40A00000; mov.u32 %r29, 1;"
            + "mov.u32 %r30, 0; mov.u32 %r31, 0; mov.u32 %r32, 0; mov.u32 %r33, 0;"
            + "mov.f32 %f20, 0f00000000; mov.f32 %f21, %f20; mov.f32 %f22, %f20; mov.f32 %f23, %f20;"
            + product
            + """
            cvt.rni.s32.f32 %r34, %f20; cvt.rni.s32.f32 %r35, %f21;
            cvt.rni.s32.f32 %r36, %f22; cvt.rni.s32.f32 %r37, %f23;
            add.u32 %r30, %r30, %r34; mad.lo.u32 %r30, %r35, 3, %r30;
            mad.lo.u32 %r30, %r36, 5, %r30; mad.lo.u32 %r30, %r37, 7, %r30;
            mad.lo.u32 %r30, %r31, 11, %r30; mad.lo.u32 %r30, %r32, 13, %r30;
            mad.lo.u32 %r20, %r33, 17, %r30;
            """
            + STORE;
    var random = new Random(7);
    for (int round = 0; round < 20; round++) {
      // sums of small numbers are exact
      var in = random.ints((long) THREADS * WORDS).map(bits -> factor(product, bits)).toArray();
      assertThat(run(target, body, in)).isEqualTo(run(Target.SM_90, body, in));
    }
  }

  /** Returns random bits for integers, else those of small whole numbers. */
  private static int factor(String product, int bits) {
    int low = (bits & 7) - 4;
    int high = (bits >> 8 & 7) - 4;
    if (product.contains("tf32")) {
      return Float.floatToRawIntBits(low);
    }
    if (product.contains("bf16")) {
      return Float.floatToRawIntBits(high) | Float.floatToRawIntBits(low) >>> 16;
    }
    return product.contains(".f16")
        ? Float.floatToFloat16(high) << 16 | (Float.floatToFloat16(low) & 0xFFFF)
        : bits;
  }

  private static int[] run(Target target, String body, int[] in) {
    try (var rig = new Rig(EmulatorOptions.DEFAULT.withTarget(target))) {
      return Arrays.copyOf(rig.run(body, 1, THREADS, in), THREADS);
    }
  }

  private static Module module(String target, String body) {
    return Parser.parse(
        ".version 7.8 .target %s .address_size 64 .visible .entry k() { .reg .b32 %%r<9>; %s ret; }"
            .formatted(target, body),
        "test.ptx");
  }

  @Test
  void leavesModulesThatTheTargetRuns() {
    var module = module("sm_80", "cp.async.commit_group;");
    assertThat(Legalizer.legalize(module, Target.SM_86)).isSameAs(module);
    // its instructions need no rewriting, but it says that it is for newer devices
    var declared = module("sm_90", "mov.u32 %r0, 1;");
    assertThat(Legalizer.legalize(declared, Target.SM_86)).isSameAs(declared);
  }

  /** PTX 7.4 has no name for sm_89. */
  @Test
  void declaresATargetThatItsVersionKnows() {
    var legal = Legalizer.legalize(module("sm_90", "griddepcontrol.wait;"), Target.SM_89);
    assertThat(legal.version()).isEqualTo(Module.PORTABLE);
    assertThat(legal.target()).isEqualTo(Target.SM_80);
  }

  @Test
  void requiresTheTargetOfWhatHasNoReplacement() {
    var module = module("sm_80", "redux.sync.add.u32 %r0, %r1, -1; cp.async.commit_group;");
    var legal = Legalizer.legalize(module, VOLTA);
    assertThat(legal.target()).isEqualTo(Target.SM_80);
    try (var device = new EmulatedDevice(EmulatorOptions.DEFAULT.withTarget(VOLTA))) {
      assertThatExceptionOfType(DeviceException.LoadFailed.class)
          .isThrownBy(() -> device.load(module, "k"))
          .withMessageContaining("it is for sm_80, the device is sm_70");
    }
  }
}
