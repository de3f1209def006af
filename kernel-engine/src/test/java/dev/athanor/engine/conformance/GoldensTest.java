package dev.athanor.engine.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.device.Device;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.ptx.Target;
import dev.athanor.testing.TestTier;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the emulator against recorded results of devices. */
class GoldensTest {

  /** Files written by {@code athanor verify --suite isa --goldens} on GPUs, packed. */
  private static final Path KEPT = Path.of("src/test/resources/goldens");

  /**
   * Instructions for which the emulator follows the manual and a GPU does not: ptxas 13.0 replaces
   * {@code bfe.s32} by -1 if its position is a literal beyond 31.
   */
  private static final Set<String> KNOWN_DIFFERENCES =
      Set.of(
          "bfe.s32 %d, %a, 63, 63;",
          "bfe.s32 %d, %a, 127, 127;", "bfe.s32 %d, %a, 191, 191;", "bfe.s32 %d, %a, 255, 255;");

  /** One golden in so many is checked; the sweep checks all. */
  private static final int STEP = TestTier.choose(499, 13, 1);

  private static final Target AMPERE = Target.SM_80;

  @TempDir Path folder;

  private static EmulatedDevice emulator() {
    return new EmulatedDevice(EmulatorOptions.DEFAULT.withTarget(AMPERE));
  }

  private static List<Golden> goldens(UnaryOperator<Device> recorded, String... mnemonics) {
    var goldens = new ArrayList<Golden>();
    try (var device = emulator()) {
      new Conformance(recorded.apply(device), List.of(mnemonics), true, 7, Part.ALL)
          .run((_, golden) -> golden.ifPresent(goldens::add));
    }
    return goldens;
  }

  @Test
  void emulatorMatchesGoldens() throws IOException {
    List<Path> files;
    try (var all = Files.list(KEPT)) {
      files = all.sorted().toList();
    }
    assertThat(files).isNotEmpty();
    for (var file : files) {
      var recorded = Golden.read(file);
      var checked =
          new Golden.File(
              recorded.target(), recorded.origin(), new Part(1, STEP).of(recorded.goldens()));
      try (var device = new EmulatedDevice(EmulatorOptions.DEFAULT.withTarget(checked.target()))) {
        assertThat(checked.check(device))
            .filteredOn(
                finding -> finding.ok() == KNOWN_DIFFERENCES.contains(finding.probe().name()))
            .extracting(finding -> finding.probe().name() + " " + finding.lines())
            .as("differences from %s, of %s", file, checked.origin())
            .isEmpty();
      }
    }
  }

  @Tag(TestTier.THOROUGH_TAG)
  @Test
  void filesSurviveARoundTrip() throws IOException {
    var goldens = goldens(UnaryOperator.identity(), "ex2", "cvt", "mma", "shfl");
    var file = folder.resolve("goldens.tsv");
    Golden.write(file, AMPERE, "a device", goldens);
    var read = Golden.read(file);
    assertThat(read.goldens()).isEqualTo(goldens);
    assertThat(read.origin()).isEqualTo("a device");
    assertThat(goldens)
        .anyMatch(golden -> golden.name().startsWith("ex2.") && !golden.results().isEmpty())
        .noneMatch(golden -> golden.name().startsWith("cvt.") && !golden.results().isEmpty());
    try (var device = emulator()) {
      assertThat(read.check(device)).hasSameSizeAs(goldens).allMatch(Finding::ok);
    }
  }

  @Tag(TestTier.THOROUGH_TAG)
  @Test
  void detectsDifferentResults() throws IOException {
    var file = folder.resolve("goldens.tsv");
    Golden.write(file, AMPERE, "truncated sums", goldens(DeviceProxy::truncating, "add"));
    try (var device = emulator()) {
      var wrong = Golden.read(file).check(device).stream().filter(f -> !f.ok()).toList();
      assertThat(wrong).isNotEmpty();
      assertThat(wrong.getFirst().lines().getFirst()).contains(", expected ");
    }
  }

  @Tag(TestTier.THOROUGH_TAG)
  @Test
  void packedFilesKeepOnlyResultsOfApproximations() throws IOException {
    var goldens = goldens(DeviceProxy::truncating, "ex2", "add");
    var file = folder.resolve("goldens.tsv");
    var packed = folder.resolve("packed.tsv.gz");
    Golden.write(file, AMPERE, "truncated sums", goldens);
    GoldenPacker.main(new String[] {file.toString(), packed.toString()});
    var read = Golden.read(packed);
    assertThat(read.origin()).isEqualTo("truncated sums");
    assertThat(read.goldens())
        .extracting(Golden::digest)
        .containsExactlyElementsOf(goldens.stream().map(Golden::digest).toList());
    assertThat(goldens).anyMatch(golden -> isSum(golden) && !golden.results().isEmpty());
    assertThat(read.goldens()).allMatch(golden -> isSum(golden) == golden.results().isEmpty());
  }

  private static boolean isSum(Golden golden) {
    return golden.name().startsWith("add");
  }

  @Tag(TestTier.THOROUGH_TAG)
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
    try (var device = emulator()) {
      assertThatThrownBy(() -> Golden.read(file).check(device))
          .hasMessage("golden of unknown instruction \"add.q7 %d, %a;\"");
    }
  }
}
