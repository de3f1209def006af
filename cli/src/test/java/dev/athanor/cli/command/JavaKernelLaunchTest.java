package dev.athanor.cli.command;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.cli.Athanor;
import dev.athanor.cli.KernelSources;
import dev.athanor.cli.argument.TensorFile;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.json.JsonMapper;

/** Tests {@code athanor profile} and {@code athanor bench} with kernels in Java. */
class JavaKernelLaunchTest {

  private static final JsonMapper JSON = new JsonMapper();

  private static final int LENGTH = 80;

  @TempDir private static Path folder;

  private static Path classes;

  private final Path data = folder.resolve("data.npy");

  @BeforeAll
  static void compile() throws Exception {
    classes = folder.resolve("classes");
    var source = folder.resolve("Sums.java");
    Files.writeString(
        source,
        """
        package sample;

        import dev.athanor.engine.lift.Gpu;
        import dev.athanor.engine.lift.GpuKernel;

        class Sums {
          enum Sign { PLUS, MINUS }

          @GpuKernel(blockSize = 32)
          static void twice(int[] data, int n) {
            int i = Gpu.threadIdxX() + Gpu.blockIdxX() * Gpu.blockDimX();
            if (i < n) {
              data[i] *= 2;
            }
          }

          @GpuKernel
          static void all(
              Sign sign, boolean a, byte b, short c, char d, long e, float f, double g, double[] h) {
            double sum = (a ? 1 : 0) + b + c + d + e + f + g;
            h[Gpu.threadIdxX()] = sign == Sign.PLUS ? sum : -sum;
          }

          @GpuKernel(blockSize = 1)
          static void meet(int[] data) {
            Gpu.gridBarrier();
            data[Gpu.blockIdxX()] = Gpu.dynamicSharedInts().length;
          }
        }
        """);
    KernelSources.compile("-g", source, classes);
  }

  /** Writes 0, 1, 2, … to a file. */
  @BeforeEach
  void fill() throws IOException {
    var elements = IntStream.range(0, LENGTH).toArray();
    TensorFile.write(
        data,
        new HostTensor(
            new TensorType(DType.I32, Shape.of(LENGTH)), MemorySegment.ofArray(elements)));
  }

  private void assertIsDoubled() throws IOException {
    var elements = TensorFile.read(data).data().toArray(ValueLayout.JAVA_INT_UNALIGNED);
    assertThat(elements)
        .containsExactly(IntStream.range(0, LENGTH).map(each -> 2 * each).toArray());
  }

  private static CommandResult run(String command, Object... arguments) {
    var all = new ArrayList<>(List.of(command));
    for (var each : arguments) {
      all.add(each.toString());
    }
    return CommandResult.of(Athanor.commandLine(), all.toArray(String[]::new));
  }

  private static String printed(String command, Object... arguments) {
    var run = run(command, arguments);
    assertThat(run.err()).isEmpty();
    assertThat(run.status()).isZero();
    return run.out();
  }

  /** Returns arguments that double the file, with others. */
  private Object[] twice(Object... more) {
    return Stream.concat(
            Stream.of(classes, "Sums::twice", "--arg", "inout:" + data, "--arg", LENGTH),
            Stream.of(more))
        .toArray();
  }

  @Test
  void profilesALaunch() throws IOException {
    var text = printed("profile", twice("--grid", 3, "--gpu", "A100"));
    assertThat(text)
        .startsWith("twice: 3x1x1 blocks of 32x1x1 threads, 0 bytes of shared memory each")
        .containsPattern("Lower bound on A100: [0-9.]+ µs, for \\w+\\.")
        .containsPattern("(?m)^global +320 +320$")
        .containsPattern("(?m)^st.global.s32 +Sums.java:13 +3 +3.333 +3.333 +0$");
    assertIsDoubled();
  }

  @Test
  void profilesAsJson() {
    var report = JSON.readTree(printed("profile", twice("--grid", 3, "--gpu", "l4", "--json")));
    assertThat(report.propertyNames()).containsExactly("kernel", "gpu", "launches");
    assertThat(report.get("kernel").asString()).isEqualTo("twice");
    assertThat(report.get("gpu").asString()).isEqualTo("L4");
    var launch = report.get("launches").get(0);
    assertThat(launch.get("blocksRun").longValue()).isEqualTo(3);
    assertThat(launch.get("memory").get("global").get("read").longValue()).isEqualTo(4 * LENGTH);
    assertThat(launch.get("memory").get("global").get("written").longValue()).isEqualTo(4 * LENGTH);
    assertThat(launch.get("bounds").get("resources")).isNotEmpty();
  }

