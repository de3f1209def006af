package dev.athanor.engine.emulator.step;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.api.Assumptions.abort;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.DeviceException.KernelFault;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Execution;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.emulator.options.Schedule;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.text.Parser;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Vector code gives the results of scalar loops. */
class VectorsTest {

  private static final int WORDS = 1024;
  private static final int SUMS = 18;
  private static final int ROUNDS = 3;

  private static final EmulatorOptions FUSED =
      EmulatorOptions.DEFAULT
          .withWorkers(1)
          .withSanitize(Sanitize.OFF)
          .withExecution(Execution.INTERPRETED);

  /** Only gangs execute fused products, and this schedule forms none. */
  private static final EmulatorOptions PLAIN = FUSED.withSchedule(Schedule.ONE_BY_ONE);

  /** The build runs this class with the vector module, which must then be present. */
  @BeforeAll
  static void vectorsAreThere() {
    if (Vectors.available() == null) {
      assertThat(Boolean.getBoolean("athanor.vectors"))
          .as("vectors are asked for, but java was started without the module for them")
          .isFalse();
      abort("needs java --add-modules jdk.incubator.vector");
    }
  }

  /**
   * Returns a kernel whose threads add products of words of shared memory, filled from {@code in}:
   * loads of one and of several words, four rows of four accumulators, an extra accumulator in a
   * row, and one with other factors.
   *
   * @param left PTX that computes the address of the left factors in %r10, from the thread in %r0
   * @param right likewise in %r11, for the right factors
   * @param vectors whether vectors are loaded, else words
   */
  private static Module kernel(String left, String right, boolean vectors) {
    var text =
        new StringBuilder(
            """
            .version 7.8
            .target sm_90
            .address_size 64
            .visible .entry products(.param .u64 out, .param .u64 in)
            {
            .shared .align 16 .b8 tile[%1$d];
            .reg .pred %%p<4>; .reg .b32 %%r<16>; .reg .b64 %%rd<8>;
            .reg .f32 %%c<%2$d>, %%a<8>, %%b<8>, %%v, %%w;
            ld.param.u64 %%rd0, [out]; ld.param.u64 %%rd1, [in];
            mov.u32 %%r0, %%tid.x; mov.u32 %%r1, %%ntid.x; mov.u32 %%r2, %%r0; mov.u32 %%r9, 0;
            fill:
            mul.wide.u32 %%rd2, %%r2, 4; add.u64 %%rd3, %%rd1, %%rd2; ld.global.u32 %%r3, [%%rd3];
            shl.b32 %%r4, %%r2, 2; st.shared.u32 [%%r4], %%r3;
            add.u32 %%r2, %%r2, %%r1; setp.lt.u32 %%p0, %%r2, %3$d; @%%p0 bra fill;
            bar.sync 0;
            """
                .formatted(4 * WORDS, SUMS, WORDS));
    for (int i = 0; i < SUMS; i++) {
      text.append("mov.f32 %c").append(i).append(", 0f80000000;\n"); // -0
    }
    text.append("mov.f32 %w, 0f3F800000;\n").append(left).append(right).append("\nagain:\n");
    for (int k = 0; k < 2; k++) {
      var loads =
          vectors
              ? """
              ld.shared.v4.f32 {%%a%d, %%a%d, %%a%d, %%a%d}, [%%r10+%d];
              ld.shared.v2.f32 {%%b%d, %%b%d}, [%%r11+%d];
              ld.shared.v2.f32 {%%b%d, %%b%d}, [%%r11+%d];
              """
              : """
              ld.shared.f32 %%a%d, [%%r10]; ld.shared.f32 %%a%d, [%%r10+40];
              ld.shared.f32 %%a%d, [%%r10+4]; ld.shared.f32 %%a%d, [%%r10+%d];
              ld.shared.f32 %%b%d, [%%r11]; ld.shared.f32 %%b%d, [%%r11+%d];
              ld.shared.f32 %%b%d, [%%r11]; ld.shared.f32 %%b%d, [%%r11+%d];
              """;
      int a = 4 * k;
      int b = 4 * k;
      text.append(
          loads.formatted(
              a, a + 1, a + 2, a + 3, 16 * k, b, b + 1, 32 * k, b + 2, b + 3, 32 * k + 8));
      tile(text, k);
      product(text, 16, "%a" + 4 * k, "%a" + (4 * k + 3));
      product(text, 17, "%b" + 4 * k, "%a" + (4 * k + 3));
    }
    // a factor that becomes an accumulator, one that is loaded, a loaded one that becomes an
    // accumulator, and an accumulator that becomes a factor: a run must end at each
    product(text, 16, "%c0", "%b0");
    tile(text, 0);
    product(text, 16, "%a0", "%a1");
    text.append("ld.shared.f32 %a0, [%r10+8]; ld.shared.f32 %v, [%r11];\n");
    tile(text, 0);
    text.append("fma.rn.f32 %v, %a1, %b1, %v;\n");
    product(text, 16, "%v", "%b0");
    product(text, 17, "%b0", "%b1");
    text.append("fma.rn.f32 %w, %a1, %b1, %w;\n");
    product(text, 17, "%w", "%b0");
    tile(text, 0);
    text.append("add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, ")
        .append(ROUNDS)
        .append("; @%p1 bra again;\n");
    text.append("mad.wide.u32 %rd4, %r0, ").append(4 * SUMS).append(", %rd0;\n");
    for (int i = 0; i < SUMS; i++) {
      text.append("st.global.f32 [%%rd4+%d], %%c%d;\n".formatted(4 * i, i));
    }
    return Parser.parse(text.append("ret;\n}\n").toString(), "products.ptx");
  }

