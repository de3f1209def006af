package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.DeviceException.KernelFault;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import dev.athanor.engine.emulator.options.EmulatorOptions.Execution;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.emulator.options.Schedule;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.text.Parser;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Completion of warpgroup products, and their misuse. */
class WgmmaTest {

  /** Bytes of shared memory. */
  static final int SHARED = 64 << 10;

  private static final Target HOPPER = Target.of("sm_90a");

  private static final String HEAD =
      """
      .version 8.4
      .target sm_90a
      .address_size 64
      .extern .shared .align 1024 .b8 tile[];
      .visible .entry k(.param .u64 out, .param .u64 in)
      {
      .reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .b32 %a<4>; .reg .TYPE %d<COUNT>;
      ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [in]; mov.u32 %r0, %tid.x;
      shl.b32 %r1, %r0, 2; cvt.u64.u32 %rd2, %r1; add.u64 %rd2, %rd1, %rd2;
      mov.u32 %r2, tile; add.u32 %r1, %r2, %r1; add.u32 %r3, %r2, SHARED;
      $copy:
      ld.global.b32 %r4, [%rd2]; st.shared.b32 [%r1], %r4;
      add.u64 %rd2, %rd2, 512; add.u32 %r1, %r1, 512;
      setp.lt.u32 %p0, %r1, %r3; @%p0 bra $copy;
      fence.proxy.async; bar.sync 0;
      mul.wide.u32 %rd3, %r0, 16; add.u64 %rd3, %rd3, %rd1;
      ld.global.v4.b32 {%a0,%a1,%a2,%a3}, [%rd3+SHARED];
      mul.wide.u32 %rd4, %r0, BYTES; add.u64 %rd5, %rd1, %rd4; add.u64 %rd6, %rd0, %rd4;
      setp.eq.u32 %p1, %r0, %r0; setp.ne.u32 %p2, %r0, %r0;
      """;

  /** Copies shared memory and loads the registers of A and of the accumulators. */
  static String head(String type, int registers) {
    var text =
        new StringBuilder(
            HEAD.replace("TYPE", type)
                .replace("COUNT", String.valueOf(registers))
                .replace("SHARED", String.valueOf(SHARED))
                .replace("BYTES", String.valueOf(4 * registers)));
    for (int i = 0; i < registers; i++) {
      text.append("ld.global.%s %%d%d, [%%rd5+%d];\n".formatted(type, i, SHARED + 2048 + 4 * i));
    }
    return text.toString();
  }

  /** Stores the accumulators. */
  static String tail(String type, int registers) {
    var text = new StringBuilder();
    for (int i = 0; i < registers; i++) {
      text.append("st.global.%s [%%rd6+%d], %%d%d;\n".formatted(type, 4 * i, i));
    }
    return text + "ret;\n}\n";
  }

  /**
   * Runs a kernel between head and tail.
   *
   * @param registers registers of A per thread
   * @param sums initial accumulators of each thread
   * @return the accumulators, contiguous per thread
   */
  static int[] run(
      EmulatorOptions options,
      String text,
      int threads,
      MemorySegment shared,
      int[][] registers,
      int[][] sums) {
    var module = Parser.parse(text, "wgmma.ptx");
    int count = sums[0].length;
    var in = MemorySegment.ofArray(new int[(SHARED + 2048) / 4 + 128 * count]);
    in.copyFrom(shared);
    for (int thread = 0; thread < 128; thread++) {
      in.asSlice(SHARED + 16L * thread).copyFrom(MemorySegment.ofArray(registers[thread]));
      in.asSlice(SHARED + 2048 + 4L * count * thread).copyFrom(MemorySegment.ofArray(sums[thread]));
    }
    try (var device = new EmulatedDevice(options.withTarget(HOPPER));
        var stream = device.openStream()) {
      var input = device.allocate(in.byteSize());
      var output = device.allocate(512L * count);
      stream.upload(in, input, 0);
      stream.launch(
          new Launch(
              device.load(module, "k"),
              Dim3.of(1),
              Dim3.of(threads),
              SHARED,
              List.of(Argument.of(output), Argument.of(input))));
      var found = new int[128 * count];
      stream.download(output, 0, MemorySegment.ofArray(found));
      return found;
    }
  }

