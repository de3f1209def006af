package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.DeviceException.KernelFault;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.Report;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.device.TensorMap;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.emulator.options.Schedule;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.check.Verifier;
import dev.athanor.engine.ptx.text.Parser;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * Pairs of correct and incorrect kernels that differ in a line or two. Lines of a file under {@code
 * src/test/filetests/sanitizer} that end in {@code // good} or {@code // bad} belong to only one of
 * them. The good kernel runs without a report. The bad one is reported exactly as stated by {@code
 * // expect: KIND} on the line of the instruction and {@code // against: KIND} on the line of the
 * conflicting one.
 *
 * <p>{@code // launch: grid 2, block 64, shared 0, args count*64 zero*64 raw*16 closed*4 null 7}
 * describes the launch: buffers of ascending, zero or uninitialized words, the address of a closed
 * buffer, a null pointer, a number. {@code map*8} is a tensor map of that many rows of 32 ascending
 * words, in tiles of 8 rows. Further kernels of a file follow as dependent launches like the first.
 */
class SanitizerFilesTest {

  private static final Path ROOT = Path.of("src/test/filetests/sanitizer");
  private static final Pattern LAUNCH =
      Pattern.compile("// launch: grid (\\d+), block (\\d+), shared (\\d+), args (.+)");
  private static final Pattern MARK = Pattern.compile("\\b(expect|against): (\\w+)");

  /** Columns of a tensor. */
  private static final int COLUMNS = 32;

  /** Minimum number of pairs. */
  private static final int FEWEST = 150;

  private static List<Path> files() throws IOException {
    try (var walk = Files.walk(ROOT)) {
      return walk.filter(f -> f.toString().endsWith(".ptx")).sorted().toList();
    }
  }

  @TestFactory
  java.util.stream.Stream<DynamicTest> pairs() throws IOException {
    var tests = java.util.stream.Stream.<DynamicTest>builder();
    for (var file : files()) {
      var name = file.getFileName().toString();
      tests.add(DynamicTest.dynamicTest(name + " good", file.toUri(), () -> good(file)));
      tests.add(DynamicTest.dynamicTest(name + " bad", file.toUri(), () -> bad(file)));
    }
    return tests.build();
  }

  @Test
  void everyKindHasAPair() throws IOException {
    var files = files();
    assertThat(files).hasSizeGreaterThanOrEqualTo(FEWEST);
    var kinds = EnumSet.noneOf(Report.Kind.class);
    for (var file : files) {
      MARK.matcher(Files.readString(file))
          .results()
          .forEach(m -> kinds.add(Report.Kind.valueOf(m.group(2))));
    }
    // no file has a timeout
    assertThat(kinds).containsAll(EnumSet.complementOf(EnumSet.of(Report.Kind.TIMEOUT)));
  }

  private static void good(Path file) throws IOException {
    var text = Files.readString(file);
    for (var schedule : List.of(Schedule.CONVERGING, Schedule.RANDOM, Schedule.APART)) {
      for (var timing : AsyncTiming.values()) {
        var options = EmulatorOptions.DEFAULT.withSchedule(schedule).withAsyncTiming(timing);
        assertThat(findings(file, without(text, "// bad"), options))
            .as("%s, %s", schedule, timing)
            .isEmpty();
      }
    }
  }

  private static void bad(Path file) throws IOException {
    var text = Files.readString(file);
    var expected = new TreeSet<String>();
    var lines = text.lines().toList();
    for (int i = 0; i < lines.size(); i++) {
      int line = i + 1;
      MARK.matcher(lines.get(i))
          .results()
          .forEach(m -> expected.add("%s on line %d: %s".formatted(m.group(1), line, m.group(2))));
    }
    assertThat(expected).isNotEmpty();
    for (var timing : AsyncTiming.values()) {
      // with two blocks, the first report must be reproducible
      var found =
          findings(
              file,
              without(text, "// good"),
              EmulatorOptions.DEFAULT.withWorkers(1).withAsyncTiming(timing));
      Set<String> got = new TreeSet<>();
      for (var report : found) {
        got.add("expect on line %d: %s".formatted(report.place().source().line(), report.kind()));
        var other = report.other();
        if (other != null) {
          got.add("against on line %d: %s".formatted(other.source().line(), report.kind()));
        }
      }
      assertThat(got)
          .as(timing + found.stream().map(Report::toString).collect(Collectors.joining("\n")))
          .isEqualTo(expected);
    }
  }

  private static String without(String text, String mark) {
    return text.lines()
        .map(line -> line.contains(mark) ? "" : line)
        .collect(Collectors.joining("\n", "", "\n"));
  }

  private static List<Report> findings(Path file, String text, EmulatorOptions how) {
    var launch = LAUNCH.matcher(text);
    assertThat(launch.find()).as("a launch line in %s", file).isTrue();
    var module = Parser.parse(text, file.getFileName().toString());
    Verifier.verify(module);
    var options =
        how.withTarget(Target.of("sm_90a")).withSanitize(Sanitize.FULL).withPatience(1 << 16);
    try (var device = new EmulatedDevice(options);
        var stream = device.openStream()) {
      var arguments = new ArrayList<Argument>();
      for (var word : launch.group(4).strip().split(" ", -1)) {
        arguments.add(argument(device, stream, word));
      }
      for (var kernel : module.kernels()) {
        var next =
            new Launch(
                device.load(module, kernel.name()),
                Dim3.of(Integer.parseInt(launch.group(1))),
                Dim3.of(Integer.parseInt(launch.group(2))),
                Integer.parseInt(launch.group(3)),
                arguments);
        stream.launch(kernel.equals(module.kernels().getFirst()) ? next : next.asDependent());
      }
      return List.of();
    } catch (KernelFault fault) {
      assertThat(fault.findings()).isNotEmpty();
      return fault.findings();
    }
  }

  private static Argument argument(EmulatedDevice device, Stream stream, String word) {
    var parts = word.split("\\*", -1);
    if (parts.length == 1) {
      return word.equals("null")
          ? new Argument.Scalar(Type.U64, 0)
          : Argument.of(Integer.parseInt(word));
    }
    int words = Integer.parseInt(parts[1]) * (parts[0].equals("map") ? COLUMNS : 1);
    Buffer buffer = device.allocate(4L * words);
    switch (parts[0]) {
      case "count" ->
          stream.upload(MemorySegment.ofArray(IntStream.range(0, words).toArray()), buffer, 0);
      case "map" -> {
        stream.upload(MemorySegment.ofArray(IntStream.range(0, words).toArray()), buffer, 0);
        var map = TensorMap.matrix(TensorMap.Element.S32, words / COLUMNS, COLUMNS, 8, COLUMNS);
        return Argument.of(map, buffer);
      }
      case "zero" -> stream.fill(buffer, 0, 4L * words, (byte) 0);
      case "closed" -> {
        buffer.close();
        return new Argument.Scalar(Type.U64, buffer.address());
      }
      case "raw" -> {}
      default -> throw new IllegalArgumentException("no argument " + word);
    }
    return Argument.of(buffer);
  }
}
