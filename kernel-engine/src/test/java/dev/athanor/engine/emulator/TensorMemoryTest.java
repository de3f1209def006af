package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.DeviceException.KernelFault;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.emulator.options.Schedule;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.meaning.NumberFormat;
import dev.athanor.engine.ptx.meaning.SlowTensorCore;
import dev.athanor.engine.ptx.text.Parser;
import dev.athanor.testing.TestTier;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tensor memory, its products, and their misuse. */
class TensorMemoryTest {

  private static final int THREADS = 128;

  /** Bytes of shared memory for the factors. */
  private static final int SHARED = 32 << 10;

  /** Bytes of a row of a factor. */
  private static final int ROW = 32;

  private static final Target BLACKWELL = Target.of("sm_100a");

  /**
   * Allocates 128 columns at {@code %r5} and copies {@code in} to {@code tile}. {@code %r6} is the
   * address of the lanes of the warp, {@code %rd6} that of the thread's words of {@code out};
   * {@code %p0} is true in thread 0, {@code %p1} in warp 0.
   */
  private static final String HEAD =
      """
      .version 8.6
      .target sm_100a
      .address_size 64
      .visible .entry k(.param .u64 out, .param .u64 in)
      {
      .shared .align 1024 .b8 tile[32768]; .shared .align 8 .b64 bar; .shared .align 4 .b32 address;
      .reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<16>; .reg .b32 %d<128>;
      ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [in]; mov.u32 %r0, %tid.x;
      setp.eq.u32 %p0, %r0, 0; setp.lt.u32 %p1, %r0, 32; setp.ne.u32 %p2, %r0, %r0;
      shl.b32 %r1, %r0, 2; cvt.u64.u32 %rd2, %r1; add.u64 %rd2, %rd1, %rd2;
      mov.u32 %r2, tile; add.u32 %r1, %r2, %r1; add.u32 %r3, %r2, 32768;
      $copy:
      ld.global.b32 %r4, [%rd2]; st.shared.b32 [%r1], %r4;
      add.u64 %rd2, %rd2, 512; add.u32 %r1, %r1, 512;
      setp.lt.u32 %p3, %r1, %r3; @%p3 bra $copy;
      @%p0 mbarrier.init.shared::cta.b64 [bar], 1;
      @%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [address], 128;
      fence.proxy.async; bar.sync 0;
      tcgen05.fence::after_thread_sync;
      ld.shared.b32 %r5, [address]; shr.u32 %r6, %r0, 5; shl.b32 %r6, %r6, 21; add.u32 %r6, %r6, %r5;
      mul.wide.u32 %rd6, %r0, 512; add.u64 %rd6, %rd0, %rd6;
      """;

  private static final String AWAIT =
      """
      $await: mbarrier.try_wait.parity.shared::cta.b64 %p4, [bar], 0; @!%p4 bra $await;
      tcgen05.fence::after_thread_sync;
      """;

  private static final String COMMIT =
      "@%p0 tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [bar];\n";

  private static final String TAIL =
      """
      tcgen05.fence::before_thread_sync; bar.sync 0;
      @%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r5, 128;
      ret;
      }
      """;

  private static String registers(int first, int count) {
    return IntStream.range(first, first + count)
        .mapToObj(i -> "%d" + i)
        .collect(Collectors.joining(", ", "{", "}"));
  }

  /** Loads words and stores them in {@code out}. */
  private static String read(String shape, int repetitions, int count, String pack) {
    var text =
        new StringBuilder(
            "tcgen05.ld.sync.aligned.%s.x%d%s.b32 %s, [%%r6];\ntcgen05.wait::ld.sync.aligned;\n"
                .formatted(shape, repetitions, pack, registers(0, count)));
    for (int i = 0; i < count; i++) {
      text.append("st.global.b32 [%%rd6+%d], %%d%d;\n".formatted(4 * i, i));
    }
    return text.toString();
  }

  /** Runs a body between head and tail; returns 128 words per thread. */
  private static int[] run(EmulatorOptions options, String body, int[] in) {
    var module = Parser.parse(HEAD + body + TAIL, "tensor-memory.ptx");
    try (var device = new EmulatedDevice(options.withTarget(BLACKWELL));
        var stream = device.openStream()) {
      var input = device.allocate(SHARED);
      var output = device.allocate(4L * THREADS * 128);
      stream.upload(MemorySegment.ofArray(in), input, 0);
      stream.launch(
          new Launch(
              device.load(module, "k"),
              Dim3.of(1),
              Dim3.of(THREADS),
              0,
              List.of(Argument.of(output), Argument.of(input))));
      var found = new int[THREADS * 128];
      stream.download(output, 0, MemorySegment.ofArray(found));
      return found;
    }
  }

