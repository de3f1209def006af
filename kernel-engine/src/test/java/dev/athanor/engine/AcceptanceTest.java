package dev.athanor.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** The tests that {@code docs/acceptance.md} names for the engine are there. */
class AcceptanceTest {

  private static final Path ROOT = Path.of("..");
  private static final List<String> CASES = List.of("18", "19", "20", "23", "24", "25");
  private static final Pattern NAMED =
      Pattern.compile("`(?<type>[A-Z]\\w+)#(?<method>\\w+)`|`(?<file>filetests/[\\w/-]+\\.ptx)`");

  /** What no test can show, because it does not compile. */
  private static final String BY_TYPES = "Java's types | — |";

  private static List<String> section() throws IOException {
    return Files.readString(ROOT.resolve("docs/acceptance.md"))
        .lines()
        .dropWhile(line -> !line.equals("## Engine"))
        .skip(1)
        .takeWhile(line -> !line.startsWith("## "))
        .toList();
  }

  private static List<String> rows() throws IOException {
    return section().stream()
        .filter(line ->
            line.startsWith("| ") && !line.startsWith("| Case |") && !line.startsWith("|---"))
        .toList();
  }

  @Test
  void everyCaseHasATableAndEveryRowATest() throws IOException {
    assertThat(section().stream().filter(line -> line.startsWith("### ")))
        .hasSameSizeAs(CASES)
        .zipSatisfy(CASES, (title, number) -> assertThat(title).endsWith("(case " + number + ")"));
    assertThat(rows())
        .hasSizeGreaterThan(CASES.size())
        .allSatisfy(row ->
            assertThat(NAMED.matcher(row).find() || row.endsWith(BY_TYPES)).as(row).isTrue());
  }

  @TestFactory
  Stream<DynamicTest> whatIsNamedIsThere() throws IOException {
    return rows().stream()
        .flatMap(row -> NAMED.matcher(row).results())
        .map(named ->
            DynamicTest.dynamicTest(
                named.group(),
                () -> {
                  var file = named.group("file");
                  if (file != null) {
                    assertThat(Path.of("src/test", file)).isRegularFile();
                  } else {
                    assertThat(source(named.group("type")))
                        .containsPattern("void " + named.group("method") + "\\(");
                  }
                }));
  }

  /** The text of a test class of whichever module. */
  private static String source(String type) throws IOException {
    try (var modules = Files.newDirectoryStream(ROOT, Files::isDirectory)) {
      for (var module : modules) {
        var tests = module.resolve("src/test/java");
        if (Files.isDirectory(tests)) {
          try (var walk = Files.walk(tests)) {
            var found = walk.filter(f -> f.endsWith(type + ".java")).findFirst();
            if (found.isPresent()) {
              return Files.readString(found.get());
            }
          }
        }
      }
    }
    throw new AssertionError("there is no test class " + type);
  }
}
