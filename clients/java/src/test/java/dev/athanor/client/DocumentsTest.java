package dev.athanor.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.testing.TestTier;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests that the Java examples of the documents compile, and that complete ones run. */
@Tag(TestTier.THOROUGH_TAG)
class DocumentsTest {

  private static final Path ROOT = Path.of("../..");
  private static final Pattern EXAMPLE = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL);
  private static final String URL = "http://127.0.0.1:8080";

  private static final String IMPORTS =
      """
      import dev.athanor.client.*;
      import dev.athanor.client.ops.*;
      import java.time.Duration;
      import java.util.*;
      """;

  @TempDir private Path folder;

  /** The documents with complete examples and their output. */
  static Stream<List<String>> complete() {
    return Stream.of(
        List.of("README.md", "[19.0, 22.0, 43.0, 50.0]"), List.of("docs/clients.md", "[3.0, 0.0]"));
  }

  @ParameterizedTest
  @MethodSource("complete")
  void completeExamplesPrintTheirResults(List<String> document) throws Exception {
    var example =
        examples(document.get(0)).stream()
            .filter(text -> text.contains("Athanor.connect(") && text.contains("println"))
            .findFirst()
            .orElseThrow();
    compile("  public static void main(String[] arguments) {\n" + example + "  }\n");
    var printed = new ByteArrayOutputStream();
    var standard = System.out;
    try (var classes =
        new URLClassLoader(
            new java.net.URL[] {folder.toUri().toURL()}, getClass().getClassLoader())) {
      System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
      classes
          .loadClass("Example")
          .getMethod("main", String[].class)
          .invoke(null, (Object) new String[0]);
    } finally {
      System.setOut(standard);
    }
    assertThat(printed.toString(StandardCharsets.UTF_8).strip())
        .isEqualTo(document.get(document.size() - 1));
  }

  @Test
  void otherExamplesCompile() throws IOException {
    var head =
        "  void example(Athanor athanor, HostTensor x, HostTensor weights, Tensor w, Tensor gamma,"
            + " String key, javax.net.ssl.SSLContext context) {\n";
    for (var example : examples("docs/clients.md")) {
      if (!example.contains("println")) {
        // the parameter is named athanor
        compile(head + example.replace("var athanor =", "var another =") + "  }\n");
      }
    }
  }

  private static List<String> examples(String document) throws IOException {
    var examples = new ArrayList<String>();
    EXAMPLE
        .matcher(Files.readString(ROOT.resolve(document)))
        .results()
        .forEach(found -> examples.add(found.group(1)));
    assertThat(examples).as(document).isNotEmpty();
    return examples;
  }

  private void compile(String method) throws IOException {
    var source = folder.resolve("Example.java");
    Files.writeString(
        source,
        IMPORTS + "public class Example {\n" + method.replace(URL, LiveService.http()) + "}\n");
    var errors = new ByteArrayOutputStream();
    int status =
        ToolProvider.getSystemJavaCompiler()
            .run(
                null,
                null,
                errors,
                "-cp",
                System.getProperty("java.class.path"),
                "-d",
                folder.toString(),
                source.toString());
    assertThat(status).as(() -> method + errors.toString(StandardCharsets.UTF_8)).isZero();
  }
}