  private static EmulatorOptions options(AsyncTiming timing) {
    return EmulatorOptions.DEFAULT.withAsyncTiming(timing).withSanitize(Sanitize.FULL);
  }

  /** Stores {@code 1000 * lane + column} in 64 columns. */
  private static String fill() {
    var text = new StringBuilder();
    for (int i = 0; i < 64; i++) {
      text.append("mad.lo.u32 %%d%d, %%r0, 1000, %d;\n".formatted(i, i));
    }
    return text
        + "tcgen05.st.sync.aligned.32x32b.x64.b32 [%r6], "
        + registers(0, 64)
        + ";\ntcgen05.wait::st.sync.aligned;\n";
  }

  /** The figures of PTX ISA 9.7.16.2.3. */
  @ParameterizedTest
  @CsvSource({
    "32x32b, 1, 1", "32x32b, 64, 64", "16x64b, 1, 1", "16x64b, 32, 32",
    "16x128b, 1, 2", "16x128b, 16, 32", "16x256b, 1, 4", "16x256b, 8, 32"
  })
  void loadsFollowTheFigures(String shape, int repetitions, int count) {
    for (var timing : AsyncTiming.values()) {
      int[] found =
          run(options(timing), fill() + read(shape, repetitions, count, ""), new int[SHARED / 4]);
      for (int thread = 0; thread < THREADS; thread++) {
        int t = thread % 32;
        for (int i = 0; i < count; i++) {
          int row =
              switch (shape) {
                case "32x32b" -> t;
                case "16x64b" -> t / 4 + 8 * (t % 2);
                case "16x128b" -> t / 4 + 8 * (i % 2);
                default -> t / 4 + 8 * (i / 2 % 2);
              };
          int column =
              switch (shape) {
                case "32x32b" -> i;
                case "16x64b" -> t / 2 % 2 + 2 * i;
                case "16x128b" -> t % 4 + 4 * (i / 2);
                default -> t % 4 * 2 + i % 2 + 8 * (i / 4);
              };
          assertThat(found[128 * thread + i])
              .as("%s, thread %d, register %d", timing, thread, i)
              .isEqualTo(1000 * (thread / 32 * 32 + row) + column);
        }
      }
    }
  }

  @Test
  void packsTheLowHalvesOfTwoColumns() {
    int[] found =
        run(
            options(AsyncTiming.LAZY),
            fill() + read("32x32b", 4, 4, ".pack::16b"),
            new int[SHARED / 4]);
    int word = 1000 * 33 + 2;
    assertThat(found[128 * 33 + 1]).isEqualTo((word & 0xFFFF) | ((word + 1) << 16));
    found =
        run(
            options(AsyncTiming.LAZY),
            "mov.b32 %d0, 0x00020001; mov.b32 %d1, 0x00040003;\n"
                + "tcgen05.st.sync.aligned.32x32b.x2.unpack::16b.b32 [%r6], {%d0, %d1};\n"
                + "tcgen05.wait::st.sync.aligned;\n"
                + read("32x32b", 4, 4, ""),
            new int[SHARED / 4]);
    assertThat(found).startsWith(1, 2, 3, 4);
  }