  /** A product of ones, with 16 in each sum. */
  private static int[] ones(EmulatorOptions options, int threads, String body) {
    var shared = MemorySegment.ofArray(new long[SHARED / 8]);
    for (int i = 0; i < SHARED; i += 2) {
      shared.set(ValueLayout.JAVA_SHORT, i, (short) 0x3C00);
    }
    return run(
        options,
        head("f32", 4) + "mov.b64 %rd8, 0x800010000;\n" + FENCE + body + tail("f32", 4),
        threads,
        shared,
        new int[128][4],
        new int[128][4]);
  }

  private static final String PRODUCT =
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0,%d1,%d2,%d3}, %rd8, %rd8, 1, 1, 1,"
          + " 0, 0;\n";
  private static final String FENCE = "wgmma.fence.sync.aligned;\n";
  private static final String COMMIT = "wgmma.commit_group.sync.aligned;\n";

  private static String await(int but) {
    return "wgmma.wait_group.sync.aligned " + but + ";\n";
  }

  private static boolean areAll(int[] words, float value) {
    return Arrays.stream(words).allMatch(word -> word == Float.floatToRawIntBits(value));
  }

  @ParameterizedTest
  @EnumSource(AsyncTiming.class)
  void productsCompleteInOrder(AsyncTiming timing) {
    var options = EmulatorOptions.DEFAULT.withAsyncTiming(timing);
    for (var schedule : Schedule.values()) {
      var found =
          ones(
              options.withSchedule(schedule),
              128,
              PRODUCT + PRODUCT + COMMIT + PRODUCT + COMMIT + await(1) + await(0));
      assertThat(areAll(found, 48)).as(schedule.toString()).isTrue();
    }
  }

  static Stream<EmulatorOptions> executions() {
    return Arrays.stream(AsyncTiming.values())
        .flatMap(timing ->
            Stream.of(Execution.INTERPRETED, Execution.COMPILED)
                .map(execution ->
                    EmulatorOptions.DEFAULT
                        .withSanitize(Sanitize.OFF)
                        .withAsyncTiming(timing)
                        .withExecution(execution)));
  }

  /** A product accumulates onto earlier modifications of its accumulators. */
  @ParameterizedTest
  @MethodSource("executions")
  void accumulatorsChangedBetweenProducts(EmulatorOptions options) {
    var negated = "neg.f32 %d0, %d0; neg.f32 %d1, %d1; neg.f32 %d2, %d2; neg.f32 %d3, %d3;\n";
    for (var adds : List.of("1", "%p1")) {
      var second = FENCE + PRODUCT.replace("%rd8, 1, 1, 1", "%rd8, " + adds + ", 1, 1");
      var body = PRODUCT + PRODUCT + COMMIT + await(0) + negated + second + COMMIT + await(0);
      assertThat(areAll(ones(options, 128, body), -16)).as(adds).isTrue();
    }
    for (var replaces : List.of("0", "%p2")) {
      var second = FENCE + PRODUCT.replace("%rd8, 1, 1, 1", "%rd8, " + replaces + ", 1, 1");
      var body = PRODUCT + PRODUCT + COMMIT + await(0) + negated + second + COMMIT + await(0);
      assertThat(areAll(ones(options, 128, body), 16)).as(replaces).isTrue();
    }
  }

  /** Like ptxas, the emulator waits before an early use of a product's registers. */
  @ParameterizedTest
  @MethodSource("executions")
  void waitsBeforeEarlyUses(EmulatorOptions options) {
    // the end of the kernel reads the sums
    for (var body :
        List.of(PRODUCT, PRODUCT + COMMIT, PRODUCT + await(0), PRODUCT + COMMIT + await(1))) {
      assertThat(areAll(ones(options, 128, body), 16)).as(body).isTrue();
    }
    var two = PRODUCT + COMMIT + PRODUCT + COMMIT + await(1);
    assertThat(areAll(ones(options, 128, two), 32)).isTrue();
    var overwritten = PRODUCT + COMMIT + "mov.f32 %d0, 0f3F800000;\n" + await(0);
    assertThat(ones(options, 128, overwritten))
        .startsWith(Float.floatToRawIntBits(1), Float.floatToRawIntBits(16));
    var someWarps =
        "setp.ge.u32 %p3, %r0, 96;\n"
            + PRODUCT
            + COMMIT
            + "@%p3 add.f32 %d0, %d0, %d1;\n"
            + PRODUCT.replace(" 1, 1, 1, 0, 0", " %p2, 1, 1, 0, 0");
    assertThat(areAll(ones(options, 128, someWarps), 16)).isTrue();
    var factorOverwritten =
        PRODUCT.replace("%rd8, %rd8", "{%a0,%a1,%a2,%a3}, %rd8").replace(" 0, 0;", " 0;")
            + COMMIT
            + "mov.b32 %a0, 0x3C003C00; mov.b32 %a1, %a0; mov.b32 %a2, %a0; mov.b32 %a3, %a0;\n"
            + await(0);
    assertThat(areAll(ones(options, 128, factorOverwritten), 0)).isTrue();
  }

  private static String fault(int threads, String body) {
    return catchThrowableOfType(
            KernelFault.class,
            () -> ones(EmulatorOptions.DEFAULT.withPatience(1 << 14), threads, body))
        .reports()
        .getFirst();
  }

  @Test
  void tooFewWarps() {
    assertThat(fault(96, PRODUCT))
        .endsWith("needs four warps from a multiple of four on, but the block has only 3");
  }

  @Test
  void missingWarps() {
    assertThat(
            fault(
                128,
                "setp.ge.u32 %p3, %r0, 96; @%p3 bra $end;\n"
                    + PRODUCT
                    + COMMIT
                    + await(0)
                    + "$end:\n"))
        .contains("waits forever: for \"wgmma.mma_async")
        .endsWith("which warps 0x7 of the four of the warpgroup have issued");
  }

  @Test
  void warpsWithDifferentOperands() {
    assertThat(
            fault(
                128,
                "setp.ge.u32 %p3, %r0, 96; @%p3 bra $other;\n"
                    + PRODUCT
                    + COMMIT
                    + await(0)
                    + "bra $end;\n$other:\n"
                    + PRODUCT.replace(" 1, 1, 1,", " 1, -1, 1,")
                    + "$end:\n"))
        .contains("another warp of the warpgroup issued \"wgmma.mma_async")
        .endsWith("as product 0 of its groups; all four issue the same");
    assertThat(
            fault(
                128,
                "cvt.u64.u32 %rd9, %r0; shr.u64 %rd9, %rd9, 5; add.u64 %rd8, %rd8, %rd9;\n"
                    + PRODUCT))
        .endsWith(
            "the descriptors are 0x800010001 and 0x800010001 and scale-d is 1, but 0x800010000,"
                + " 0x800010000 and 1 in another warp of the warpgroup");
  }

  @Test
  void lanesWithDifferentOperands() {
    assertThat(fault(128, "cvt.u64.u32 %rd8, %r0;\n" + PRODUCT))
        .endsWith("the descriptor of A is 0x1, but 0x0 in lane 0; all threads must give the same");
    assertThat(
            fault(
                128,
                "setp.lt.u32 %p3, %r0, 5;\n" + PRODUCT.replace("%rd8, 1, 1, 1", "%rd8, %p3, 1, 1")))
        .endsWith("scale-d is 0x0, but 0x1 in lane 0; all threads must give the same");
  }

  @Test
  void beyondSharedMemory() {
    assertThat(fault(128, "mov.b64 %rd8, 0x800010fff;\n" + PRODUCT + COMMIT + await(0)))
        .endsWith("reads bytes 65536..65537 of 65536 bytes of shared memory");
    assertThat(fault(128, "mov.b64 %rd8, 0x0002000800010000;\n" + PRODUCT + COMMIT + await(0)))
        .contains("has the base offset 1; only 0 is supported");
  }
}
