package dev.athanor.engine.ptx;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import dev.athanor.engine.emulator.options.EmulatorOptions.Execution;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.ptx.check.Verifier;
import dev.athanor.engine.ptx.check.Violation;
import dev.athanor.engine.ptx.text.Parser;
import dev.athanor.engine.ptx.text.PtxSyntaxException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * Runs the files under {@code src/test/filetests}. A comment at the top of each states one fact;
 * expectations are on the lines they concern:
 *
 * <ul>
 *   <li>{@code roundtrip/}: printing the module gives the text of the file, except comments;
 *   <li>{@code parser/}: the parser rejects the file with the {@code // error: …} on that line;
 *   <li>{@code verifier/}: the verifier reports exactly the {@code // error: …}s, each on its line;
 *   <li>{@code warnings/}: the same for warnings, without an error;
 *   <li>{@code run/}: {@code // run: block 32, in = f32 1 2 3, out = f32 2 4 6} launches one block
 *       on the emulator with two pointers, under each timing, and compares bit by bit; {@code out =
 *       u32 7 x 32} repeats a value.
 * </ul>
 *
 * <p>{@code SanitizerFilesTest} runs {@code sanitizer/}.
 *
 * <p>With {@code -Dbless}, the test rewrites the expectations.
 */
class FileTests {

  private static final Path ROOT = Path.of("src/test/filetests");
  private static final boolean BLESS = System.getProperty("bless") != null;
  private static final Pattern RUN =
      Pattern.compile("// run: block (\\d+), in = (\\w+) ([^,]+), out = (\\w+) (.+)");

  @TestFactory
  Stream<DynamicTest> files() throws IOException {
    try (var walk = Files.walk(ROOT)) {
      var files =
          walk.filter(
                  f -> f.toString().endsWith(".ptx") && !f.startsWith(ROOT.resolve("sanitizer")))
              .sorted()
              .toList();
      assertThat(files).hasSizeGreaterThan(20);
      return files.stream()
          .map(f ->
              DynamicTest.dynamicTest(ROOT.relativize(f).toString(), f.toUri(), () -> check(f)));
    }
  }

  private static void check(Path file) throws IOException {
    var text = Files.readString(file);
    assertThat(text).as("the fact that the file shows").startsWith("// ");
    switch (ROOT.relativize(file).getName(0).toString()) {
      case "roundtrip" -> roundtrip(file, text);
      case "parser" -> {
        try {
          Parser.parse(text, name(file));
          expectErrors(file, text, Map.of());
        } catch (PtxSyntaxException e) {
          expectErrors(file, text, Map.of(e.source().line(), e.problem()));
        }
      }
      case "verifier" -> expectFaults(file, text, Verifier.faults(Parser.parse(text, name(file))));
      case "warnings" -> {
        var module = Parser.parse(text, name(file));
        assertThat(Verifier.faults(module)).isEmpty();
        expectFaults(file, text, Verifier.warnings(module));
      }
      case "run" -> {
        run(file, text, Execution.INTERPRETED);
        run(file, Files.readString(file), Execution.COMPILED);
      }
      default -> fail("no kind of test for " + file);
    }
  }

  private static String name(Path file) {
    return file.getFileName().toString();
  }

  private static void roundtrip(Path file, String text) throws IOException {
    var comments =
        text.lines().takeWhile(l -> l.startsWith("//")).collect(Collectors.joining("\n", "", "\n"));
    var module = Parser.parse(text, name(file));
    assertThat(Verifier.faults(module)).isEmpty();
    var printed = comments + module;
    if (BLESS) {
      Files.writeString(file, printed);
    }
    assertThat(BLESS ? Files.readString(file) : text).isEqualTo(printed);
    assertThat(Parser.parse(module.toString(), name(file)).toString()).isEqualTo(module.toString());
  }

  private static void expectFaults(Path file, String text, List<Violation> faults)
      throws IOException {
    var onLines = new TreeMap<Integer, String>();
    for (var fault : faults) {
      onLines.merge(Math.max(1, fault.source().line()), fault.problem(), (a, b) -> a + " & " + b);
    }
    expectErrors(file, text, onLines);
  }

  private static void expectErrors(Path file, String text, Map<Integer, String> errors)
      throws IOException {
    var lines = new ArrayList<>(text.lines().toList());
    // errors at the end of the file are reported on the last line
    var onLines = new TreeMap<Integer, String>();
    errors.forEach((line, error) -> onLines.put(Math.min(line, lines.size()), error));
    for (int i = 0; i < lines.size(); i++) {
      var code = lines.get(i).replaceFirst("\\s*// error: .*", "");
      var error = onLines.get(i + 1);
      lines.set(i, error == null ? code : code + "  // error: " + error);
    }
    var expected = String.join("\n", lines) + "\n";
    if (BLESS) {
      Files.writeString(file, expected);
    }
    assertThat(text.contains("// error: ") || BLESS).as("the file expects an error").isTrue();
    assertThat(BLESS ? expected : text).isEqualTo(expected);
  }

  private static void run(Path file, String text, Execution execution) throws IOException {
    for (var timing : BLESS ? List.of(AsyncTiming.LAZY) : List.of(AsyncTiming.values())) {
      run(file, text, execution, timing);
    }
  }

  private static void run(Path file, String text, Execution execution, AsyncTiming timing)
      throws IOException {
    var module = Parser.parse(text, name(file));
    Verifier.verify(module);
    var options = EmulatorOptions.DEFAULT.withAsyncTiming(timing);
    if (!options.target().canRun(module.target())) {
      options = options.withTarget(module.target());
    }
    var kernel = module.kernels().getFirst();
    var lines = new ArrayList<>(text.lines().toList());
    int runs = 0;
    if (execution == Execution.COMPILED) {
      options = options.withSanitize(Sanitize.OFF); // compiled code runs without observers
    }
    try (var device = new EmulatedDevice(options.withExecution(execution));
        var stream = device.openStream()) {
      for (int i = 0; i < lines.size(); i++) {
        var m = RUN.matcher(lines.get(i));
        if (!m.matches()) {
          assertThat(lines.get(i)).doesNotStartWith("// run:");
          continue;
        }
        runs++;
        var in = encode(m.group(2), m.group(3));
        var expected = encode(m.group(4), m.group(5));
        try (var source = device.allocate(in.length);
            var target = device.allocate(expected.length)) {
          stream.upload(MemorySegment.ofArray(in), source, 0);
          stream.fill(target, 0, expected.length, (byte) 0);
          stream.launch(
              new Launch(
                  device.load(module, kernel.name()),
                  Dim3.of(1),
                  Dim3.of(Integer.parseInt(m.group(1))),
                  0,
                  List.of(Argument.of(source), Argument.of(target))));
          var got = new byte[expected.length];
          stream.download(target, 0, MemorySegment.ofArray(got));
          stream.synchronize();
          if (BLESS) {
            lines.set(i, lines.get(i).substring(0, m.start(5)) + decode(m.group(4), got));
          } else {
            assertThat(decode(m.group(4), got))
                .as("%s, %s", lines.get(i), execution)
                .isEqualTo(decode(m.group(4), expected));
          }
        }
      }
    }
    assertThat(runs).as("run lines").isPositive();
    if (BLESS) {
      Files.writeString(file, String.join("\n", lines) + "\n");
    }
  }

  private static int bytes(String type) {
    return Integer.parseInt(type.substring(1)) / 8;
  }

  private static byte[] encode(String type, String text) {
    var values = new ArrayList<String>();
    var repeated = text.split(" x ", 2);
    for (int n = repeated.length > 1 ? Integer.parseInt(repeated[1].strip()) : 1; n > 0; n--) {
      values.addAll(List.of(repeated[0].strip().split(" ")));
    }
    var buffer = ByteBuffer.allocate(values.size() * bytes(type)).order(ByteOrder.LITTLE_ENDIAN);
    for (var value : values) {
      switch (type) {
        case "f32" -> buffer.putFloat(Float.parseFloat(value));
        case "f64" -> buffer.putDouble(Double.parseDouble(value));
        case "f16" -> buffer.putShort(Float.floatToFloat16(Float.parseFloat(value)));
        case "u32", "s32" -> buffer.putInt((int) (long) Long.decode(value));
        case "u64", "s64" ->
            buffer.putLong(
                value.startsWith("-") ? Long.decode(value) : Long.parseUnsignedLong(value));
        case "u16", "s16" -> buffer.putShort((short) (int) Integer.decode(value));
        default -> throw new IllegalArgumentException("no type " + type);
      }
    }
    return buffer.array();
  }

  private static String decode(String type, byte[] data) {
    var buffer = ByteBuffer.wrap(data).order(ByteOrder.LITTLE_ENDIAN);
    var values = new ArrayList<String>();
    while (buffer.hasRemaining()) {
      values.add(
          switch (type) {
            case "f32" -> Float.toString(buffer.getFloat());
            case "f64" -> Double.toString(buffer.getDouble());
            case "f16" -> Float.toString(Float.float16ToFloat(buffer.getShort()));
            case "u32" -> Integer.toUnsignedString(buffer.getInt());
            case "s32" -> Integer.toString(buffer.getInt());
            case "u64" -> Long.toUnsignedString(buffer.getLong());
            case "s64" -> Long.toString(buffer.getLong());
            case "u16" -> Integer.toString(buffer.getShort() & 0xFFFF);
            case "s16" -> Integer.toString(buffer.getShort());
            default -> throw new IllegalArgumentException("no type " + type);
          });
    }
    return values.size() > 1 && values.stream().distinct().count() == 1
        ? values.getFirst() + " x " + values.size()
        : String.join(" ", values);
  }
}
