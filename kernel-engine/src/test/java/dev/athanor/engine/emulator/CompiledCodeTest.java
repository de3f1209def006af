package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.DeviceException.KernelFault;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Execution;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.emulator.run.LoadedProgram;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.RandomKernels;
import dev.athanor.engine.ptx.Samples;
import dev.athanor.engine.ptx.text.Parser;
import dev.athanor.testing.TestTier;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Checks that compiled code is used and gives the interpreter's results, bit by bit. */
class CompiledCodeTest {

  private static final int KERNELS = TestTier.choose(50, 200, 10_000);
  private static final long SEED = TestTier.seed();

  private static final EmulatorOptions INTERPRETED =
      EmulatorOptions.DEFAULT
          .withWorkers(1)
          .withSanitize(Sanitize.OFF)
          .withExecution(Execution.INTERPRETED);
  private static final EmulatorOptions COMPILED = INTERPRETED.withExecution(Execution.COMPILED);

  @Test
  void randomKernelsAgree() {
    try (var interpreter = new EmulatedDevice(INTERPRETED);
        var compiler = new EmulatedDevice(COMPILED)) {
      for (long seed = SEED; seed < SEED + KERNELS; seed++) {
        var module = RandomKernels.module(seed);
        if (module.toString().contains("%clock") || module.toString().contains("%globaltimer")) {
          continue; // clocks advance with each read, and the order of reads is unspecified
        }
        var in = new int[RandomKernels.THREADS * RandomKernels.BYTES / 4];
        var random = new Random(seed);
        // words of all magnitudes, including floats
        Arrays.setAll(
            in,
            i ->
                switch (i % 3) {
                  case 0 -> random.nextInt();
                  case 1 -> random.nextInt() >> random.nextInt(32);
                  default -> Float.floatToRawIntBits((float) random.nextGaussian());
                });
        var actual = run(compiler, module, in);
        var expected = run(interpreter, module, in);
        int word = Arrays.mismatch(actual, expected);
        assertThat(word)
            .as("word that differs of random kernel %d, seed %d:%n%s", seed, seed, module)
            .isEqualTo(-1);
        assertThat(program(compiler, module, "random").segments()).as("seed " + seed).isPositive();
      }
    }
  }

  private static int[] run(EmulatedDevice device, Module module, int[] in) {
    // not a multiple of the warp size
    int threads = RandomKernels.THREADS - 5;
    try (var from = device.allocate(4L * in.length);
        var to = device.allocate(4L * in.length);
        var stream = device.openStream()) {
      stream.upload(MemorySegment.ofArray(in), from, 0);
      stream.upload(MemorySegment.ofArray(new int[in.length]), to, 0);
      stream.launch(
          new Launch(
              device.load(module, "random"),
              Dim3.of(1),
              Dim3.of(threads),
              0,
              List.of(Argument.of(from), Argument.of(to))));
      var out = new int[in.length];
      stream.download(to, 0, MemorySegment.ofArray(out));
      return out;
    }
  }

  private static LoadedProgram program(EmulatedDevice device, Module module, String kernel) {
    return EmulatedDevice.program(device.load(module, kernel));
  }

  @ParameterizedTest
  @ValueSource(strings = {"COMPILED", "TIERED"})
  void compilesMostOfAMatrixProduct(Execution execution) {
    int side = 256;
    var module = Parser.parse(Samples.text("k03_matmul_tiled.sm_80.ptx"), "matmul.ptx");
    long interpreted = instructions(INTERPRETED, module, side);
    long left = instructions(INTERPRETED.withExecution(execution), module, side);
    if (execution == Execution.COMPILED) {
      assertThat(left).isBetween(1L, interpreted / 5);
    } else {
      assertThat(left).isBetween(1L << 19, interpreted * 9 / 10);
    }
  }

  /** Returns the number of interpreted instructions of a matrix product. */
  private static long instructions(EmulatorOptions options, Module module, int side) {
    try (var device = new EmulatedDevice(options);
        var stream = device.openStream();
        var matrix = device.allocate(4L * side * side);
        var product = device.allocate(4L * side * side)) {
      stream.upload(MemorySegment.ofArray(new int[side * side]), matrix, 0);
      stream.launch(
          new Launch(
              device.load(module, "matmul_tiled"),
              new Dim3(side / 16, side / 16, 1),
              new Dim3(16, 16, 1),
              0,
              List.of(
                  Argument.of(matrix),
                  Argument.of(matrix),
                  Argument.of(product),
                  Argument.of(side),
                  Argument.of(side),
                  Argument.of(side))));
      var program = program(device, module, "matmul_tiled");
      boolean compiles = options.execution() != Execution.INTERPRETED;
      assertThat(program.segments()).isGreaterThanOrEqualTo(compiles ? side : 0);
      return program.interpreted();
    }
  }