  @Test
  void profilesSomeBlocks() throws IOException {
    assertThat(
            printed(
                "profile",
                classes,
                "Sums::twice",
                "--arg",
                "in:" + data,
                "--arg",
                LENGTH,
                "--grid",
                3,
                "--blocks",
                1))
        .contains("counted in 1 of 3 blocks, spread evenly;");
    // the blocks of a cooperative launch run together
    var out = folder.resolve("lengths.npy");
    assertThat(
            printed(
                "profile",
                classes,
                "Sums::meet",
                "--arg",
                "out:%s:i32:3".formatted(out),
                "--grid",
                3,
                "--blocks",
                1,
                "--shared",
                64))
        .startsWith("meet: 3x1x1 blocks of 1x1x1 threads, 64 bytes of shared memory each")
        .doesNotContain("counted in");
    assertThat(TensorFile.read(out).data().toArray(ValueLayout.JAVA_INT_UNALIGNED))
        .containsExactly(16, 16, 16);
  }

  @Test
  void passesValuesOfAllTypes() throws IOException {
    var out = folder.resolve("sum.npy");
    var arguments = new ArrayList<Object>(List.of(classes, "Sums::all", "--block", 2));
    for (var value :
        List.of("MINUS", "true", "0x10", "-7", "c", "-1", "0.5", "1e3", "out:%s:f64:2")) {
      arguments.addAll(List.of("--arg", value.formatted(out)));
    }
    printed("profile", arguments.toArray());
    double sum = -(1 + 16 - 7 + 'c' - 1 + 0.5 + 1e3);
    assertThat(TensorFile.read(out).data().toArray(ValueLayout.JAVA_DOUBLE_UNALIGNED))
        .containsExactly(sum, sum);
  }

  /** Whatever the number of launches, the file contains the result of one. */
  @ParameterizedTest
  @ValueSource(ints = {1, 4})
  void timesLaunchesThatStartFromTheSameArguments(int repeat) throws Exception {
    var json = folder.resolve("bench.json");
    var markdown = folder.resolve("bench.md");
    var text =
        printed(
            "bench",
            twice(
                "--grid",
                3,
                "--device",
                "emulator",
                "--repeat",
                repeat,
                "--json",
                json,
                "--markdown",
                markdown));
    assertThat(text)
        .startsWith("emulator:0, ")
        .containsPattern(
            "(?m)^kernel +blocks +threads +median +min +max +arrays +arrays over median$")
        .containsPattern("(?m)^twice +3x1x1 +32x1x1 +[\\d.]+ \\S+ +[\\d.]+ \\S+ .* 320 B ")
        .contains(repeat + " samples of one launch each, ", "divisors are off");
    assertIsDoubled();
    var report = JSON.readTree(json.toFile());
    var micros = report.get("micros");
    assertThat(micros.get("count").intValue()).isEqualTo(repeat);
    assertThat(micros.get("batch").intValue()).isEqualTo(1);
    assertThat(micros.get("min").doubleValue())
        .isPositive()
        .isLessThanOrEqualTo(micros.get("median").doubleValue());
    assertThat(report.get("effort").get("warmup").intValue()).isEqualTo(3);
    assertThat(report.get("arrayBytes").longValue()).isEqualTo(4 * LENGTH);
    assertThat(report.get("arrayGigabytesPerSecond").doubleValue())
        .isEqualTo(4 * LENGTH / micros.get("median").doubleValue() / 1e3);
    assertThat(Files.readString(markdown)).contains("| twice | 3x1x1 | 32x1x1 | ");
  }

