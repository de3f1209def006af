package dev.athanor.engine.device;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.ptx.Parser;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LaunchTest {

  @ParameterizedTest
  @CsvSource({
    "'.reqntid 32, 2', '64, 1', 1, 'a block of 64x1x1 threads, it asks for 32x2x1'",
    "'.reqntid 64', '32, 1', 1, 'a block of 32x1x1 threads, it asks for 64x1x1'",
    "'.maxntid 32, 2', '65, 1', 1, 'a block of 65x1x1 threads, the kernel is for 64 at most'",
    "'.reqnctapercluster 2', '1, 1', 3,"
        + " 'a grid of 3x1x1 blocks, which is no multiple of its clusters of 2x1x1'"
  })
  void refusesWhatTheKernelDoesNotAllow(
      String directive, String block, int blocks, String problem) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> check(directive, block, blocks))
        .withMessage("cannot launch k: got " + problem);
  }

  @Test
  void takesWhatItAllows() {
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
}
