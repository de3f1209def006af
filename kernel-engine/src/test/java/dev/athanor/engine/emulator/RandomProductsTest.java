package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import dev.athanor.engine.emulator.options.EmulatorOptions.Execution;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.text.Parser;
import dev.athanor.testing.TestTier;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Random warp-specialized kernels give identical bits compiled and interpreted, under all timings.
 * Two warpgroups execute different code: products that accumulate or overwrite, with factors in
 * registers or shared memory; instructions on those registers between a wait and the next product;
 * branches within warps; and an mbarrier at which both groups meet.
 */
class RandomProductsTest {

  private static final int KERNELS = TestTier.choose(3, 6, 1000);
  private static final long SEED = TestTier.seed();

  private static final int THREADS = 256;
  private static final int ROUNDS = 3;

  /** Bytes of a factor in shared memory; there is one per parity of a round. */
  private static final int FACTOR = 4096;

  /** Words that a thread writes: two accumulator tiles, four numbers, and four halves of A. */
  private static final int WORDS = 16;

  private static final String HEAD =
      """
      .version 8.4
      .target sm_90a
      .address_size 64
      .visible .entry k(.param .u64 out, .param .u64 in) .reqntid 256, 1, 1
      {
      .shared .align 1024 .b8 tile[8192]; .shared .align 8 .b8 bar[8];
      .reg .pred %p<6>; .reg .b32 %r<8>; .reg .b64 %rd<8>;
      .reg .b32 %a<4>; .reg .f32 %s<8>; .reg .f32 %f<4>;
      ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [in]; mov.u32 %r0, %tid.x;
      mul.wide.u32 %rd2, %r0, 64; add.u64 %rd0, %rd0, %rd2; add.u64 %rd1, %rd1, %rd2;
      ld.global.v4.f32 {%s0, %s1, %s2, %s3}, [%rd1];
      ld.global.v4.f32 {%s4, %s5, %s6, %s7}, [%rd1+16];
      ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%rd1+32];
      ld.global.v4.b32 {%a0, %a1, %a2, %a3}, [%rd1+48];
      mov.u32 %r1, tile; shl.b32 %r2, %r0, 4; add.u32 %r2, %r1, %r2;
      st.shared.v4.b32 [%r2], {%a0, %a1, %a2, %a3};
      st.shared.v4.b32 [%r2+4096], {%a3, %a2, %a1, %a0};
      shr.u32 %r3, %r1, 4; cvt.u64.u32 %rd3, %r3; or.b64 %rd3, %rd3, 0x800010000;
      add.u64 %rd4, %rd3, 256;
      setp.eq.u32 %p0, %r0, 0; setp.lt.u32 %p1, %r0, THREADS; setp.ge.u32 %p2, %r0, THREADS;
      @%p0 mbarrier.init.shared::cta.b64 [bar], THREADS;
      fence.proxy.async; bar.sync 0;
      setp.ge.u32 %p3, %r0, 128; @%p3 bra $second;
      setmaxnreg.inc.sync.aligned.u32 160;
      """
          .replace("THREADS", String.valueOf(THREADS));

  private static final String TAIL =
      """
      $end:
      st.global.v4.f32 [%rd0], {%s0, %s1, %s2, %s3};
      st.global.v4.f32 [%rd0+16], {%s4, %s5, %s6, %s7};
      st.global.v4.f32 [%rd0+32], {%f0, %f1, %f2, %f3};
      st.global.v4.b32 [%rd0+48], {%a0, %a1, %a2, %a3};
      ret;
      }
      """;

  /** Writes the text of a kernel. */
  private static final class Writer {
    private final Random random;
    private final StringBuilder text = new StringBuilder(HEAD);
    private int labels;

    Writer(long seed) {
      random = new Random(seed);
    }

    String kernel() {
      group(0);
      text.append("bra $end;\n$second:\nsetmaxnreg.dec.sync.aligned.u32 96;\n");
      group(1);
      return text + TAIL;
    }

    private void group(int group) {
      for (int round = 0; round < ROUNDS; round++) {
        for (int parts = 1 + random.nextInt(3); parts > 0; parts--) {
          compute(1 + random.nextInt(8), true);
          products(round % 2);
        }
        if (group == 0) { // read by the next round
          line(
              "st.shared.v4.b32 [%%r2+%d], {%%a0, %%a1, %%a2, %%a3};"
                  .formatted((round + 1) % 2 * FACTOR));
          line(
              "st.shared.v4.b32 [%%r2+%d], {%%a2, %%a3, %%a0, %%a1};"
                  .formatted((round + 1) % 2 * FACTOR + 2048));
          line("fence.proxy.async;");
        }
        var wait = "$wait" + labels++;
        line("mbarrier.arrive.shared::cta.b64 _, [bar];");
        line(
            "%s: mbarrier.try_wait.parity.shared::cta.b64 %%p4, [bar], %d; @!%%p4 bra %s;"
                .formatted(wait, round % 2, wait));
      }
    }

