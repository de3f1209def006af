package dev.athanor.ops;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;

/** Checks that the tests named in the ops section of {@code docs/acceptance.md} exist. */
class AcceptanceDocumentTest {

  private static final Path DOCUMENT = Path.of("../docs/acceptance.md");
  private static final Path TESTS = Path.of("src/test/java");
  private static final Pattern ROW = Pattern.compile("\\| (\\d+) \\|.*");
  private static final Pattern TEST = Pattern.compile("`(\\w+)#(\\w+)`");

  /** Returns the rows of the ops section. */
  private static List<String> rows() throws IOException {
    return Files.readAllLines(DOCUMENT).stream()
        .dropWhile(line -> !line.equals("## Ops"))
        .skip(1)
        .takeWhile(line -> !line.startsWith("## "))
        .filter(line -> ROW.matcher(line).matches())
        .toList();
  }

  @Test
  void everyCaseHasARow() throws IOException {
    var cases = new ArrayList<>(IntStream.rangeClosed(1, 17).boxed().toList());
    cases.addAll(List.of(21, 22));
    assertThat(rows())
        .extracting(row -> Integer.valueOf(row.split("\\|", -1)[1].strip()))
        .isEqualTo(cases);
  }

  @Test
  void everyNamedTestExists() throws IOException {
    for (var row : rows()) {
      var named = TEST.matcher(row).results().toList();
      assertThat(named).as(row).isNotEmpty();
      for (var test : named) {
        assertThat(Arrays.stream(find(test.group(1)).getDeclaredMethods()))
            .as(test.group())
            .anyMatch(method ->
                method.getName().equals(test.group(2))
                    && (method.isAnnotationPresent(Test.class)
                        || method.isAnnotationPresent(ParameterizedTest.class)));
      }
    }
  }

  /** Returns the test class with a simple name. */
  private static Class<?> find(String name) throws IOException {
    try (var files = Files.walk(TESTS)) {
      var found = files.filter(file -> file.endsWith(name + ".java")).toList();
      assertThat(found).as("files of " + name).hasSize(1);
      var path = TESTS.relativize(found.getFirst()).toString();
      var className = path.substring(0, path.length() - ".java".length());
      return Class.forName(className.replace('/', '.').replace('\\', '.'));
    } catch (ClassNotFoundException e) {
      throw new AssertionError("no class " + name, e);
    }
  }
}