  /** Emits four rows of four accumulators. */
  private static void tile(StringBuilder text, int k) {
    for (int row = 0; row < 4; row++) {
      for (int column = 0; column < 4; column++) {
        product(text, 4 * row + column, "%a" + (4 * k + row), "%b" + (4 * k + column));
      }
    }
  }

  private static void product(StringBuilder text, int sum, String left, String right) {
    text.append("fma.rn.f32 %%c%1$d, %2$s, %3$s, %%c%1$d;\n".formatted(sum, left, right));
  }

  /** Returns numbers of all magnitudes, including zeros, subnormals, infinities and NaNs. */
  private static int[] words() {
    var random = new Random(7);
    var words = new int[WORDS];
    Arrays.setAll(
        words,
        i ->
            switch (random.nextInt(40)) {
              case 0 -> random.nextInt();
              case 1 -> random.nextInt() & 0x807F_FFFF;
              case 2 -> random.nextInt() & 0x8000_0000;
              case 3 -> i % 3 == 0 ? 0x7F80_0000 : i % 3 == 1 ? 0xFFC0_0001 : 0x7F7F_FFFF;
              default -> Float.floatToRawIntBits((float) random.nextGaussian());
            });
    return words;
  }

  private static int[] run(EmulatedDevice device, Module module, int threads) {
    try (var in = device.allocate(4L * WORDS);
        var out = device.allocate(4L * SUMS * threads);
        var stream = device.openStream()) {
      stream.upload(MemorySegment.ofArray(words()), in, 0);
      stream.launch(
          new Launch(
              device.load(module, "products"),
              Dim3.of(1),
              Dim3.of(threads),
              0,
              List.of(Argument.of(out), Argument.of(in))));
      var sums = new int[SUMS * threads];
      stream.download(out, 0, MemorySegment.ofArray(sums));
      return sums;
    }
  }

  private static long fused(EmulatedDevice device, Module module) {
    return EmulatedDevice.program(device.load(module, "products")).fused();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          the same for all         | mov.u32 %r10, 64;
          rows of sixteen          | and.b32 %r10, %r0, -16;
          rows of eight            | and.b32 %r10, %r0, 24; shl.b32 %r10, %r10, 4;
          one after the other      | shl.b32 %r10, %r0, 4;
          every other              | shl.b32 %r10, %r0, 5; and.b32 %r10, %r10, 2047;
          backward                 | sub.u32 %r10, 200, %r0; shl.b32 %r10, %r10, 4;
          """)
  void productsAgreeForAllVectorPositions(String name, String left) {
    isTheSame(kernel(left, "and.b32 %r11, %r0, 15; shl.b32 %r11, %r11, 4;", true));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          one after the other      | shl.b32 %r10, %r0, 2;
          with a gap               | shl.b32 %r10, %r0, 2; add.u32 %r11, %r10, 4; setp.gt.u32 %p2, %r0, 70; selp.u32 %r10, %r11, %r10, %p2;
          """)
  void productsAgreeForAllWordPositions(String name, String left) {
    isTheSame(kernel(left, "and.b32 %r11, %r0, 31; shl.b32 %r11, %r11, 2;", false));
  }

  private static void isTheSame(Module module) {
    try (var together = new EmulatedDevice(FUSED);
        var plain = new EmulatedDevice(PLAIN)) {
      // six whole warps
      assertThat(run(together, module, 192)).isEqualTo(run(plain, module, 192));
      assertThat(fused(together, module)).isEqualTo(4 * ROUNDS);
      // and some of a seventh
      assertThat(run(together, module, 200)).isEqualTo(run(plain, module, 200));
      assertThat(fused(plain, module)).isZero();
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {8, 8192, -16, Integer.MIN_VALUE})
  void detectsInvalidAddresses(int address) {
    var left = "setp.eq.u32 %%p2, %%r0, 77; selp.b32 %%r10, %d, 0, %%p2;".formatted(address);
    var module = kernel(left, "mov.u32 %r11, 0;", true);
    try (var together = new EmulatedDevice(FUSED);
        var plain = new EmulatedDevice(PLAIN)) {
      assertThat(reports(together, module))
          .isEqualTo(reports(plain, module))
          .singleElement()
          .asString()
          .startsWith("thread (77,0,0)");
      assertThat(fused(together, module)).isZero();
    }
  }

  private static List<String> reports(EmulatedDevice device, Module module) {
    return catchThrowableOfType(KernelFault.class, () -> run(device, module, 192)).reports();
  }
}
