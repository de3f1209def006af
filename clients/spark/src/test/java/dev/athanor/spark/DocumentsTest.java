package dev.athanor.spark;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.testing.TestTier;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Tests that the example of docs/spark.md compiles and prints the documented output. */
@ExtendWith(SparkCluster.class)
@Tag(TestTier.THOROUGH_TAG)
class DocumentsTest {
  private static final Pattern EXAMPLE = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL);
  private static final Pattern OUTPUT = Pattern.compile("```\n(\\[\\[.*?)```", Pattern.DOTALL);

  @TempDir private Path folder;

  @Test
  void examplePrintsItsResult(SparkSession spark) throws Exception {
    var document = Files.readString(Path.of("../../docs/spark.md"));
    compile(find(EXAMPLE, document));
    var printed = new ByteArrayOutputStream();
    var standard = System.out;
    URI classes = folder.toUri();
    try (var loader =
        new URLClassLoader(new URL[] {classes.toURL()}, getClass().getClassLoader())) {
      System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
      loader
          .loadClass("Search")
          .getMethod("main", String[].class)
          .invoke(null, (Object) new String[0]);
    } finally {
      System.setOut(standard);
    }
    assertThat(printed.toString(StandardCharsets.UTF_8)).isEqualTo(find(OUTPUT, document));
    assertThat(spark.sparkContext().isStopped()).isFalse();
  }

  private static String find(Pattern pattern, String document) {
    var found = pattern.matcher(document);
    assertThat(found.find()).as("%s in docs/spark.md", pattern).isTrue();
    return found.group(1);
  }

  private void compile(String example) throws Exception {
    var source = folder.resolve("Search.java");
    Files.writeString(source, example);
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
    assertThat(status).as(() -> example + errors.toString(StandardCharsets.UTF_8)).isZero();
  }
}
