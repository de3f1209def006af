package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.device.TensorMap.SwizzleMode;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import dev.athanor.engine.layout.Fragments;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.meaning.NumberFormat;
import dev.athanor.engine.ptx.meaning.SlowTensorCore;
import dev.athanor.engine.ptx.meaning.SlowTensorCore.Format;
import dev.athanor.testing.TestTier;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Warpgroup products, bit by bit. */
class WgmmaProductsTest {

  /**
   * A product.
   *
   * @param types types as in the instruction
   * @param left start of A; null = in registers
   * @param step the part of K to multiply
   * @param scales scales of A and B, 1 or -1
   */
  record Case(
      String types,
      int n,
      @Nullable SwizzleMode left,
      boolean leftByDepth,
      SwizzleMode right,
      boolean rightByDepth,
      int step,
      List<Integer> scales,
      boolean adds) {

    Case(String types, int n, @Nullable SwizzleMode left, SwizzleMode right) {
      this(types, n, left, true, right, true, 0, List.of(1, 1), true);
    }

    private List<String> words() {
      return List.of(types.split("\\.", -1));
    }

    Type type(int i) {
      return Stream.of(Type.values())
          .filter(t -> t.word().equals(words().get(i)))
          .findFirst()
          .orElseThrow();
    }

    boolean isFloat() {
      return !words().getFirst().equals("s32");
    }

    /** Returns the bits of an addressed element. */
    int bits() {
      return Math.max(8, type(1).bits());
    }

    /** Returns the depth in elements. */
    int k() {
      return 256 / bits();
    }

    int registers() {
      return type(0) == Type.F16 ? n / 4 : n / 2;
    }
  }

  static List<Case> products() {
    var none = SwizzleMode.NONE;
    var b32 = SwizzleMode.BYTES_32;
    var b64 = SwizzleMode.BYTES_64;
    var b128 = SwizzleMode.BYTES_128;
    var plus = List.of(1, 1);
    var all =
        List.of(
            new Case("f32.f16.f16", 8, b128, b128),
            new Case("f32.f16.f16", 24, b128, true, b64, true, 1, plus, false),
            new Case("f32.f16.f16", 16, b64, false, b128, true, 1, List.of(-1, 1), true),
            new Case("f32.bf16.bf16", 64, b32, false, b128, false, 2, plus, true),
            new Case("f32.bf16.bf16", 32, none, false, none, false, 1, plus, true),
            new Case("f32.bf16.bf16", 256, null, true, b64, false, 1, List.of(1, -1), true),
            new Case("f16.f16.f16", 16, none, true, b32, true, 0, List.of(-1, -1), true),
            new Case("f16.f16.f16", 8, null, true, b32, false, 3, plus, false),
            new Case("f32.tf32.tf32", 40, b32, b64),
            new Case("f32.tf32.tf32", 8, null, true, none, true, 1, List.of(-1, 1), true),
            new Case("f32.e4m3.e5m2", 8, none, b128),
            new Case("f32.e5m2.e4m3", 16, null, true, b32, true, 0, plus, false),
            new Case("f16.e4m3.e4m3", 24, b64, true, b64, true, 1, plus, true),
            new Case("s32.s8.s8", 8, b128, true, b128, true, 3, plus, true),
            new Case("s32.u8.u8.satfinite", 32, none, b64),
            new Case("s32.s8.u8", 16, null, b32),
            new Case("s32.u8.s8.satfinite", 48, null, none),
            new Case("s32.b1.b1.and.popc", 24, b64, true, none, true, 1, plus, true),
            new Case("s32.b1.b1.and.popc", 8, null, b128));
    return TestTier.sample(all, 4);
  }

