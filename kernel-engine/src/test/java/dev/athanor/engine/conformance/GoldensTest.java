package dev.athanor.engine.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.ptx.Arithmetic;
import dev.athanor.engine.ptx.Target;
import dev.athanor.testing.TestTier;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the emulator against recorded results of devices. */
@Tag(TestTier.THOROUGH_TAG)
class GoldensTest {

  /** Files written by {@code athanor verify --suite isa --goldens} on GPUs. */
  private static final Path KEPT = Path.of("src/test/resources/goldens");

  private static final Target AMPERE = Target.SM_80;

  @TempDir Path folder;

  private static EmulatedDevice emulator(Arithmetic arithmetic) {
    return new EmulatedDevice(
        EmulatorOptions.DEFAULT.withTarget(AMPERE).withArithmetic(arithmetic));
  }

  private static List<Golden> goldens(Arithmetic arithmetic, String... mnemonics) {
    var goldens = new ArrayList<Golden>();
    try (var device = emulator(arithmetic)) {
      new Conformance(device, List.of(mnemonics), true, 7)
          .run((_, golden) -> golden.ifPresent(goldens::add));
    }
    return goldens;
  }

  @Test
  void emulatorMatchesGoldens() throws IOException {
    List<Path> files;
    try (var all = Files.exists(KEPT) ? Files.list(KEPT) : java.util.stream.Stream.<Path>empty()) {
      files = all.sorted().toList();
    }
    assumeFalse(files.isEmpty(), "SKIPPED: no GPU has written goldens to " + KEPT + " yet");
    for (var file : files) {
      var goldens = Golden.read(file);
      try (var device = new EmulatedDevice(EmulatorOptions.DEFAULT.withTarget(goldens.target()))) {
        assertThat(goldens.check(device))
            .as(file + ", of " + goldens.origin())
            .allMatch(Finding::ok, "as the device");
      }
    }
  }

  @Test
  void filesSurviveARoundTrip() throws IOException {
    var goldens = goldens(Arithmetic.EXACT, "ex2", "cvt", "mma", "shfl");
    var file = folder.resolve("goldens.tsv");
    Golden.write(file, AMPERE, "a device", goldens);
    var read = Golden.read(file);
    assertThat(read.goldens()).isEqualTo(goldens);
    assertThat(read.origin()).isEqualTo("a device");
    assertThat(goldens)
        .anyMatch(golden -> golden.name().startsWith("ex2.") && !golden.results().isEmpty())
        .noneMatch(golden -> golden.name().startsWith("cvt.") && !golden.results().isEmpty());
    try (var device = emulator(Arithmetic.EXACT)) {
      assertThat(read.check(device)).hasSameSizeAs(goldens).allMatch(Finding::ok);
    }
  }

  @Test
  void detectsDifferentResults() throws IOException {
    var file = folder.resolve("goldens.tsv");
    Golden.write(file, AMPERE, "plain sums", goldens(Arithmetic.FAST, "mma"));
    try (var device = emulator(Arithmetic.EXACT)) {
      var wrong = Golden.read(file).check(device).stream().filter(f -> !f.ok()).toList();
      assertThat(wrong).isNotEmpty();
      assertThat(wrong.getFirst().lines().getFirst()).contains(", expected ");
    }
    var changed = Files.readString(file).replaceFirst("\t7\t[0-9a-f]{8}", "\t7\t00000000");
    Files.writeString(file, changed);
    try (var device = emulator(Arithmetic.FAST)) {
      assertThat(Golden.read(file).check(device)).filteredOn(f -> !f.ok()).hasSizeLessThan(2);
    }
  }

  @Test
  void rejectsMalformedFiles() throws IOException {
    var file = folder.resolve("goldens.tsv");
    Files.writeString(file, "# a device\nsm_80\nadd.u32\t7\n");
    assertThatThrownBy(() -> Golden.read(file))
        .isInstanceOf(IOException.class)
        .hasMessage(file + ":3 has 2 cells, expected 4");
    Files.writeString(file, "");
    assertThatThrownBy(() -> Golden.read(file))
        .hasMessage(file + " is not a file of goldens: its header is missing");
    Files.writeString(file, "# a device\nvolta\n");
    assertThatThrownBy(() -> Golden.read(file))
        .hasMessageStartingWith(file + " is not a file of goldens: \"volta\" is not a target");
    Files.writeString(file, "# a device\nsm_80\nadd.q7 %d, %a;\t7\t00\t\n");
    try (var device = emulator(Arithmetic.EXACT)) {
      assertThatThrownBy(() -> Golden.read(file).check(device))
          .hasMessage("golden of unknown instruction \"add.q7 %d, %a;\"");
    }
  }
}
