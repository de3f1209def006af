package dev.athanor.engine.lift;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.analysis.Assemblers;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.lift.ir.PtxNames;
import dev.athanor.engine.lift.refusal.LiftException;
import dev.athanor.engine.ptx.Kernel;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The parameters of kernels: their names, and the values that they may have. */
@SuppressWarnings("UnicodeInCode") // names of Java may have any letter
class ParametersTest {
  private static final EmulatedDevice DEVICE = new EmulatedDevice();

  @AfterAll
  static void close() {
    DEVICE.close();
  }

  @GpuKernel(blockSize = 1)
  static void quotients(int[] out, int row_length) {
    out[0] = row_length / 4;
    out[1] = row_length % 8;
    out[2] = row_length < 0 ? 1 : 2;
  }

  @GpuKernel(blockSize = 1)
  static void isLong(int[] out, long s_length) {
    out[0] = s_length > 3_000_000_000L ? 1 : 2;
  }

  @GpuKernel(blockSize = 1)
  static void isLarge(MemorySegment s, int[] out) {
    out[0] = s.byteSize() > 3_000_000_000L ? 1 : 2;
  }

  @GpuKernel(blockSize = 1)
  static void isNegative(MemorySegment s, int[] x, int[] out) {
    out[0] = s.byteSize() < 0 || x.length < 0 ? 1 : 2;
  }

  @GpuKernel(blockSize = 1)
  static void setAt(MemorySegment s, long at, MemorySegment sizes) {
    s.set(ValueLayout.JAVA_INT, at, 7);
    s.set(ValueLayout.JAVA_INT, sizes.byteSize(), 8);
  }

  @Test
  void aParameterNamedAsALengthMayBeNegative() {
    var out = new int[3];
    Kernels.of(ParametersTest::quotients).on(DEVICE).launch(1, out, -7);
    assertThat(out).containsExactly(-7 / 4, -7 % 8, 1);
  }

  @Test
  void aParameterNamedAsALengthMayBeAnyLong() {
    var out = new int[1];
    Kernels.of(ParametersTest::isLong).on(DEVICE).launch(1, out, 4_000_000_000L);
    assertThat(out).containsExactly(1);
  }

  @Test
  void aSegmentMayHaveMoreThanTwoGigabytes() {
    var ptx = Kernels.of(ParametersTest::isLarge).module(false).toString();
    assertThat(ptx).contains("setp.").contains("3000000000");
  }

  @Test
  void noLengthIsNegative() {
    var ptx = Kernels.of(ParametersTest::isNegative).module(false).toString();
    assertThat(ptx).doesNotContain("setp").contains("st.global.s32 [%rd0], 2;");
  }

  @Test
  void onlyMemoryIsWritten() {
    assertThat(Kernels.of(ParametersTest::setAt).parameters())
        .containsExactly(
            new KernelParameter("s", MemorySegment.class, true),
            new KernelParameter("at", long.class, false),
            new KernelParameter("sizes", MemorySegment.class, false));
  }

  @GpuKernel(blockSize = 1)
  static void größe(int[] p1, int größe, float[] x, int x_length, int fault_record, long[] $) {
    p1[0] = größe + x_length + fault_record;
    p1[1] = x.length + (int) $[1];
  }

  @GpuKernel(blockSize = 1)
  static void dynamic(int[] dynamic, int[] shared0, int WARP_SZ, int _x, int b$) {
    int[] first = Gpu.sharedInts(8);
    int[] second = Gpu.dynamicSharedInts();
    first[0] = shared0[0];
    second[0] = WARP_SZ;
    Gpu.barrier();
    dynamic[0] = first[0] + second[0] + _x + b$;
  }

  @GpuKernel(blockSize = 1)
  static void same(int[] same) {
    same[0] = 1;
  }

  @GpuKernel(blockSize = 1, name = "add.v2")
  static void withADot(int[] out) {
    out[0] = 1;
  }

  @GpuKernel(blockSize = 1, name = "_add$v2")
  static void withADollar(int[] out) {
    out[0] = 1;
  }

  @Test
  void javaNamesBecomeIdentifiersOfPtx() {
    var kernel = Kernels.of(ParametersTest::größe);
    var out = new int[2];
    kernel.on(DEVICE).checked(true).launch(1, out, 1, new float[7], 20, 300, new long[] {4, 5});
    assertThat(out).containsExactly(321, 12);
    assertThat(kernel.name()).isEqualTo("gr$00F6$00DFe");
    assertThat(kernel.module(true).kernels().getFirst().parameters())
        .extracting(Kernel.Parameter::name)
        .containsExactly(
            "p1",
            "gr$00F6$00DFe",
            "x",
            "x_length",
            "fault_record",
            "$0024",
            "p1$length",
            "x$length",
            "$0024$length",
            "$fault_record");
    assertThat(kernel.parameters()).extracting(KernelParameter::name).contains("größe", "$");
  }

  @Test
  void messagesHaveTheNamesOfJava() {
    var kernel = Kernels.of(ParametersTest::größe).on(DEVICE);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> kernel.launch(1, 1))
        .withMessage("größe has 6 parameters, got 1 arguments");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> kernel.launch(1, new int[2], 1f, new float[0], 0, 0, new long[2]))
        .withMessage("`größe` is int, got Float");
    assertThatThrownBy(() -> kernel.launch(1, new int[2], 1, new float[1], 0, 0, new long[1]))
        .isInstanceOf(CheckFailedException.class)
        .hasMessageContaining("index 1 is out of bounds for `$`, which has 1 elements")
        .hasMessageEndingWith(" of größe");
  }

  @Test
  void namesOfSharedArraysAndOfPtxCanBeParameters() {
    var out = new int[1];
    Kernels.of(ParametersTest::dynamic)
        .on(DEVICE)
        .dynamicShared(64)
        .launch(1, out, new int[] {1}, 20, 300, 4000);
    assertThat(out).containsExactly(4321);
    Kernels.of(ParametersTest::same).on(DEVICE).launch(1, (Object) out);
    assertThat(out).containsExactly(1);
  }

  @ParameterizedTest
  @ValueSource(strings = {"größe", "dynamic", "same", "withADollar"})
  void assemblersAcceptTheNames(String kernel) {
    var module = Kernels.of(ParametersTest.class, kernel).module(true);
    var assembled = Assemblers.any().assemble(module.toString(), module.target());
    assertThat(assembled.cubin()).isNotEmpty();
  }

  @Test
  void differentNamesStayDifferent() {
    var names =
        List.of("$", "$0024", "a$", "a$0024", "ä", "$00E4", "_", "_0", "0", "dynamic", "𝑥");
    assertThat(names.stream().map(PtxNames::encode))
        .doesNotHaveDuplicates()
        .allMatch(name -> name.matches("[A-Za-z]\\w*|_\\w+|[A-Za-z]?(\\$[0-9A-F]{4}\\w*)+"));
  }

  @Test
  void aDeclaredNameIsUsedAsItIs() {
    assertThat(Kernels.of(ParametersTest::withADollar).name()).isEqualTo("_add$v2");
    assertThatThrownBy(() -> Kernels.of(ParametersTest::withADot))
        .isInstanceOf(LiftException.class)
        .hasMessage(
            "ParametersTest.java: the name `add.v2` is no identifier of PTX; use ASCII letters,"
                + " digits, _ and $, and start with a letter; WARP_SZ and dynamic are reserved"
                + " (in withADot)");
  }
}