  /** Returns random bits of a finite factor. */
  private static int element(Random random, Type type) {
    while (true) {
      int bits = random.nextInt();
      if (type.kind() != Type.Kind.FLOAT
          && type != Type.E4M3
          && type != Type.E5M2
          && type != Type.TF32
          && type != Type.BF16) {
        return bits & 0xFF;
      }
      if (type == Type.F16 || type == Type.BF16 || type == Type.TF32) {
        float number = (float) Math.scalb(random.nextGaussian(), random.nextInt(20) - 10);
        return switch (type) {
          case F16 -> Float.floatToFloat16(number) & 0xFFFF;
          case BF16 -> Float.floatToRawIntBits(number) >>> 16;
          default -> Float.floatToRawIntBits(number);
        };
      }
      if (Float.isFinite(NumberFormat.of(type).value(bits & 0xFF))) {
        return bits & 0xFF;
      }
    }
  }

  @ParameterizedTest
  @MethodSource
  void products(Case c) {
    long seed = TestTier.seed();
    var random = new Random(seed);
    int k = c.k();
    int size = c.bits() / 8;
    var left =
        new Boxes(0, c.left == null ? SwizzleMode.NONE : c.left, c.leftByDepth, size, 64, 4 * k);
    var right = new Boxes(32 << 10, c.right, c.rightByDepth, size, c.n, 4 * k);
    int[][] a = new int[64][k];
    int[][] b = new int[c.n][k];
    var shared = MemorySegment.ofArray(new long[WgmmaTest.SHARED / 8]);
    var registers = new int[128][4];
    var sums = new int[128][c.registers()];
    fill(random, a, c.type(1), shared, left, c.step * k);
    fill(random, b, c.type(2), shared, right, c.step * k);
    var fragmentA = Fragments.a(16, k, c.bits());
    var fragmentD = Fragments.wide(c.n);
    var old = new int[64][c.n];
    for (int thread = 0; thread < 128; thread++) {
      for (int i = 0; i < fragmentA.elements(); i++) {
        var at = fragmentA.at(thread % 32, i);
        int per = 32 / c.bits();
        int value = a[16 * (thread / 32) + at.row()][at.column()];
        registers[thread][i / per] |= value << (c.bits() * (i % per));
      }
      for (int i = 0; i < fragmentD.elements(); i++) {
        var at = fragmentD.at(thread % 32, i);
        int value = sum(random, c.type(0));
        old[16 * (thread / 32) + at.row()][at.column()] = value;
        int per = fragmentD.elements() / c.registers();
        sums[thread][i / per] |= value << (16 * (i % per));
      }
    }
    for (var timing : List.of(AsyncTiming.EAGER, AsyncTiming.LAZY)) {
      var found = run(c, timing, shared, registers, sums, left, right);
      for (int thread = 0; thread < 128; thread++) {
        for (int i = 0; i < fragmentD.elements(); i++) {
          var at = fragmentD.at(thread % 32, i);
          int row = 16 * (thread / 32) + at.row();
          int per = fragmentD.elements() / c.registers();
          int word = found[thread * c.registers() + i / per];
          int value = per == 1 ? word : (word >>> (16 * (i % per))) & 0xFFFF;
          assertThat(value)
              .as("seed %d, %s, row %d, column %d", seed, timing, row, at.column())
              .isEqualTo(expected(c, a[row], b[at.column()], old[row][at.column()]));
        }
      }
    }
  }

  private static int sum(Random random, Type type) {
    float number = (float) Math.scalb(random.nextGaussian(), random.nextInt(8));
    return switch (type) {
      case F32 -> Float.floatToRawIntBits(number);
      case F16 -> Float.floatToFloat16(number) & 0xFFFF;
      default -> Integer.MAX_VALUE - random.nextInt(1000);
    };
  }

  private static void fill(
      Random random, int[][] to, Type type, MemorySegment shared, Boxes boxes, int from) {
    for (int row = 0; row < to.length; row++) {
      for (int column = 0; column < to[row].length; column++) {
        int bits = element(random, type);
        to[row][column] = bits;
        long address = boxes.address(row, from + column);
        switch (boxes.size()) {
          case 1 -> shared.set(ValueLayout.JAVA_BYTE, address, (byte) bits);
          case 2 -> shared.set(ValueLayout.JAVA_SHORT, address, (short) bits);
          default -> shared.set(ValueLayout.JAVA_INT, address, bits);
        }
      }
    }
  }

