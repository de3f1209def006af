package dev.athanor.vulkan.spirv;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.lift.Gpu;
import dev.athanor.engine.lift.GpuKernel;
import dev.athanor.engine.lift.Kernels;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.check.Inliner;
import dev.athanor.testing.TestTier;
import dev.athanor.vulkan.TestDevice;
import dev.athanor.vulkan.flow.UnsupportedKernelException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Compares small kernels on a Vulkan device with the emulator, and validates their shaders. */
class TranslatorTest {

  private static final int THREADS = 64;
  private static final int BLOCKS = 4;

  private static final ShaderFeatures SUBGROUPS =
      new ShaderFeatures(true, true, true, true, true, true, true, true, true, Set.of(), 32 << 10);

  /** The features of Mesa's CPU driver. */
  private static final ShaderFeatures SHARED_MEMORY =
      new ShaderFeatures(
          false, true, true, true, true, false, false, false, false, Set.of(), 32 << 10);

  private static @Nullable Device vulkan;

  @AfterAll
  static void closeDevice() {
    if (vulkan != null) {
      vulkan.close();
      vulkan = null;
    }
  }

  static List<String> exact() {
    return Stream.concat(SmallKernels.EXACT.stream(), SmallKernels.THREADS.stream()).toList();
  }

  static List<String> numbers() {
    return SmallKernels.NUMBERS;
  }

  static List<String> approximate() {
    return SmallKernels.APPROXIMATE;
  }

  static List<String> all() {
    return Stream.of(exact(), numbers(), approximate()).flatMap(List::stream).toList();
  }

  @ParameterizedTest
  @MethodSource("all")
  void shadersAreValid(String instructions) {
    for (var features : List.of(SUBGROUPS, SHARED_MEMORY)) {
      var kernel = SmallKernels.module(instructions).kernel("small").orElseThrow();
      var shader = Translator.translate(kernel, Dim3.of(THREADS), 0, features);
      SpirvVal.require(shader);
    }
  }

  @ParameterizedTest
  @MethodSource("exact")
  void equalsTheEmulator(String instructions) {
    var module = SmallKernels.module(instructions);
    assertThat(run(vulkan(), module, input(instructions)))
        .isEqualTo(run(new EmulatedDevice(), module, input(instructions)));
  }

  @ParameterizedTest
  @MethodSource("numbers")
  void numbersEqualTheEmulator(String instructions) {
    var module = SmallKernels.module(instructions);
    assertThat(canonical(run(vulkan(), module, input(instructions))))
        .isEqualTo(canonical(run(new EmulatedDevice(), module, input(instructions))));
  }

  @ParameterizedTest
  @MethodSource("approximate")
  void approximationsAreNear(String instructions) {
    var module = SmallKernels.module(instructions);
    var found = run(vulkan(), module, input(instructions));
    var expected = run(new EmulatedDevice(), module, input(instructions));
    for (int i = 0; i < found.length; i += 2) {
      assertNear(
          Double.longBitsToDouble(found[i]), Double.longBitsToDouble(expected[i]), instructions);
      assertNear(
          Float.intBitsToFloat((int) found[i + 1]),
          Float.intBitsToFloat((int) expected[i + 1]),
          instructions);
    }
  }

  private static void assertNear(double found, double expected, String instructions) {
    // with a divisor above 2^126, div.approx returns 0 or NaN (PTX ISA), and a shader the quotient
    boolean isLarge =
        instructions.contains("div.approx") && (expected == 0 || Double.isNaN(expected));
    assertThat(isLarge || near(found, expected)).as("%s and %s", found, expected).isTrue();
  }

