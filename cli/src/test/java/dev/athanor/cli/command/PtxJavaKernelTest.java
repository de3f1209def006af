package dev.athanor.cli.command;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.cli.Athanor;
import dev.athanor.cli.KernelSources;
import dev.athanor.engine.analysis.Assembler;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.text.Parser;
import dev.athanor.testing.Programs;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.JarOutputStream;
import java.util.zip.ZipEntry;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.json.JsonMapper;

/** Tests {@code athanor ptx} with kernels in Java. */
class PtxJavaKernelTest {

  @TempDir private static Path folder;

  private static Path classes;
  private static Path jar;

  @BeforeAll
  static void compile() throws Exception {
    classes = folder.resolve("classes");
    KernelSources.compile("-g", KernelSources.waves(folder), classes);
    jar = folder.resolve("kernels.jar");
    try (var out = new JarOutputStream(Files.newOutputStream(jar))) {
      for (var name :
          List.of("sample/Waves.class", "sample/Waves$Point.class", "sample/Waves$Answer.class")) {
        out.putNextEntry(new ZipEntry(name));
        Files.copy(classes.resolve(name), out);
      }
    }
    var twins = folder.resolve("twins");
    for (var name : List.of("com.acme", "org.acme")) {
      var source = folder.resolve(name + ".java");
      Files.writeString(
          source,
          """
          package %s;

          import dev.athanor.engine.lift.GpuKernel;

          class Twin {
            static class Only {
              @GpuKernel(blockSize = 32)
              static void only_%s(int[] data) {
                data[0] = 1;
              }
            }
          }
          """
              .formatted(name, name.substring(0, 3)));
      KernelSources.compile("-g", source, twins);
    }
  }

  private static CommandResult ptx(Object... arguments) {
    var all = new ArrayList<>(List.of("ptx"));
    for (var each : arguments) {
      all.add(each.toString());
    }
    return CommandResult.of(Athanor.commandLine(), all.toArray(String[]::new));
  }

  private static String printed(Object... arguments) {
    var run = ptx(arguments);
    assertThat(run.err()).isEmpty();
    assertThat(run.status()).isZero();
    return run.out();
  }

  private static Kernel kernel(String text) {
    return Parser.parse(text, "waves.ptx").kernels().getFirst();
  }

  @Test
  void printsTheKernelOfAFolderOrJar() {
    var text = printed(classes, "sample.Waves::waves", "--device", "emulator");
    assertThat(kernel(text).name()).isEqualTo("waves");
    assertThat(printed(jar, "Waves::waves", "--gpu", "A100")).isEqualTo(text);
    var both = folder.resolve("twins") + File.pathSeparator + jar;
    assertThat(printed(both, "Waves::waves", "--gpu", "A100")).isEqualTo(text);
  }

  @Test
  void printsTheOnlyKernelOfAClass() {
    var text = printed(folder.resolve("twins"), "com.acme.Twin$Only", "--gpu", "A100");
    assertThat(kernel(text).name()).isEqualTo("only_com");
  }

  @Test
  void printsChecksOnRequest() {
    var unchecked = printed(classes, "Waves::beyond", "--gpu", "A100");
    var checked = printed(classes, "Waves::beyond", "--gpu", "A100", "--checked");
    assertThat(unchecked).doesNotContain("setp");
    assertThat(checked).contains("setp");
  }

  @Test
  void annotatesTheLinesOfJava() {
    var text = printed(classes, "Waves::beyond", "--gpu", "A100", "--annotate");
    assertThat(text).containsPattern("st.global.\\S+ .*// Waves.java:54 +\\d+ #+");
    assertThat(kernel(text).name()).isEqualTo("beyond");
  }

  @Test
  void countsInstructions() {
    assertThat(printed(classes, "Waves::race", "--gpu", "A100", "--stats"))
        .containsPattern("^race: .* 256 bytes of static shared memory, 64 threads\\R")
        .containsPattern("\\Rsub +1 ");
    var json =
        new JsonMapper()
            .readTree(printed(classes, "Waves::race", "--gpu", "A100", "--stats", "--json"));
    assertThat(json.get("kernel").asString()).isEqualTo("race");
    assertThat(json.get("kernels").get(0).get("mix").get("sub").asInt()).isEqualTo(1);
    assertThat(json.has("explanation")).isFalse();
  }