  /** Threads fault in a loop, each in another iteration. */
  private static final String FAULTS_IN_ROUNDS =
      """
      mov.u32 %r10, 0;
      $again:
      sub.u32 %r11, 40, %r0; setp.eq.u32 %p0, %r10, %r11; selp.b32 %r12, 1, 0, %p0;
      mad.lo.u32 %r13, %r12, 1000000, %r10; mul.wide.u32 %rd10, %r13, 4;
      add.u64 %rd11, %rd1, %rd10;
      STORE
      ld.global.u32 %r14, [%rd11];
      add.u32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, 64; @%p1 bra $again;
      st.global.u32 [%rd2], %r14;
      """;

  private static KernelFault fault(EmulatorOptions options, String body) {
    try (var rig = new Rig(options)) {
      return catchThrowableOfType(KernelFault.class, () -> rig.run(body, 1, 48, new int[64]));
    }
  }

  @Test
  void reportsTheInterpretersFirstFault() {
    var body = FAULTS_IN_ROUNDS.replace("STORE", "");
    var expected = fault(INTERPRETED, body);
    assertThat(expected).hasMessageContaining("touches bytes");
    assertThat(fault(COMPILED, body)).hasMessage(expected.getMessage());
  }

  /** A block does not restart once memory has changed: a thread's counter would count twice. */
  @Test
  void reportsARealFaultAfterStores() {
    var body =
        FAULTS_IN_ROUNDS.replace(
            "STORE",
            "ld.global.u32 %r20, [%rd2]; add.u32 %r20, %r20, 1; st.global.u32 [%rd2], %r20;");
    try (var rig = new Rig(COMPILED);
        var out = rig.ints(new int[48]);
        var in = rig.ints(new int[64])) {
      var fault =
          catchThrowableOfType(
              KernelFault.class, () -> rig.run(body, Dim3.of(1), Dim3.of(48), out, in, 0));
      assertThat(fault).hasMessageContaining("ld.global.u32 %r14, [%rd11]");
      // thread 40 - i faults in iteration i
      assertThat(rig.read(out)[0]).isBetween(1, 41);
      assertThat(rig.read(out)[31]).isBetween(1, 10);
    }
  }

  /** Loads vectors into the register of their address, with the last element out of bounds. */
  @Test
  void failedAccessesHaveNoEffect() {
    var body =
        """
        mov.u32 %r10, tile; add.u32 %r10, %r10, 4096;
        ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r10];
        st.global.u32 [%rd2], %r10;
        """;
    var expected = fault(INTERPRETED, body);
    assertThat(expected).hasMessageContaining("touches bytes 4096..4111 of 4096");
    assertThat(fault(COMPILED, body)).hasMessage(expected.getMessage());
  }

  /**
   * A thread polls with plain loads for another thread of its warp, which stores later in the code.
   */
  @ParameterizedTest
  @ValueSource(strings = {"INTERPRETED", "COMPILED"})
  void loopsYieldToOtherThreads(Execution execution) {
    var body =
        """
        setp.eq.u32 %p0, %r0, 33;
        @%p0 bra $write;
        $wait:
        ld.shared.u32 %r10, [tile];
        setp.ne.u32 %p1, %r10, 7;
        @%p1 bra $wait;
        bra $end;
        $write:
        mov.u32 %r10, 7;
        st.shared.u32 [tile], %r10;
        $end:
        st.global.u32 [%rd2], %r10;
        """;
    try (var rig = new Rig(INTERPRETED.withExecution(execution))) {
      assertThat(rig.run(body, 1, 64)).containsOnly(7);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"INTERPRETED", "COMPILED"})
  void reportsEndlessLoops(Execution execution) {
    var options = INTERPRETED.withExecution(execution).withPatience(1 << 20);
    var expected = fault(options, "mov.u32 %r10, 0; $ever: add.u32 %r10, %r10, 1; bra $ever;");
    assertThat(expected)
        .hasMessageContaining("loops forever with lanes 0xffffffff; in 1048576 backward jumps");
  }

  /** 64-bit and 1-bit special registers are stored differently from 32-bit ones. */
  @ParameterizedTest
  @ValueSource(strings = {"INTERPRETED", "COMPILED"})
  void specialRegistersOfAllWidths(Execution execution) {
    var body =
        """
        mov.u64 %rd10, %gridid; cvt.u32.u64 %r10, %rd10;
        mov.pred %p0, %is_explicit_cluster; selp.u32 %r11, 100, 0, %p0;
        mov.u32 %r12, %laneid; add.u32 %r10, %r10, %r11; add.u32 %r10, %r10, %r12;
        st.global.u32 [%rd2], %r10;
        """;
    try (var rig = new Rig(INTERPRETED.withExecution(execution))) {
      assertThat(rig.run(body, 1, 3)).containsExactly(0, 1, 2);
    }
  }
}
