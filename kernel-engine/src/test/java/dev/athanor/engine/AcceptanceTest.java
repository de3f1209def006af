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

/** Checks that the tests exist that {@code docs/acceptance.md} names for the engine. */
class AcceptanceTest {

  private static final Path ROOT = Path.of("..");
  private static final List<String> CASES = List.of("18", "19", "20", "23", "24", "25");
  private static final Pattern NAMED =
      Pattern.compile("`(?<type>[A-Z]\\w+)#(?<method>\\w+)`|`(?<file>filetests/[\\w/-]+\\.ptx)`");

  /** Marks cases that do not compile and thus need no test. */
  private static final String BY_TYPES = "Java's types | — |";

  private static List<String> section() throws IOException {
    return Files.readString(ROOT.resolve("docs/acceptance.md"))
        .lines()
        .dropWhile(line -> !line.equals("## Engine"))
        .skip(1)
        .takeWhile(line -> !line.startsWith("## "))
        .toList();
  }

  /** Returns the rows of tables, without their headers. */
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
  Stream<DynamicTest> namedTestsExist() throws IOException {
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

  /** Returns the source of all test classes of a name, in any module. */
  private static String source(String type) throws IOException {
    var text = new StringBuilder();
    try (var modules = Files.newDirectoryStream(ROOT, Files::isDirectory)) {
      for (var module : modules) {
        var tests = module.resolve("src/test/java");
        if (Files.isDirectory(tests)) {
          try (var walk = Files.walk(tests)) {
            for (var file : walk.filter(f -> f.endsWith(type + ".java")).toList()) {
              text.append(Files.readString(file));
            }
          }
        }
      }
    }
    assertThat(text).as("the test class " + type).isNotEmpty();
    return text.toString();
  }
}
