package dev.athanor.engine.analysis.sass;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.athanor.engine.analysis.Assemblers;
import dev.athanor.engine.analysis.Assembly.Usage;
import dev.athanor.engine.ptx.Target;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class CubinTest {

  private static final int SECTION_TABLE = 40;
  private static final int FLAGS = 48;
  private static final int NAMES = 62;
  private static final Usage USAGE = new Usage(1, 0, 0, 0, 0);

  private static byte[] cubin(String ptx, String target) {
    return Assemblers.any().assemble(ptx, Target.of(target)).cubin();
  }

  private static void refused(byte[] file, String message) {
    assertThatExceptionOfType(CubinException.class)
        .isThrownBy(() -> Cubin.read(file))
        .withMessage(message);
  }

  private static byte[] changed(byte[] cubin, Consumer<ByteBuffer> change) {
    var copy = cubin.clone();
    change.accept(ByteBuffer.wrap(copy).order(ByteOrder.LITTLE_ENDIAN));
    return copy;
  }

  @ParameterizedTest
  @CsvSource({
    "ptxas, sm_80",
    "ptxas, sm_89",
    "ptxas, sm_90",
    "nvPTXCompiler, sm_80",
    "nvPTXCompiler, sm_89",
    "nvPTXCompiler, sm_90a"
  })
  void agreesWithTheLogOfTheAssembler(String name, String target) {
    var assembler = name.equals("ptxas") ? Assemblers.ptxas() : Assemblers.library();
    for (var ptx : List.of(SassKernels.product(), SassKernels.spilling())) {
      var assembly = assembler.assemble(ptx, Target.of(target));
      var cubin = Cubin.read(assembly.cubin());
      var kernel = cubin.kernels().getFirst();
      var usage = assembly.of(kernel.name());
      assertThat(cubin.sm()).isEqualTo(Target.of(target).sm());
      assertThat(kernel.registers()).isEqualTo(usage.registers());
      assertThat(kernel.frameBytes()).isEqualTo(usage.stackBytes());
      assertThat(kernel.staticSharedBytes()).isEqualTo(usage.staticSharedBytes());
    }
  }

  @Test
  void refusesWhatIsNoCubin() {
    refused(new byte[0], "Not a cubin: it has 0 bytes, and an ELF header has 64.");
    refused(new byte[64], "Not a cubin: it is not a 64-bit little-endian ELF file.");
    var elf = cubin(SassKernels.straight(), "sm_80");
    refused(
        changed(elf, file -> file.putShort(18, (short) 62)),
        "Not a cubin: its ELF machine is 62, and CUDA's is 190.");
  }

  @Test
  void refusesOldTargets() {
    var cubin = cubin(SassKernels.straight(), "sm_80");
    refused(
        changed(cubin, file -> file.putInt(FLAGS, 0x3d3d3d)),
        "The cubin is for sm_61; code of sm_70 and later can be decoded.");
  }

  @Test
  void refusesSectionsOutsideTheFile() {
    var cubin = cubin(SassKernels.straight(), "sm_80");
    int sections = ByteBuffer.wrap(cubin).order(ByteOrder.LITTLE_ENDIAN).getShort(60);
    refused(
        changed(cubin, file -> file.putLong(SECTION_TABLE, -64)),
        "Damaged cubin: its section table has %d bytes at -64, and the file has %d."
            .formatted(sections * 64, cubin.length));
    refused(
        changed(cubin, file -> file.putLong((int) file.getLong(SECTION_TABLE) + 64 + 32, 1L << 40)),
        "Damaged cubin: its section 1 has %d bytes at %d, and the file has %d."
            .formatted(1L << 40, offsetOfFirst(cubin), cubin.length));
    refused(
        changed(cubin, file -> file.putShort(NAMES, (short) sections)),
        "Damaged cubin: it has %1$d sections, and number %1$d has their names."
            .formatted(sections));
  }

  private static long offsetOfFirst(byte[] cubin) {
    var file = ByteBuffer.wrap(cubin).order(ByteOrder.LITTLE_ENDIAN);
    return file.getLong((int) file.getLong(SECTION_TABLE) + 64 + 24);
  }

  @Test
  void refusesBranchesOutOfTheCode() {
    var cubin = cubin(SassKernels.straight(), "sm_80");
    var file = ByteBuffer.wrap(cubin).order(ByteOrder.LITTLE_ENDIAN);
    // the branch to itself behind the code
    int at = 0;
    while (file.getLong(at) != 0xfffffff000007947L) {
      at += 8;
    }
    int branch = at;
    var address =
        Cubin.read(cubin).kernels().getFirst().instructions().stream()
            .filter(each -> each.kind() == InstructionClass.BRA)
            .findFirst()
            .orElseThrow()
            .address();
    refused(
        changed(cubin, copy -> copy.putLong(branch, 0x0ffffff000007947L)),
        "Damaged cubin: the branch at 0x%x of kernel straight does not lead to one of its instructions."
            .formatted(address));
  }

  @ParameterizedTest
  @ValueSource(strings = {"sm_80", "sm_90"})
  void truncatedFilesAreRefused(String target) {
    var cubin = cubin(SassKernels.product(), target);
    // the program headers are last, and they are not read
    int end = (int) ByteBuffer.wrap(cubin).order(ByteOrder.LITTLE_ENDIAN).getLong(32);
    for (int length = 0; length < end; length += 7) {
      var part = Arrays.copyOf(cubin, length);
      assertThatExceptionOfType(CubinException.class).isThrownBy(() -> Cubin.read(part));
    }
  }

  @Test
  void changedFilesAreReadOrRefused() {
    var cubin = cubin(SassKernels.product(), "sm_80");
    var random = new Random(1);
    int refused = 0;
    for (int i = 0; i < 20_000; i++) {
      var hostile = cubin.clone();
      for (int changes = 1 + random.nextInt(3); changes > 0; changes--) {
        hostile[random.nextInt(hostile.length)] = (byte) random.nextInt(256);
      }
      try {
        for (var kernel : Cubin.read(hostile).kernels()) {
          assertThatCode(() -> KernelCode.of(kernel, USAGE)).doesNotThrowAnyException();
        }
      } catch (CubinException e) {
        refused++;
        assertThat(e)
            .hasMessageMatching("(?s)(Not a cubin: |Damaged cubin: |The cubin is for ).*\\.");
      }
    }
    assertThat(refused).isBetween(100, 19_900);
  }
}
