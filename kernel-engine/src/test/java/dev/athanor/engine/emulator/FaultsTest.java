package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.DeviceException.KernelFault;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Execution;
import dev.athanor.engine.ptx.Type;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Faults of kernels and their messages, in each execution mode. */
@ParameterizedClass
@EnumSource(Execution.class)
class FaultsTest {

  private static final int LINE = Rig.FIRST_LINE;

  private final EmulatorOptions options;
  private final Rig rig;
  private Buffer out;
  private Buffer in;

  FaultsTest(Execution execution) {
    options = Rig.options(execution);
    rig = new Rig(options);
  }

  @BeforeEach
  void allocate() {
    out = rig.ints(new int[64]);
    in = rig.ints(new int[1024]);
  }

  @AfterEach
  void close() {
    rig.close();
  }

  private List<String> faults(int blocks, int threads, String body) {
    return faults(Argument.of(out), Argument.of(in), blocks, threads, body);
  }

  private List<String> faults(
      Argument first, Argument second, int blocks, int threads, String body) {
    var fault =
        catchThrowableOfType(
            KernelFault.class,
            () -> rig.run(body, Dim3.of(blocks), Dim3.of(threads), first, second, 1));
    assertThat(fault).as("a fault").isNotNull();
    assertThat(fault).hasMessage("kernel test failed: " + String.join("; ", fault.reports()));
    // the device remains usable
    assertThat(rig.run("st.global.u32 [%rd2], %r0;\n", 1, 2)).containsExactly(0, 1);
    return fault.reports();
  }

  @Test
  void addressBeyondABuffer() {
    assertThat(faults(3, 32, "st.global.u32 [%rd2], %r0;\n"))
        .hasSize(8)
        .startsWith(
            ("thread (0,0,0) of block (2,0,0) of kernel test, \"st.global.u32 [%%rd2], %%r0\" at"
                    + " test.ptx:%d:1: touches bytes 256..259 of a buffer of 256 bytes at 0x%x")
                .formatted(LINE, out.address()));
  }

  @Test
  void addressBeforeABuffer() {
    assertThat(faults(1, 1, "ld.global.v4.f32 {%f0,%f1,%f2,%f3}, [%rd2+-32];\n"))
        .containsExactly(
            ("thread (0,0,0) of block (0,0,0) of kernel test, \"ld.global.v4.f32 {%%f0, %%f1, %%f2,"
                    + " %%f3}, [%%rd2+-32]\" at test.ptx:%d:1: touches bytes -32..-17 of a buffer of"
                    + " 256 bytes at 0x%x")
                .formatted(LINE, out.address()));
  }

  @Test
  void accessAcrossTheEndOfABuffer() {
    assertThat(faults(1, 1, "ld.global.u64 %rd5, [%rd1+4092];\n"))
        .singleElement()
        .asString()
        .contains("not a multiple of 8");
    assertThat(faults(1, 1, "ld.global.v2.u64 {%rd5, %rd6}, [%rd1+4096];\n"))
        .singleElement()
        .asString()
        .endsWith(
            "touches bytes 4096..4111 of a buffer of 4096 bytes at 0x%x".formatted(in.address()));
  }

  @Test
  void misalignedAddress() {
    assertThat(faults(1, 32, "add.u64 %rd5, %rd3, 2;\nld.global.f32 %f0, [%rd5];\n"))
        .hasSize(8)
        .startsWith(
            ("thread (0,0,0) of block (0,0,0) of kernel test, \"ld.global.f32 %%f0, [%%rd5]\" at"
                    + " test.ptx:%d:1: address 0x%x is not a multiple of 4")
                .formatted(LINE + 1, in.address() + 2));
  }