  /**
   * A product of two steps along K.
   *
   * @param n columns of B
   * @param inTensorMemory whether A is in tensor memory
   */
  private record Product(
      String kind, Type d, Type a, Type b, int codes, int m, int n, boolean inTensorMemory) {

    static Product of(String kind, String types, int m, int n, boolean inTensorMemory) {
      var all = types.split("\\.", -1);
      int codes =
          (all[0].equals("f16") ? 0 : all[0].equals("f32") ? 1 : 2) << 4
              | code(all[1]) << 7
              | code(all[2]) << 10;
      return new Product(
          kind, type(all[0]), type(all[1]), type(all[2]), codes, m, n, inTensorMemory);
    }

    private static Type type(String word) {
      return Type.valueOf(word.toUpperCase(java.util.Locale.ROOT));
    }

    private static int code(String type) {
      return switch (type) {
        case "f16", "e4m3", "u8" -> 0;
        case "tf32" -> 2;
        default -> 1;
      };
    }

    int depth() {
      return ROW * 8 / a.bits();
    }

    /** Returns the offset of a byte of a row, without swizzle. */
    static int offset(int row, int at) {
      return row / 8 * 256 + row % 8 * 16 + at / 16 * 128 + at % 16;
    }

    /** Returns the offset of a factor in shared memory. */
    int start(int step, boolean right) {
      return 16384 * step + (right ? 4096 : 0);
    }

    private static String descriptor(String register, int start) {
      long bits = 128L >> 4 << 16 | 256L >> 4 << 32 | 1L << 46;
      return ("add.u32 %%r7, %%r2, %d; shr.u32 %%r7, %%r7, 4; cvt.u64.u32 %s, %%r7;"
              + " or.b64 %2$s, %2$s, 0x%x;\n")
          .formatted(start, register, bits);
    }

    String body() {
      var text = new StringBuilder();
      int idesc = codes | ((n / 8) << 17) | ((m / 16) << 24);
      for (int step = 0; step < 2; step++) {
        if (inTensorMemory) {
          text.append("shr.u32 %r8, %r0, 3; shl.b32 %r8, %r8, 8; and.b32 %r9, %r0, 7;\n");
          text.append("shl.b32 %r9, %r9, 4; add.u32 %r8, %r8, %r9; add.u32 %r8, %r8, %r2;\n");
          for (int half = 0; half < 2; half++) {
            text.append(
                "ld.shared.v4.b32 %s, [%%r8+%d];\n"
                    .formatted(registers(4 * half, 4), start(step, false) + 128 * half));
          }
          text.append(
              "tcgen05.st.sync.aligned.32x32b.x8.b32 [%%r6+%d], %s;\n"
                  .formatted(96 + 8 * step, registers(0, 8)));
        }
      }
      text.append(
          "tcgen05.wait::st.sync.aligned; tcgen05.fence::before_thread_sync; bar.sync 0;\n");
      text.append("tcgen05.fence::after_thread_sync;\n");
      for (int step = 0; step < 2; step++) {
        text.append(descriptor("%rd3", start(step, false)));
        text.append(descriptor("%rd4", start(step, true)));
        text.append(
            "@%%p0 tcgen05.mma.cta_group::1.kind::%s [%%r5], %s, %%rd4, %d, %s;\n"
                .formatted(
                    kind,
                    inTensorMemory ? "[%r5+" + (96 + 8 * step) + "]" : "%rd3",
                    idesc,
                    step == 0 ? "%p2" : "1"));
      }
      return text
          + COMMIT
          + AWAIT
          + (m == 64 ? read("16x64b", 32, 32, "") : read("32x32b", 64, 64, ""));
    }

    int[] fill(Random random) {
      var bytes = new byte[SHARED];
      for (int step = 0; step < 2; step++) {
        for (var right : new boolean[] {false, true}) {
          for (int row = 0; row < (right ? n : m); row++) {
            for (int k = 0; k < depth(); k++) {
              int bits = number(random, right ? b : a);
              for (int i = 0; i < a.bytes(); i++) {
                bytes[start(step, right) + offset(row, k * a.bytes() + i)] =
                    (byte) (bits >> (8 * i));
              }
            }
          }
        }
      }
      var words = new int[SHARED / 4];
      MemorySegment.copy(MemorySegment.ofArray(bytes), 0, MemorySegment.ofArray(words), 0, SHARED);
      return words;
    }

    private static int number(Random random, Type type) {
      return switch (type) {
        case F16 -> Float.floatToFloat16((float) random.nextGaussian());
        case BF16 -> Float.floatToRawIntBits((float) random.nextGaussian()) >>> 16;
        case TF32 -> Float.floatToRawIntBits((float) random.nextGaussian());
        case E4M3, E5M2 -> random.nextInt(256) & 0xBB;
        default -> random.nextInt(256);
      };
    }

    private int bits(int[] words, int step, boolean right, int row, int k) {
      int at = start(step, right) + offset(row, k * a.bytes());
      return words[at / 4] >>> (8 * (at % 4));
    }

    private static double value(Type type, int bits) {
      return switch (type) {
        case U8 -> bits & 0xFF;
        case S8 -> (byte) bits;
        default -> NumberFormat.of(type).value(bits);
      };
    }

    int expected(int[] words, int row, int column) {
      var format = d == Type.F16 ? SlowTensorCore.Format.F16 : SlowTensorCore.Format.F32;
      double sum = 0;
      for (int step = 0; step < 2; step++) {
        var x = new double[depth()];
        var y = new double[depth()];
        for (int k = 0; k < depth(); k++) {
          x[k] = value(a, bits(words, step, false, row, k));
          y[k] = value(b, bits(words, step, true, column, k));
        }
        if (d == Type.S32) {
          for (int k = 0; k < depth(); k++) {
            sum += x[k] * y[k];
          }
        } else {
          sum =
              new SlowTensorCore(
                      25,
                      format,
                      NumberFormat.of(a).minExponent(),
                      NumberFormat.of(b).minExponent())
                  .add(x, y, sum);
        }
      }
      return switch (d) {
        case S32 -> (int) sum;
        case F16 -> Float.floatToFloat16((float) sum) & 0xFFFF;
        default -> Float.floatToRawIntBits((float) sum);
      };
    }
  }

