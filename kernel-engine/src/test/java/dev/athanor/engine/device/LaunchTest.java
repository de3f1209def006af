package dev.athanor.engine.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Kernel.SharedArray;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.text.Parser;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LaunchTest {

  @ParameterizedTest
  @CsvSource({
    "'.reqntid 32, 2', '64, 1', 1, 'a block of 64x1x1 threads; the kernel requires 32x2x1'",
    "'.reqntid 64', '32, 1', 1, 'a block of 32x1x1 threads; the kernel requires 64x1x1'",
    "'.maxntid 32, 2', '65, 1', 1, 'a block of 65x1x1 threads; the limit of the kernel is 64'",
    "'.reqnctapercluster 2', '1, 1', 3,"
        + " 'a grid of 3x1x1 blocks, which is not a multiple of the clusters of 2x1x1'"
  })
  void rejectsShapesBeyondLaunchBounds(String directive, String block, int blocks, String problem) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> check(directive, block, blocks))
        .withMessage("cannot launch k: got " + problem);
  }

  /** A GPU that this project does not know. */
  private static final Capability DEVICE =
      new Capability(
          "test:0", "test device", Target.of("sm_89"), "0", 1, 1024, 49_152, 101_376, 1L << 30);

  /** A kernel without directives, and its resource usage. */
  private record Loaded(int registers, int staticShared) implements LoadedKernel {

    @Override
    public Kernel kernel() {
      var arrays =
          List.of(
              new SharedArray("tile", 16, staticShared),
              new SharedArray("dynamic", 16, SharedArray.DYNAMIC));
      return new Kernel("k", List.of(), arrays, 0, 0, List.of());
    }

    @Override
    public Origin origin() {
      return Origin.HIT;
    }
  }

  private static void refuses(int registers, Dim3 grid, Dim3 block, int shared, String got) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> launch(registers, grid, block, shared))
        .withMessage("cannot launch k: got " + got);
  }

  private static void launch(int registers, Dim3 grid, Dim3 block, int shared) {
    new Launch(new Loaded(registers, 0), grid, block, shared, List.of()).check(DEVICE);
  }

  @ParameterizedTest
  @CsvSource({"64, 1024", "255, 256", "168, 384", "128, 512", "72, 896", "0, 1024"})
  void acceptsAllRegistersOfABlock(int registers, int threads) {
    assertThatCode(() -> launch(registers, Dim3.of(1), Dim3.of(threads), 0))
        .doesNotThrowAnyException();
  }

  @ParameterizedTest
  @CsvSource({
    "65, 1024, 73728",
    "255, 257, 73728",
    "255, 1024, 262144",
    "169, 384, 67584",
    "72, 897, 66816"
  })
  void rejectsTooManyRegisters(int registers, int threads, int all) {
    refuses(
        registers,
        Dim3.of(1),
        Dim3.of(threads),
        0,
        "a block of %dx1x1 threads with %d registers each, %d in whole warps; the limit of test device is 65536"
            .formatted(threads, registers, all));
  }

  @Test
  void rejectsShapesBeyondDeviceLimits() {
    var one = Dim3.of(1);
    refuses(
        8, one, Dim3.of(1025), 0, "a block of 1025x1x1 threads; the limit of test device is 1024");
    refuses(
        8,
        one,
        new Dim3(8, 8, 17),
        0,
        "a block of 8x8x17 threads; the limit of test device is 1024");
    refuses(
        8,
        one,
        new Dim3(1, 1, 65),
        0,
        "a block of 1x1x65 threads; the limit of test device for z is 64");
    refuses(
        8,
        Dim3.of(1, 65_536),
        one,
        0,
        "a grid of 1x65536x1 blocks; the limit of test device for y and z is 65535");
    refuses(
        8,
        new Dim3(1, 1, 65_536),
        one,
        0,
        "a grid of 1x1x65536 blocks; the limit of test device for y and z is 65535");
    assertThatCode(() -> launch(8, new Dim3(Integer.MAX_VALUE, 65_535, 65_535), one, 0))
        .doesNotThrowAnyException();
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Dim3.of(0))
        .withMessage("every extent must be at least 1, got 0x1x1");
  }

  /** The product of the extents is 2^64, which overflows to 0. */
  @Test
  void extentsDoNotOverflow() {
    var huge = new Dim3(1 << 30, 1 << 30, 16);
    assertThat(huge.count()).isEqualTo(Long.MAX_VALUE);
    assertThat(new Dim3(Integer.MAX_VALUE, 65_535, 65_535).count())
        .isEqualTo(2_147_483_647L * 65_535 * 65_535);
    refuses(
        8,
        Dim3.of(1),
        huge,
        0,
        "a block of 1073741824x1073741824x16 threads; the limit of test device is 1024");
    refuses(
        255,
        Dim3.of(1),
        Dim3.of(1024),
        Integer.MAX_VALUE,
        "2147483647 bytes of shared memory; the limit of test device is 101376 per block");
  }

  @Test
  void addsStaticAndDynamicSharedMemory() {
    assertThatCode(() -> launch(8, Dim3.of(1), Dim3.of(1), 101_376)).doesNotThrowAnyException();
    refuses(
        8,
        Dim3.of(1),
        Dim3.of(1),
        101_377,
        "101377 bytes of shared memory; the limit of test device is 101376 per block");
    var both = new Loaded(8, 4096);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new Launch(both, Dim3.of(1), Dim3.of(1), 97_281, List.of()).check(DEVICE))
        .withMessage(
            "cannot launch k: got 101377 bytes of shared memory; the limit of test device is 101376 per block");
  }

  /** CUDA permits it, for example to limit the blocks per multiprocessor. */
  @Test
  void acceptsDynamicSharedMemoryWithoutAnArray() {
    try (var device = new EmulatedDevice();
        var stream = device.openStream()) {
      var module =
          Parser.parse(".version 8.0\n.target sm_80\n.visible .entry k()\n{ ret; }\n", "k.ptx");
      var loaded = device.load(module, "k");
      stream.launch(new Launch(loaded, Dim3.of(1), Dim3.of(32), 32, List.of()));
      stream.synchronize();
    }
  }

  @Test
  void acceptsValidShapes() {
    assertThatCode(() -> check(".reqntid 32, 2", "32, 2", 1)).doesNotThrowAnyException();
    assertThatCode(() -> check(".maxntid 32, 2", "64, 1", 1)).doesNotThrowAnyException();
    assertThatCode(() -> check(".reqnctapercluster 2", "1, 1", 4)).doesNotThrowAnyException();
  }

  private static void check(String directive, String block, int blocks) {
    var text = ".version 8.0\n.target sm_90\n.visible .entry k()\n" + directive + "\n{ ret; }\n";
    var extents = block.split(", ", -1);
    try (var device = new EmulatedDevice()) {
      new Launch(
              device.load(Parser.parse(text, "k.ptx"), "k"),
              Dim3.of(blocks),
              Dim3.of(Integer.parseInt(extents[0]), Integer.parseInt(extents[1])),
              0,
              List.of())
          .check(device.capability());
    }
  }

  @Test
  void dependentLaunchesBeginEarlyFromSm90On() {
    var launch = new Launch(new Loaded(16, 0), Dim3.of(1), Dim3.of(32), 0, List.of());
    assertThat(launch.mayBeginEarly(Target.SM_90)).isFalse();
    var dependent = launch.asCooperative().asDependent();
    assertThat(dependent.cooperative()).isTrue();
    assertThat(dependent).isEqualTo(launch.asDependent().asCooperative());
    assertThat(dependent.mayBeginEarly(Target.SM_89)).isFalse();
    assertThat(dependent.mayBeginEarly(Target.SM_90A)).isTrue();
  }
}