  private static boolean near(double a, double b) {
    return Double.compare(a, b) == 0
        || (Double.isNaN(a) && Double.isNaN(b))
        || Math.abs(a - b) <= Math.max(0x1p-10 * Math.abs(b), 0x1p-126);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "bar.sync 1, 32; : a barrier of Vulkan has no number and is for all threads of the block",
        "mov.u32 %d, %clock; : it reads %clock",
        "add.rz.f64 %ld, %la, %lb; : it rounds f64 in a given direction",
        "cvta.shared.u64 %ld, %la; : it has cvta.shared.u64",
        "cvt.rz.f16.f32 %h, %a; : it rounds to f16 with .rz; only .rn is supported",
        "trap; : it has trap",
        "@%r bra other; bar.sync 0; bra.uni end; other: bar.sync 0; end: : threads of a block may wait"
            + " at a barrier in different branches"
      })
  void saysWhyItRefuses(String line) {
    var parts = line.split(" : ", 2);
    var kernel = SmallKernels.module(parts[0]).kernel("small").orElseThrow();
    assertThatThrownBy(() -> Translator.translate(kernel, Dim3.of(64), 0, SHARED_MEMORY))
        .isInstanceOf(UnsupportedKernelException.class)
        .hasMessageStartingWith("it cannot run on Vulkan: ")
        .hasMessageContaining(parts[1]);
  }

  @GpuKernel
  static void prints(int[] numbers) {
    Gpu.print("%d%n", numbers[0]);
  }

  @Test
  void refusesKernelsThatPrint() {
    var kernel = new Inliner(Kernels.of(TranslatorTest::prints).module(false)).kernel("prints");
    assertThatThrownBy(() -> Translator.translate(kernel, Dim3.of(64), 0, SHARED_MEMORY))
        .isInstanceOf(UnsupportedKernelException.class)
        .hasMessage("it cannot run on Vulkan: it calls vprintf, which only CUDA devices have");
  }

  @Test
  void refusesF64WithoutTheFeature() {
    var kernel = SmallKernels.module("add.f64 %ld, %la, %lb;").kernel("small").orElseThrow();
    var features =
        new ShaderFeatures(
            true, true, true, true, false, true, true, true, true, Set.of(), 32 << 10);
    assertThatThrownBy(() -> Translator.translate(kernel, Dim3.of(64), 0, features))
        .hasMessageContaining("it computes with f64, which the device lacks");
  }

  private static Device vulkan() {
    TestDevice.require();
    if (vulkan == null) {
      vulkan = TestDevice.open();
    }
    return vulkan;
  }

  /** Returns random words, of which many are special numbers. */
  private static long[] input(String instructions) {
    var random = new SplittableRandom(TestTier.seed() + instructions.hashCode());
    int[] words = {
      0,
      1,
      -1,
      0x7FFF_FFFF,
      0x8000_0000,
      0x3F80_0000,
      0xC020_0000,
      0x7F80_0000,
      0xFF80_0000,
      0x7FC0_0000,
      0x7FF0_0000,
      0x4EFF_FFFF,
      0x0000_7C01,
      0x4170_0000,
      0x0040_0000
    };
    return LongStream.generate(() ->
            switch (random.nextInt(4)) {
              case 0 -> random.nextLong();
              case 1 -> pair(words, random);
              case 2 -> {
                float number = (float) random.nextDouble(-100, 100);
                long low = Float.floatToRawIntBits(number) & 0xFFFF_FFFFL;
                yield low | (Double.doubleToRawLongBits(number) & 0xFFFF_FFFF_0000_0000L);
              }
              default -> random.nextLong(-40, 40);
            })
        .limit((long) SmallKernels.INPUTS * THREADS * BLOCKS)
        .toArray();
  }

  private static long pair(int[] words, SplittableRandom random) {
    return (long) words[random.nextInt(words.length)] << 32
        | (words[random.nextInt(words.length)] & 0xFFFF_FFFFL);
  }

  private static long[] run(Device device, Module module, long[] input) {
    int outputs = 2 * THREADS * BLOCKS;
    try (var arena = Arena.ofConfined();
        var in = device.allocate(8L * input.length);
        var out = device.allocate(8L * outputs);
        var stream = device.openStream()) {
      var host = arena.allocateFrom(ValueLayout.JAVA_LONG, input);
      stream.upload(host, in, 0);
      stream.fill(out, 0, 8L * outputs, (byte) 0);
      stream.launch(
          new Launch(
              device.load(module, "small"),
              Dim3.of(BLOCKS),
              Dim3.of(THREADS),
              0,
              List.of(new Argument.Pointer(in, 0), new Argument.Pointer(out, 0))));
      MemorySegment result = arena.allocate(8L * outputs, 8);
      stream.download(out, 0, result);
      stream.synchronize();
      return result.toArray(ValueLayout.JAVA_LONG);
    }
  }

  /** Returns results in which all NaN are alike. */
  private static long[] canonical(long[] results) {
    return IntStream.range(0, results.length)
        .mapToLong(i ->
            i % 2 == 0
                ? Double.doubleToLongBits(Double.longBitsToDouble(results[i]))
                : Float.floatToIntBits(Float.intBitsToFloat((int) results[i])))
        .toArray();
  }
}