  /** The message shows the instruction as written, not its normalized form. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "atom.global.add.u32 _, [%rd5], 1",
        "@!%p1 ld.global.u32 %rd6, [%rd5]",
        "ld.global.v2.s32 {%rd6, _}, [%rd5]",
        "st.global.u32 [%rd5], %rd6",
        "vote.sync.any.pred %p2, !%p1, 2"
      })
  void reportsInstructionsAsWritten(String instruction) {
    var body =
        "add.u64 %rd5, %rd3, 2; setp.ne.u32 %p1, %r0, %r0; mov.b64 %rd6, 0;\n"
            + instruction
            + ";\n";
    assertThat(faults(1, 1, body))
        .singleElement()
        .asString()
        .contains("kernel test, \"%s\" at test.ptx:%d:".formatted(instruction, LINE + 1));
  }

  @Test
  void nullPointer() {
    assertThat(
            faults(
                new Argument.Scalar(Type.U64, 0),
                Argument.of(in),
                1,
                2,
                "st.global.u32 [%rd2], %r0;\n"))
        .satisfiesExactly(
            first -> assertThat(first).endsWith("touches 4 bytes at 0x0, which is a null pointer"),
            second ->
                assertThat(second)
                    .endsWith("touches 4 bytes at 0x4, which is a null pointer and an offset"));
  }

  @Test
  void closedBuffer() {
    var closed = rig.ints(1, 2, 3, 4);
    var address = closed.address();
    closed.close();
    assertThat(
            faults(
                new Argument.Scalar(Type.U64, address),
                Argument.of(in),
                1,
                1,
                "ld.global.u32 %r5, [%rd2+8];\n"))
        .singleElement()
        .asString()
        .endsWith(
            "touches bytes 8..11 of a buffer of 16 bytes at 0x%x, which is closed"
                .formatted(address));
  }

  @Test
  void addressBeyondSharedMemory() {
    assertThat(faults(1, 1, "mov.u32 %r4, tile;\nld.shared.u32 %r5, [%r4+4096];\n"))
        .containsExactly(
            ("thread (0,0,0) of block (0,0,0) of kernel test, \"ld.shared.u32 %%r5, [%%r4+4096]\" at"
                    + " test.ptx:%d:1: touches bytes 4096..4099 of 4096 bytes of shared memory")
                .formatted(LINE + 1));
    assertThat(faults(1, 1, "mov.u32 %r5, -8;\nst.shared.u32 [%r5], %r5;\n"))
        .singleElement()
        .asString()
        .endsWith("touches bytes 4294967288..4294967291 of 4096 bytes of shared memory");
  }

  @Test
  void faultInSomeLanes() {
    var body =
        """
        setp.ge.u32 %p0, %r0, 30;
        shl.b32 %r5, %r0, 8;
        @%p0 ld.shared.u32 %r6, [%r5];
        """;
    assertThat(faults(1, 32, body))
        .satisfiesExactly(
            one -> assertThat(one).startsWith("thread (30,0,0)").contains("bytes 7680..7683"),
            two -> assertThat(two).startsWith("thread (31,0,0)").contains("bytes 7936..7939"));
  }

  @Test
  void misalignedMatrixRow() {
    var body =
        """
        shl.b32 %r5, %r0, 4;
        setp.eq.u32 %p0, %r0, 5;
        @%p0 add.u32 %r5, %r5, 8;
        ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r6}, [%r5];
        """;
    assertThat(faults(1, 32, body))
        .containsExactly(
            ("thread (5,0,0) of block (0,0,0) of kernel test,"
                    + " \"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%%r6}, [%%r5]\" at test.ptx:%d:1:"
                    + " address 0x58 is not a multiple of 16")
                .formatted(LINE + 3));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "ldmatrix.sync.aligned.m8n8.x1.b16 {%r6}, [%rd1];",
        "stmatrix.sync.aligned.m8n8.x1.b16 [%rd1], {%r6};"
      })
  void matrixRowsOutsideOfSharedMemory(String instruction) {
    assertThat(faults(1, 32, "mov.u32 %r6, 0;\n" + instruction))
        .containsExactly(
            "thread (0,0,0) of block (0,0,0) of kernel test, \"%s\" at test.ptx:%d:1: the address 0x%x is not in the shared memory of the block"
                .formatted(instruction.replace(";", ""), LINE + 1, in.address()));
  }

  @Test
  void asyncCopyBeyondItsSource() {
    assertThat(faults(1, 1, "cp.async.ca.shared.global [tile], [%rd1+4092], 8, 4;\n"))
        .singleElement()
        .asString()
        .endsWith("is not a multiple of 8");
    assertThat(faults(1, 1, "cp.async.cg.shared.global [tile], [%rd1+4096], 16;\n"))
        .singleElement()
        .asString()
        .endsWith(
            "touches bytes 4096..4111 of a buffer of 4096 bytes at 0x%x".formatted(in.address()));
    assertThat(faults(1, 1, "cp.async.ca.shared.global [tile], [%rd1], 8, 12;\n"))
        .singleElement()
        .asString()
        .endsWith("12 bytes are to be read, but only 8 copied");
  }

  @Test
  void divergentWarpInstruction() {
    var body =
        """
        setp.ge.u32 %p0, %r0, 16;
        @%p0 bra OTHER;
        ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r6}, [tile];
        OTHER:
        bar.sync 0;
        """;
    assertThat(faults(1, 32, body))
        .containsExactly(
            ("thread (0,0,0) of block (0,0,0) of kernel test,"
                    + " \"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%%r6}, [tile]\" at test.ptx:%d:1:"
                    + " waits forever for other threads of its warp; lanes 0x0000ffff of 0xffffffff"
                    + " arrived")
                .formatted(LINE + 2),
            ("thread (16,0,0) of block (0,0,0) of kernel test, \"bar.sync 0\" at test.ptx:%d:1: waits"
                    + " forever for other threads of its warp; lanes 0xffff0000 of 0xffffffff arrived")
                .formatted(LINE + 4));
  }

  @Test
  void warpInstructionInAPartialWarp() {
    var body =
        """
        shl.b32 %r5, %r0, 2;
        st.shared.u32 [%r5], %r0;
        bar.sync 0;
        ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r6}, [tile];
        """;
    assertThat(faults(1, 40, body))
        .singleElement()
        .asString()
        .startsWith("thread (32,0,0)")
        .endsWith("needs all 32 threads of its warp, but 24 have exited or never were");
  }

  @Test
  void predicatedWarpInstruction() {
    var body =
        """
        setp.lt.u32 %p0, %r0, 16;
        @%p0 ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r6}, [tile];
        """;
    assertThat(faults(1, 64, body))
        .singleElement()
        .asString()
        .startsWith("thread (0,0,0)")
        .endsWith("needs all 32 threads of its warp, but 16 have exited or never were");
  }

  @Test
  void barrierMissedByAWarp() {
    var body =
        """
        setp.lt.u32 %p0, %r0, 32;
        @%p0 bar.sync 1;
        bar.sync 0;
        """;
    assertThat(faults(1, 64, body))
        .satisfiesExactly(
            one ->
                assertThat(one).endsWith("waits forever at barrier 1; 32 of all threads arrived"),
            two ->
                assertThat(two)
                    .startsWith("thread (32,0,0)")
                    .endsWith("waits forever at barrier 0; 32 of all threads arrived"));
  }

  @Test
  void invalidBarrierNumber() {
    assertThat(faults(1, 32, "mov.u32 %r5, 16; bar.sync %r5;\n"))
        .singleElement()
        .asString()
        .endsWith("there is no barrier 16, only 0 to 15");
    assertThat(faults(1, 32, "mov.u32 %r5, 33; bar.sync 1, %r5;\n"))
        .singleElement()
        .asString()
        .endsWith("a barrier waits for a multiple of 32 threads, not for 33");
  }

  @Test
  void inconsistentBarrierCounts() {
    var body =
        """
        setp.lt.u32 %p0, %r0, 32;
        @%p0 bar.sync 1, 96;
        @!%p0 bar.sync 1, 64;
        """;
    assertThat(faults(1, 64, body))
        .singleElement()
        .asString()
        .endsWith("waits for 64 threads, but others at barrier 1 wait for 96 threads");
  }

  @Test
  void uniformBranchDiverges() {
    assertThat(
            faults(1, 32, "setp.lt.u32 %p0, %r0, 3;\n@%p0 bra.uni END;\nmov.u32 %r5, 0;\nEND:\n"))
        .singleElement()
        .asString()
        .endsWith("threads of one warp take different branches");
  }

  @Test
  void shuffleFromANonMember() {
    assertThat(faults(1, 32, "shfl.sync.idx.b32 %r5, %r0, 0, 31, 65535;\n"))
        .singleElement()
        .asString()
        .startsWith("thread (16,0,0)")
        .endsWith("the thread is lane 16, which its member mask 0x0000ffff leaves out");
  }

  @Test
  void reportsTheFirstBlocksFault() {
    try (var many = new Rig(options.withWorkers(8));
        var none = many.ints(0)) {
      for (int i = 0; i < 20; i++) {
        var fault =
            catchThrowableOfType(
                KernelFault.class,
                () ->
                    many.run(
                        "st.global.u32 [%rd2+4], %r0;\n", Dim3.of(200), Dim3.of(1), none, none, 1));
        assertThat(fault.reports()).singleElement().asString().contains("of block (0,0,0)");
      }
    }
  }
}
