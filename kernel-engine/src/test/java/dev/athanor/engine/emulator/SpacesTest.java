package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.DeviceException.KernelFault;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Execution;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.ptx.text.Parser;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Local, constant, parameter and generic memory, and module variables. */
@ParameterizedClass
@EnumSource(
    value = Execution.class,
    names = {"INTERPRETED", "COMPILED"})
class SpacesTest {

  private final EmulatorOptions options;
  private final Rig rig;

  SpacesTest(Execution execution) {
    options = Rig.options(execution);
    rig = new Rig(options);
  }

  @AfterEach
  void close() {
    rig.close();
  }

  /** Runs a module whose kernel {@code k} has a parameter {@code out}, with one word per thread. */
  private int[] run(String module, int threads) {
    var out = rig.ints(new int[threads]);
    var code = Parser.parse(".version 7.8 .target sm_90 .address_size 64\n" + module, "spaces.ptx");
    try (var stream = rig.device().openStream()) {
      stream.launch(
          new Launch(
              rig.device().load(code, "k"),
              Dim3.of(1),
              Dim3.of(threads),
              0,
              List.of(Argument.of(out))));
    }
    return rig.read(out);
  }

  private static String kernel(String declarations, String body) {
    return declarations
        + """
        .visible .entry k(.param .u64 out) {
          .reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<32>;
          ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x;
          mul.wide.u32 %rd1, %r0, 4; add.u64 %rd0, %rd0, %rd1;
        """
        + body
        + "st.global.u32 [%rd0], %r1; ret; }\n";
  }

  @Test
  void threadsHaveSeparateLocalMemory() {
    var body =
        """
        .local .align 8 .b8 frame[16];
        mov.u64 %rd2, frame; cvta.local.u64 %rd3, %rd2;
        st.local.u32 [frame+4], %r0;
        add.u32 %r2, %r0, 100; st.u32 [%rd3+8], %r2;
        ld.u32 %r3, [%rd3+4]; ld.local.u32 %r4, [%rd2+8];
        add.u32 %r1, %r3, %r4;
        """;
    assertThat(run(kernel("", body), 40)).startsWith(100, 102, 104).endsWith(178);
  }

  @Test
  void localMemoryIsBounded() {
    var fault =
        catchThrowableOfType(
            KernelFault.class,
            () ->
                run(
                    kernel(
                        "",
                        """
                        .local .align 4 .b8 frame[20];
                        mov.u64 %rd2, frame;
                        ld.local.u32 %r1, [%rd2+32];
                        """),
                    1));
    assertThat(fault.reports())
        .singleElement()
        .asString()
        .endsWith("touches bytes 32..35 of 32 bytes of the thread's local memory");
  }

  @Test
  void variablesAreInitializedAndPersist() {
    var module =
        kernel(
            """
            .global .u32 count = 5;
            .global .align 8 .u64 place = count;
            .const .align 4 .u32 primes[4] = {2, 3, 5, 7};
            """,
            """
            ld.global.u64 %rd2, [place];
            atom.global.add.u32 %r2, [%rd2], 1;
            mov.u64 %rd3, primes; ld.const.u32 %r3, [%rd3+8];
            cvta.const.u64 %rd4, %rd3; ld.u32 %r4, [%rd4+12];
            isspacep.const %p0, %rd4; selp.u32 %r5, 1000, 0, %p0;
            mad.lo.u32 %r1, %r3, %r4, %r2; add.u32 %r1, %r1, %r5;
            """);
    assertThat(run(module, 2)).containsExactly(1040, 1041);
    assertThat(run(module, 1)).containsExactly(1042);
  }

  @Test
  void storesToConstantsAndBeyondVariablesFault() {
    var fault =
        catchThrowableOfType(
            KernelFault.class,
            () ->
                run(
                    kernel(
                        ".global .u32 count;\n",
                        "mov.u64 %rd2, count; st.global.u32 [%rd2+4], %r0; mov.u32 %r1, 0;\n"),
                    1));
    assertThat(fault.reports())
        .singleElement()
        .asString()
        .contains("touches bytes 4..7 of variable count of 4 bytes at 0x");
  }

  @Test
  void rejectsExternalVariables() {
    var refused =
        catchThrowableOfType(
            DeviceException.LoadFailed.class,
            () -> run(kernel(".extern .global .u32 far[];\n", "mov.u32 %r1, 0;\n"), 1));
    assertThat(refused)
        .hasMessageContaining("is defined in another module, and modules are not linked");
  }