    private void line(String line) {
      text.append(line).append('\n');
    }

    private <T> T any(List<T> choices) {
      return choices.get(random.nextInt(choices.size()));
    }

    /** Emits products and a wait for them. */
    private void products(int parity) {
      line("wgmma.fence.sync.aligned;");
      for (int groups = 1 + random.nextInt(2); groups > 0; groups--) {
        for (int count = 1 + random.nextInt(2); count > 0; count--) {
          boolean inRegisters = random.nextBoolean();
          line(
              "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 %s, %s, %%rd%d, %s, 1, %d%s, 0;"
                  .formatted(
                      any(List.of("{%s0, %s1, %s2, %s3}", "{%s4, %s5, %s6, %s7}")),
                      inRegisters ? "{%a0, %a1, %a2, %a3}" : "%rd" + (3 + parity),
                      3 + parity,
                      any(List.of("0", "1", "1", "%p1", "%p2")),
                      any(List.of(1, -1)),
                      inRegisters ? "" : ", 0"));
        }
        line("wgmma.commit_group.sync.aligned;");
      }
      compute(random.nextInt(4), false);
      if (random.nextBoolean()) {
        line("wgmma.wait_group.sync.aligned 1;");
      }
      line("wgmma.wait_group.sync.aligned 0;");
    }

    /** Emits instructions on numbers and, if permitted, on registers of products. */
    private void compute(int count, boolean free) {
      for (int i = 0; i < count; i++) {
        int kind = random.nextInt(8);
        if (kind == 0) {
          var over = "$over" + labels++;
          line(
              "setp.gt.f32 %%p5, %s, %s; @%%p5 bra %s;"
                  .formatted(number(free), number(free), over));
          compute(2, free);
          line("%s:".formatted(over));
        } else if (kind == 1) {
          line("setp.lt.f32 %%p5, %s, %s;".formatted(number(free), number(free)));
          line("@%%p5 mov.f32 %s, %s;".formatted(number(free), number(free)));
        } else if (kind == 2 && free) {
          line(
              "cvt.rn.f16x2.f32 %%a%d, %s, %s;"
                  .formatted(random.nextInt(4), number(true), number(true)));
        } else if (kind == 3) {
          line("ld.global.f32 %s, [%%rd1+%d];".formatted(number(free), 4 * random.nextInt(12)));
        } else if (kind == 4) {
          line("fma.rn.f32 %s, %s, 0.5, %s;".formatted(number(free), number(free), number(free)));
        } else {
          line(
              "%s.f32 %s, %s;"
                  .formatted(any(List.of("neg", "abs", "mov")), number(free), number(free)));
        }
      }
    }

    private String number(boolean free) {
      return free && random.nextInt(3) > 0 ? "%s" + random.nextInt(8) : "%f" + random.nextInt(4);
    }
  }

  @Test
  void interpreterAndCompiledCodeAgree() {
    for (long seed = SEED; seed < SEED + KERNELS; seed++) {
      var text = new Writer(seed).kernel();
      var module = Parser.parse(text, "products.ptx");
      var random = new Random(seed);
      var in = new int[THREADS * WORDS];
      Arrays.setAll(
          in,
          i ->
              i % WORDS < 12
                  ? Float.floatToRawIntBits((float) random.nextGaussian())
                  : half(random) | half(random) << 16);
      int[] expected = null;
      for (var timing : AsyncTiming.values()) {
        for (var execution : List.of(Execution.INTERPRETED, Execution.COMPILED)) {
          var found = run(module, in, timing, execution);
          expected = expected == null ? found : expected;
          assertThat(Arrays.mismatch(expected, found))
              .as("word that differs, seed %d, %s %s:%n%s", seed, timing, execution, text)
              .isEqualTo(-1);
        }
      }
    }
  }

  private static int half(Random random) {
    return Float.floatToFloat16((float) random.nextGaussian()) & 0xFFFF;
  }

  private static int[] run(Module module, int[] in, AsyncTiming timing, Execution execution) {
    var options =
        EmulatorOptions.DEFAULT
            .withTarget(Target.of("sm_90a"))
            .withWorkers(1)
            .withSeed(SEED)
            .withSanitize(Sanitize.OFF)
            .withAsyncTiming(timing)
            .withExecution(execution);
    try (var device = new EmulatedDevice(options);
        var stream = device.openStream();
        var from = device.allocate(4L * in.length);
        var to = device.allocate(4L * in.length)) {
      stream.upload(MemorySegment.ofArray(in), from, 0);
      var kernel = device.load(module, "k");
      stream.launch(
          new Launch(
              kernel,
              Dim3.of(1),
              Dim3.of(THREADS),
              0,
              List.of(Argument.of(to), Argument.of(from))));
      boolean compiles = execution == Execution.COMPILED;
      assertThat(EmulatedDevice.program(kernel).segments() > 0).isEqualTo(compiles);
      var out = new int[in.length];
      stream.download(to, 0, MemorySegment.ofArray(out));
      return out;
    }
  }
}