  private static int expected(Case c, int[] a, int[] b, int old) {
    return c.isFloat() ? floats(c, a, b, old) : integers(c, a, b, old);
  }

  private static int integers(Case c, int[] a, int[] b, int old) {
    long sum = c.adds ? old : 0;
    for (int k = 0; k < a.length; k++) {
      sum +=
          c.type(1) == Type.B1
              ? Integer.bitCount(a[k] & b[k])
              : (c.type(1) == Type.S8 ? (byte) a[k] : a[k])
                  * (c.type(2) == Type.S8 ? (byte) b[k] : b[k]);
    }
    return c.types.endsWith("satfinite")
        ? Math.clamp(sum, Integer.MIN_VALUE, Integer.MAX_VALUE)
        : (int) sum;
  }

  private static int floats(Case c, int[] a, int[] b, int old) {
    var formatA = NumberFormat.of(c.type(1));
    var formatB = NumberFormat.of(c.type(2));
    var x = new double[a.length];
    var y = new double[a.length];
    for (int k = 0; k < a.length; k++) {
      x[k] = c.scales.get(0) * formatA.value(a[k]);
      y[k] = c.scales.get(1) * formatB.value(b[k]);
    }
    boolean half = c.type(0) == Type.F16;
    boolean fp8 = c.bits() == 8;
    var core =
        new SlowTensorCore(
            fp8 ? 13 : 25,
            half ? Format.F16 : fp8 ? Format.E8M13 : Format.F32,
            formatA.minExponent(),
            formatB.minExponent());
    double before =
        !c.adds ? 0 : half ? Float.float16ToFloat((short) old) : Float.intBitsToFloat(old);
    float sum = (float) core.add(x, y, before);
    return half ? Float.floatToFloat16(sum) & 0xFFFF : Float.floatToRawIntBits(sum);
  }

  private static String list(String prefix, int count) {
    return IntStream.range(0, count)
        .mapToObj(i -> prefix + i)
        .collect(Collectors.joining(",", "{", "}"));
  }

  private static int[] run(
      Case c,
      AsyncTiming timing,
      MemorySegment shared,
      int[][] registers,
      int[][] sums,
      Boxes left,
      Boxes right) {
    var words = c.words();
    var product = new StringBuilder();
    int k = c.type(1) == Type.B1 ? 256 : c.k();
    product
        .append("mov.b64 %%rd8, 0x%x;\n".formatted(left.descriptor(c.step * c.k())))
        .append("mov.b64 %%rd9, 0x%x;\n".formatted(right.descriptor(c.step * c.k())))
        .append("wgmma.fence.sync.aligned;\n")
        .append("wgmma.mma_async.sync.aligned.m64n%dk%d.%s ".formatted(c.n, k, c.types))
        .append(list("%d", c.registers()))
        .append(c.left == null ? ", {%a0,%a1,%a2,%a3}" : ", %rd8")
        .append(", %rd9, ")
        .append(c.adds ? "%p1" : "%p2");
    if (c.isFloat()) {
      product.append(", %d, %d".formatted(c.scales.get(0), c.scales.get(1)));
      if (c.bits() == 16) {
        if (c.left != null) {
          product.append(c.leftByDepth ? ", 0" : ", 1");
        }
        product.append(c.rightByDepth ? ", 0" : ", 1");
      }
    }
    product.append(";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n");
    var type = words.getFirst().equals("f32") ? "f32" : "b32";
    return WgmmaTest.run(
        EmulatorOptions.DEFAULT.withAsyncTiming(timing),
        WgmmaTest.head(type, c.registers()) + product + WgmmaTest.tail(type, c.registers()),
        128,
        shared,
        registers,
        sums);
  }
}
