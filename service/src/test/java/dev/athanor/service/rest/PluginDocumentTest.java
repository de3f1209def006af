package dev.athanor.service.rest;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Checks that docs/add-an-op.md shows code of the example plugin and lists all classes for plugins.
 */
class PluginDocumentTest {

  private static final Path DOCUMENT = Path.of("../docs/add-an-op.md");
  private static final Pattern SNIPPET = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL);

  /** Number of snippets; each section with a kernel has at least one. */
  private static final int SNIPPETS = 6;

  @Test
  void snippetsAreCodeOfTheExamples() throws IOException {
    var sources = new ArrayList<String>();
    try (var files = Files.list(ExamplePlugin.SOURCES)) {
      for (var file : files.toList()) {
        sources.add(withoutSpace(Files.readString(file)));
      }
    }
    var snippets =
        SNIPPET.matcher(Files.readString(DOCUMENT)).results().map(found -> found.group(1)).toList();
    assertThat(snippets).hasSize(SNIPPETS);
    assertThat(snippets)
        .allSatisfy(snippet ->
            assertThat(sources)
                .as(snippet)
                .anyMatch(source -> source.contains(withoutSpace(snippet))));
  }

  private static String withoutSpace(String code) {
    return code.replaceAll("\\s", "");
  }

  /** Each table must list exactly the public classes of a package. */
  @ParameterizedTest
  @ValueSource(strings = {"row", "tile", "lift"})
  void tablesListThePublicClassesOfAPackage(String child) throws IOException {
    var document = Files.readString(DOCUMENT);
    var heading = "| class of `" + child + "` | purpose |\n| --- | --- |\n";
    assertThat(document).contains(heading);
    var from = document.substring(document.indexOf(heading) + heading.length());
    var listed =
        from.substring(0, from.indexOf("\n\n"))
            .lines()
            .map(line -> line.replaceFirst("^\\| `(\\w+)` \\|.*$", "$1"))
            .toList();
    var name = "dev.athanor.ops." + child;
    var types =
        new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests()).importPackages(name).stream()
                .filter(type -> type.getPackageName().equals(name))
                .filter(
                    type -> type.isTopLevelClass() && !type.getSimpleName().equals("package-info"))
                .filter(type -> type.getModifiers().contains(JavaModifier.PUBLIC))
                .map(type -> type.getSimpleName())
                .toList();
    assertThat(listed).containsExactlyInAnyOrderElementsOf(types);
  }
}