  @Test
  void genericAddressesReachAllSpaces() {
    var body =
        """
        .shared .align 4 .u32 cell[64];
        mov.u64 %rd2, cell; cvta.shared.u64 %rd3, %rd2; add.u64 %rd3, %rd3, %rd1;
        st.u32 [%rd3], %r0; bar.sync 0;
        isspacep.shared %p0, %rd3; isspacep.global %p1, %rd0; isspacep.local %p2, %rd3;
        cvta.to.shared.u64 %rd4, %rd3; ld.shared.u32 %r2, [%rd4];
        selp.u32 %r3, 100, 0, %p0; selp.u32 %r4, 200, 0, %p1; selp.u32 %r5, 400, 0, %p2;
        setp.lt.u32 %p3, %r0, 1; selp.b64 %rd5, %rd3, %rd0, %p3;
        st.u32 [%rd5], 7; ld.u32 %r6, [%rd5];
        add.u32 %r1, %r2, %r3; add.u32 %r1, %r1, %r4; add.u32 %r1, %r1, %r5;
        mad.lo.u32 %r1, %r6, 1000, %r1;
        """;
    assertThat(run(kernel("", body), 3)).containsExactly(7300, 7301, 7302);
  }

  @Test
  void arrayParametersAndTheirAddresses() {
    var module =
        Parser.parse(
            """
            .version 7.8 .target sm_90 .address_size 64
            .visible .entry k(.param .u8 first, .param .align 16 .b8 block[32], .param .u64 out) {
              .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .b16 %rs<2>;
              ld.param.u64 %rd0, [out]; ld.param.v4.u32 {%r0, %r1, %r2, %r3}, [block+16];
              mov.b64 %rd1, block; cvta.param.u64 %rd2, %rd1; ld.u32 %r4, [%rd2+4];
              ld.param.u8 %rs0, [first]; cvt.u32.u16 %r5, %rs0;
              add.u32 %r6, %r3, %r4; add.u32 %r6, %r6, %r5; st.global.u32 [%rd0], %r6; ret;
            }
            """,
            "parameters.ptx");
    var out = rig.ints(0);
    var block = MemorySegment.ofArray(new int[] {1, 20, 3, 4, 5, 6, 7, 300});
    try (var stream = rig.device().openStream()) {
      var kernel = rig.device().load(module, "k");
      stream.launch(
          new Launch(
              kernel,
              Dim3.of(1),
              Dim3.of(1),
              0,
              List.of(
                  new Argument.Scalar(dev.athanor.engine.ptx.Type.U8, 4000 & 0xFF),
                  new Argument.Bytes(block),
                  Argument.of(out))));
      assertThat(rig.read(out)).containsExactly(320 + (4000 & 0xFF));
      var refused =
          catchThrowableOfType(
              IllegalArgumentException.class,
              () ->
                  stream.launch(
                      new Launch(
                          kernel,
                          Dim3.of(1),
                          Dim3.of(1),
                          0,
                          List.of(
                              new Argument.Scalar(dev.athanor.engine.ptx.Type.U8, 1),
                              new Argument.Bytes(block.asSlice(4)),
                              Argument.of(out)))));
      assertThat(refused)
          .hasMessageContaining("for parameter block of type .b8[32]")
          .hasMessageStartingWith("cannot launch k: got ");
    }
  }

  @Test
  void clocksAdvanceReproducibly() {
    var body =
        """
        mov.u32 %r2, %clock; mov.u64 %rd2, %clock64; mov.u32 %r3, %clock;
        sub.u32 %r1, %r3, %r2; cvt.u32.u64 %r4, %rd2; setp.gt.u32 %p0, %r4, %r2;
        selp.u32 %r1, %r1, 0, %p0;
        """;
    var first = run(kernel("", body), 1);
    assertThat(first[0]).isPositive();
    assertThat(run(kernel("", body), 1)).isEqualTo(first);
  }

  /**
   * Lanes that exchange values between fences, without a barrier, execute each instruction
   * together, also if the store and the load name shared memory differently.
   */
  @ParameterizedTest
  @CsvSource({
    "st.u32 [%rd5], st.shared.u32 [%r5], ld.shared.u32",
    "st.shared::cta.u32 [%r5], st.u32 [%rd5], ld.shared.u32",
    "st.shared.u32 [%r5], st.shared.u32 [%r5], ld.shared::cta.u32"
  })
  void lockstepExchangeThroughAliases(String first, String second, String load) {
    try (var unwatched = new Rig(options.withSanitize(Sanitize.OFF))) {
      var body =
          """
          mov.u32 %%r6, tile; shl.b32 %%r5, %%r0, 2; add.u32 %%r5, %%r5, %%r6;
          cvt.u64.u32 %%rd5, %%r5; cvta.shared.u64 %%rd5, %%rd5;
          xor.b32 %%r7, %%r5, 4;
          membar.cta;
          %s, %%r0;
          %s %%r8, [%%r7];
          membar.cta;
          %s, %%r8;
          %s %%r9, [%%r7];
          membar.cta;
          st.global.u32 [%%rd2], %%r9;
          """
              .formatted(first, load, second, load);
      assertThat(unwatched.run(body, 1, 32)).isEqualTo(IntStream.range(0, 32).toArray());
    }
  }
}