  @ParameterizedTest
  @ValueSource(strings = {"--sass", "--assemble"})
  void assembles(String option) {
    Programs.require(Assembler.best(), "assembler of PTX", "install a CUDA toolkit");
    if (option.equals("--sass")) {
      assertThat(printed(classes, "Waves::race", "--gpu", "A100", option))
          .startsWith("race: sm_80, ")
          .containsPattern("shared bytes, static +256\\R")
          .containsPattern("threads per block +64\\R")
          .containsPattern("blocks per multiprocessor, A100 +[1-9]");
    } else {
      assertThat(printed(classes, "Waves::race", "--gpu", "A100", option, "sm_86"))
          .containsPattern("\\R\\S+ [\\d.]+ +sm_86 +\\d+ +0 +0 +");
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          FOLDER/none Waves::waves | CLASSES FOLDER/none: no such folder or jar
          FOLDER/Waves.java Waves::waves | CLASSES FOLDER/Waves.java: expected a folder or a jar
          FOLDER/classes | FOLDER/classes: CLASS is missing; write FOLDER/classes Saxpy::saxpy
          FOLDER/classes sample.Wavs::waves | CLASS sample.Wavs: not found on the class path FOLDER/classes; did you mean sample.Waves?
          FOLDER/classes Particles::waves | CLASS Particles: not found on the class path FOLDER/classes; write com.acme.Saxpy, and nested classes as Outer$Inner
          FOLDER/classes ::waves | CLASS : not found on the class path FOLDER/classes; write com.acme.Saxpy, and nested classes as Outer$Inner
          FOLDER/twins Twin | CLASS Twin: several classes have this name; give one of com.acme.Twin, org.acme.Twin
          FOLDER/classes Waves::wave | METHOD wave: no such method; the kernels of sample.Waves are all, beyond, prints, race, split, text, vote, waves
          FOLDER/classes Waves | METHOD is missing; the kernels of sample.Waves are all, beyond, prints, race, split, text, vote, waves
          FOLDER/classes Waves:: | METHOD is missing; the kernels of sample.Waves are all, beyond, prints, race, split, text, vote, waves
          FOLDER/classes Waves$Point | METHOD is missing; sample.Waves$Point has no kernels; annotate one with @GpuKernel
          FOLDER/classes Waves::plain | sample.Waves.plain is no kernel; annotate it with @GpuKernel
          FOLDER/classes Waves::text | Waves.java:59: a string is concatenated; pass numbers to Gpu.print as values (in text)
          FOLDER/classes Waves::waves --explain | --explain applies to ops, and Waves::waves is a kernel in Java; leave it out
          FOLDER/classes Waves::waves --shape x=4 | --shape applies to ops, and Waves::waves is a kernel in Java; leave it out
          FOLDER/classes Waves::waves --dtype x=f16 | --dtype applies to ops, and Waves::waves is a kernel in Java; leave it out
          FOLDER/classes Waves::waves --attr n=1 | --attr applies to ops, and Waves::waves is a kernel in Java; leave it out
          FOLDER/classes Waves::waves --assemble ada | --assemble ada: "ada" is not a target; write sm_80 or sm_90a
          """)
  void reportsUsageErrorsInOneSentence(String line, String sentence) {
    var run =
        ptx(
            (Object[])
                (line + " --device emulator").replace("FOLDER", folder.toString()).split(" "));
    assertThat(run.err())
        .isEqualTo(
            "athanor ptx: "
                + sentence.replace("FOLDER", folder.toString())
                + System.lineSeparator());
    assertThat(run.status()).isEqualTo(2);
  }

  @Test
  void reportsClassesThatCannotBeLoaded() {
    assertThat(ptx(folder, "sample.Waves::waves", "--gpu", "A100").err())
        .startsWith("athanor ptx: CLASS sample.Waves")
        .contains("wrong name: sample/Waves");
  }
}