  @ParameterizedTest
  @ValueSource(strings = {"profile", "bench --device emulator"})
  void reportsFailedLaunches(String command) {
    var words = command.split(" ");
    var arguments = new ArrayList<Object>(List.of(words).subList(1, words.length));
    arguments.addAll(
        List.of(classes, "Sums::twice", "--arg", "zeros:16", "--arg", LENGTH, "--checked"));
    var checked = run(words[0], arguments.toArray());
    assertThat(checked.err())
        .isEqualTo(
            "athanor %s: Sums.java:13: index 4 is out of bounds for `data`, which has 4 elements, in thread (4, 0, 0) of block (0, 0, 0) of twice%n"
                .formatted(words[0]));
    assertThat(checked.status()).isEqualTo(1);
    arguments.removeLast();
    var unchecked = run(words[0], arguments.toArray());
    assertThat(unchecked.err())
        .startsWith("athanor %s: kernel twice failed: ".formatted(words[0]))
        .contains("Sums.java:13");
    assertThat(unchecked.status()).isEqualTo(1);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          FOLDER | FOLDER: CLASS is missing; write FOLDER Saxpy::saxpy
          Sums::twice | Sums::twice: CLASSES is missing; write target/classes Sums::twice
          /no/folder Sums::twice | CLASSES /no/folder: no such folder or jar
          FOLDER sample.Sum | CLASS sample.Sum: not found on the class path FOLDER; did you mean sample.Sums?
          FOLDER Sums | METHOD is missing; the kernels of sample.Sums are all, meet, twice
          FOLDER Sums::twice | --arg: got 0 arguments; twice takes 2: int[] data, int n
          TWICE --arg 1 | --arg: got 3 arguments; twice takes 2: int[] data, int n
          FOLDER Sums::twice --arg 1 --arg 1 | --arg 1: parameter `data` is int[]; give in:FILE.npy, inout:FILE.npy, out:FILE.npy:DTYPE:SHAPE or zeros:BYTES
          FOLDER Sums::twice --arg zeros:320 --arg x | --arg x: parameter `n` is int; give a whole number that fits the type
          FOLDER Sums::twice --arg in:no.npy --arg 1 | --arg in:no.npy: cannot read the file
          TWICE --grid 0 | --grid 0: expected one to three numbers, such as 16,16
          TWICE --grid 1,70000 | cannot launch twice: got a grid of 1x70000x1 blocks; the limit of Athanor PTX emulator for y and z is 65535
          TWICE --block 16 | --block 16: twice declares blocks of 32x1x1 threads; leave it out
          TWICE --shared many | --shared many: expected a whole number
          TWICE --shared -1 | cannot launch twice: got -1 bytes of dynamic shared memory; the minimum is 0
          matmul --arg 1 | --arg applies to kernels in Java, and matmul is an op; leave it out
          matmul --grid 2 | --grid applies to kernels in Java, and matmul is an op; leave it out
          """)
  void reportsUsageErrorsInOneSentence(String line, String sentence) {
    for (var command : List.of("profile", "bench")) {
      var device = command.equals("bench") ? " --device emulator" : "";
      assertUsageError(command, line + device, sentence);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          profile | TWICE --shape a=4 | --shape applies to ops, and Sums::twice is a kernel in Java; leave it out
          profile | TWICE --dtype a=f16 | --dtype applies to ops, and Sums::twice is a kernel in Java; leave it out
          profile | TWICE --attr a=4 | --attr applies to ops, and Sums::twice is a kernel in Java; leave it out
          profile | TWICE --plugins x | --plugins applies to ops, and Sums::twice is a kernel in Java; leave it out
          profile | TWICE --kernel x | --kernel applies to ops, and Sums::twice is a kernel in Java; leave it out
          profile | FOLDER Sums::twice --arg out:y.npy:i32:80 --arg 80 --grid 3 --blocks 2 | --blocks 2: y.npy would be incomplete; give in:FILE.npy or zeros:BYTES instead
          bench | TWICE --problem x | --problem applies to ops, and Sums::twice is a kernel in Java; leave it out
          bench | TWICE --all-variants | --all-variants applies to ops, and Sums::twice is a kernel in Java; leave it out
          bench | TWICE --baseline torch | --baseline applies to ops, and Sums::twice is a kernel in Java; leave it out
          bench | TWICE --predict H200 | --predict applies to ops, and Sums::twice is a kernel in Java; leave it out
          bench | TWICE --seed 2 | --seed applies to ops, and Sums::twice is a kernel in Java; leave it out
          bench | FOLDER Sums::twice zeros:320 80 | unexpected argument "zeros:320"; give the arguments of Sums::twice with --arg
          bench | --checked | --checked applies to kernels in Java, and none is given; leave it out
          bench | matmul Sums::twice | Sums::twice: CLASSES is missing; write target/classes Sums::twice
          bench | Sums::twice FOLDER | Sums::twice: CLASSES is missing; write target/classes Sums::twice
          bench | frob matmul | unknown op "frob"; athanor ops lists the ops
          """)
  void refusesWhatAppliesToOthers(String command, String line, String sentence) {
    assertUsageError(command, line, sentence);
  }

  private static void assertUsageError(String command, String line, String sentence) {
    var words =
        line.replace("TWICE", "FOLDER Sums::twice --arg zeros:320 --arg 80")
            .replace("FOLDER", classes.toString())
            .split(" ");
    var run = run(command, (Object[]) words);
    assertThat(run.err())
        .isEqualTo(
            "athanor %s: %s%n".formatted(command, sentence.replace("FOLDER", classes.toString())));
    assertThat(run.status()).isEqualTo(2);
  }
}
