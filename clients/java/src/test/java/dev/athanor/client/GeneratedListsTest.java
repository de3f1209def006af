package dev.athanor.client;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the generated methods of operations with lists, from a catalogue of this test. */
class GeneratedListsTest {

  private static final Path GENERATOR = Path.of("src/generator/java");
  private static final Path RESOURCES = Path.of("src/test/resources/lists");
  private static final String CLASS_PATH = System.getProperty("java.class.path");

  @TempDir private Path folder;

  @Test
  void takesAndReturnsLists() throws Exception {
    var sources = generate("sources");
    var example = Path.of("dev/athanor/client/Example.java");
    Files.copy(RESOURCES.resolve("Example.java.txt"), sources.resolve(example));
    var classes = folder.resolve("classes");
    compile(classes, javaFiles(sources));
    assertThat(runExample(classes))
        .containsExactly(
            "concat[x0, x1, x2]{}[y]",
            "concat.y",
            "concat[x0]{axis=1}[y]",
            "concat.y",
            "split[x]{splits=[1, 2]}[y0, y1]",
            "[split.y0, split.y1]",
            "map[x0, x1, w]{constants=[0.5, 2.0], axes=[0, 2], expression=x0 + c0}[y0, sum]",
            "MapResult[y=[map.y0], sum=map.sum]",
            "split[x]{splits=[1, 2]}[y0, y1, y2]",
            "The operation returned [y0, y1]; the call requests 3 outputs of the list y.");
  }

  @Test
  void generatesTheSameTwice() throws Exception {
    assertThat(contents(generate("one"))).isEqualTo(contents(generate("other")));
  }

  @Test
  void documentsLists() throws Exception {
    var ops = generate("sources").resolve("dev/athanor/client/ops");
    assertThat(ops.resolve("AsyncOperations.java"))
        .content()
        .contains(
            "@param x the parts. Shape […], dtype f32; at most 32 tensors",
            "@param yCount number of outputs; 1 to 32",
            "@param splits the extents of the parts. Bounds: 1 to 1000");
    assertThat(ops.resolve("SplitOptions.java"))
        .content()
        .contains("public SplitOptions intoY(List<Tensor> tensors)");
  }

  private Path generate(String name) throws Exception {
    var generator = folder.resolve("generator");
    compile(generator, javaFiles(GENERATOR));
    var target = folder.resolve(name);
    try (var loader =
        new URLClassLoader(new URL[] {generator.toUri().toURL()}, getClass().getClassLoader())) {
      var main =
          loader
              .loadClass("dev.athanor.client.generator.GenerateOperations")
              .getMethod("main", String[].class);
      main.setAccessible(true);
      var catalogue = RESOURCES.resolve("ops.json").toString();
      main.invoke(null, (Object) new String[] {target.toString(), catalogue});
    }
    return target;
  }

  /** Runs the example with the generated classes in place of those of the client. */
  private static List<String> runExample(Path classes) throws Exception {
    var urls = new ArrayList<>(List.of(classes.toUri().toURL()));
    for (var entry : CLASS_PATH.split(File.pathSeparator, -1)) {
      urls.add(Path.of(entry).toUri().toURL());
    }
    try (var loader =
        new URLClassLoader(urls.toArray(URL[]::new), ClassLoader.getPlatformClassLoader())) {
      var example = loader.loadClass("dev.athanor.client.Example");
      return ((List<?>) example.getMethod("run").invoke(null))
          .stream().map(String::valueOf).toList();
    }
  }

  private static List<String> javaFiles(Path folder) throws IOException {
    try (var files = Files.walk(folder)) {
      return files.map(Path::toString).filter(name -> name.endsWith(".java")).sorted().toList();
    }
  }

  private static Map<String, String> contents(Path folder) throws IOException {
    var contents = new TreeMap<String, String>();
    for (var file : javaFiles(folder)) {
      contents.put(folder.relativize(Path.of(file)).toString(), Files.readString(Path.of(file)));
    }
    assertThat(contents).containsKey("dev/athanor/client/ops/MapOptions.java");
    return contents;
  }

  private static void compile(Path classes, List<String> files) {
    var arguments = new ArrayList<>(List.of("-proc:none", "-cp", CLASS_PATH));
    arguments.addAll(List.of("-d", classes.toString()));
    arguments.addAll(files);
    var errors = new ByteArrayOutputStream();
    int status =
        ToolProvider.getSystemJavaCompiler()
            .run(null, null, errors, arguments.toArray(String[]::new));
    assertThat(status).as(() -> errors.toString(StandardCharsets.UTF_8)).isZero();
  }
}