  @ParameterizedTest
  @Tag(TestTier.THOROUGH_TAG)
  @CsvSource({
    "f16, f32.f16.f16, 128, 64, false",
    "f16, f16.f16.f16, 128, 64, true",
    "f16, f32.bf16.bf16, 64, 64, false",
    "f16, f32.f16.bf16, 64, 64, false",
    "tf32, f32.tf32.tf32, 128, 64, false",
    "tf32, f32.tf32.tf32, 128, 64, true",
    "f8f6f4, f32.e4m3.e5m2, 128, 64, false",
    "f8f6f4, f16.e5m2.e5m2, 128, 64, true",
    "i8, s32.s8.u8, 128, 64, false",
    "i8, s32.u8.s8, 64, 64, false",
  })
  void sumsMatchTheModel(String kind, String types, int m, int n, boolean inTensorMemory) {
    long seed = TestTier.seed();
    var product = Product.of(kind, types, m, n, inTensorMemory);
    int[] in = product.fill(new Random(seed));
    for (var timing : AsyncTiming.values()) {
      int[] found = run(options(timing), product.body(), in);
      for (int row = 0; row < m; row++) {
        for (int column = 0; column < n; column++) {
          int thread = m == 128 ? row : row / 16 * 32 + row % 8 * 4 + row / 8 % 2 + column % 2 * 2;
          int register = m == 128 ? column : column / 2;
          assertThat(Integer.toHexString(found[128 * thread + register]))
              .as("%s, seed %d, row %d, column %d", timing, seed, row, column)
              .isEqualTo(Integer.toHexString(product.expected(in, row, column)));
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource(Schedule.class)
  void schedulesAgree(Schedule schedule) {
    var product = Product.of("f16", "f32.f16.f16", 128, 64, true);
    int[] in = product.fill(new Random(1));
    int[] found = run(options(AsyncTiming.RANDOM).withSchedule(schedule), product.body(), in);
    assertThat(found[128 * 77 + 5]).isEqualTo(product.expected(in, 77, 5));
  }

  private static String fault(String body) {
    return catchThrowableOfType(
            KernelFault.class, () -> run(options(AsyncTiming.EAGER), body, new int[SHARED / 4]))
        .reports()
        .getFirst();
  }

  /** Whatever the timing, the sanitizer reports sums that are read before a commit and a wait. */
  @ParameterizedTest
  @EnumSource(AsyncTiming.class)
  void sumsAreAwaited(AsyncTiming timing) {
    var product = Product.of("f16", "f32.f16.f16", 128, 64, false);
    for (var removed : List.of(COMMIT + AWAIT, AWAIT)) {
      var body = product.body().replace(removed, "");
      var reports =
          catchThrowableOfType(
                  KernelFault.class, () -> run(options(timing), body, product.fill(new Random(1))))
              .reports();
      assertThat(reports.getFirst())
          .contains(
              "multiplies asynchronously, and this thread does not know that it has finished;"
                  + " tcgen05.commit to an mbarrier after the product, and mbarrier.try_wait before"
                  + " this instruction, would order them");
    }
  }

  /** A load or store that is not waited for gives a wrong result if it completes late. */
  @ParameterizedTest
  @ValueSource(strings = {"tcgen05.wait::ld.sync.aligned;", "tcgen05.wait::st.sync.aligned;"})
  void loadsAndStoresAreAwaited(String wait) {
    var body = fill() + read("32x32b", 4, 4, "");
    var in = new int[SHARED / 4];
    assertThat(run(options(AsyncTiming.LAZY), body, in)).startsWith(0, 1, 2, 3);
    assertThat(run(options(AsyncTiming.LAZY), body.replace(wait, ""), in)[1]).isNotEqualTo(1);
    assertThat(run(options(AsyncTiming.EAGER), body.replace(wait, ""), in)).startsWith(0, 1, 2, 3);
  }

  @Test
  void uncommittedProductsAreReported() {
    var product = Product.of("f16", "f32.f16.f16", 128, 64, false);
    var body = product.body();
    assertThat(fault(body.substring(0, body.indexOf(COMMIT))))
        .contains(
            "issues a product that the thread has not waited for when it exits",
            "wait with tcgen05.commit and mbarrier.try_wait before the exit");
  }

  @Test
  void factorsNeedAProxyFence() {
    var product = Product.of("f16", "f32.f16.f16", 128, 64, false);
    assertThat(fault("st.shared.b32 [%r2], %r2; bar.sync 0;\n" + product.body()))
        .contains("of tile, which", "with no proxy fence between the two");
  }

  @Test
  void undefinedColumnsAreReported() {
    assertThat(fault(read("32x32b", 1, 1, "")))
        .contains("reads bytes 0..3 of tensor memory, which were never written");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        """
        tcgen05.ld.sync.aligned.32x32b.x1.b32 {%d0}, [%r5];
        # accesses lanes 0..31 of tensor memory; warp 1 can access lanes 32..63\
        """,
        """
        tcgen05.ld.sync.aligned.32x32b.x2.b32 {%d0, %d1}, [%r6+127];
        # accesses columns 127..128 of tensor memory, of which 128 is not allocated\
        """,
        """
        tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r5, 64;
        # deallocates 64 columns of tensor memory at 0x0, which is no allocation\
        """,
        """
        @%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [address], 32;
        # the block exits without deallocating 32 columns of tensor memory; execute \
        tcgen05.dealloc\
        """,
        """
        @%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [address], 512;
        # waits for 512 columns of tensor memory, but the block holds 128 of 512; deallocate \
        first\
        """,
        """
        mov.b32 %r9, 48;
        @%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [address], %r9;
        # allocates 48 columns of tensor memory; give a power of two from 32 to 512\
        """,
        """
        tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
        @%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [address], 32;
        # allocates tensor memory after tcgen05.relinquish_alloc_permit\
        """,
        """
        tcgen05.ld.sync.aligned.32x32b.x1.b32 {%d0}, [%r0];
        # the address is 0x1 in lane 1, but 0x0 in lane 0; all threads must give the same\
        """,
        """
        mov.b64 %rd3, 0x400000000000;
        @%p0 tcgen05.mma.cta_group::1.kind::f16 [%r5], %rd3, %rd3, 0x08100014, 1;
        # the instruction descriptor 0x08100014 describes a sparse product; only dense ones \
        are supported\
        """,
        """
        mov.b64 %rd3, 0x400000000000;
        @%p0 tcgen05.mma.cta_group::1.kind::f16 [%r5], %rd3, %rd3, 0x02100010, 1;
        # the instruction descriptor 0x02100010 has m = 32; it is 64 or 128\
        """,
        """
        mov.b64 %rd3, 0x400000000000;
        @%p0 tcgen05.mma.cta_group::1.kind::f16 [%r5], %rd3, %rd3, 0x08020010, 1;
        # the instruction descriptor 0x08020010 has n = 8; it is a multiple of 16 up to 256\
        """,
        """
        mov.b64 %rd3, 0x400000000000;
        @%p0 tcgen05.mma.cta_group::1.kind::f8f6f4 [%r5], %rd3, %rd3, 0x08100290, 1;
        # the instruction descriptor 0x08100290 has the factor type 5, which has 4 or 6 bits; \
        the emulator supports e4m3 and e5m2 here\
        """,
        """
        mov.b64 %rd3, 0;
        @%p0 tcgen05.mma.cta_group::1.kind::f16 [%r5], %rd3, %rd3, 0x08100010, 1;
        # the descriptor 0x0000000000000000 has the bits 000 in 46..48 and 0x0 in 52..60; 001 \
        and 0 are required\
        """,
        """
        mov.b64 %rd3, 0x2000400000000000;
        @%p0 tcgen05.mma.cta_group::1.kind::f16 [%r5], %rd3, %rd3, 0x08100010, 1;
        # the descriptor 0x2000400000000000 has the swizzling mode 1; 0, 2, 4 and 6 are \
        supported\
        """
      })
  void misuseIsAFault(String bodyAndSentence) {
    var parts = bodyAndSentence.split("# ", 2);
    assertThat(fault(parts[0])).contains(parts[1]);
  }
}
