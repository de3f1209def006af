package dev.athanor.service.rest;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import dev.athanor.testing.TestTier;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Checks that docs/add-an-op.md shows code of the example plugin, and the types for plugins. */
@Tag(TestTier.THOROUGH_TAG)
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

  /** The public types of the packages for plugins are their API. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          row | RowFunction RowShape RowPlanner RowKernel RowSchedule Row Chunk RowTile \
          RowCases
          tile | Operand TilePlanner TileProduct TensorMatmul TileScheduler KRange \
          EpilogueFunction Epilogue TensorTile WarpSums Factors Stage Producer StagedOperand \
          GroupScales BlockScales Shares SplitVariant Interleaving Ring
          lift | KernelOp KernelOpBuilder Sizes KernelReference ReferenceInputs InputDrawing
          """)
  void publicTypesOfAPackageAreThoseForPlugins(String child, String expected) {
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
    assertThat(types).containsExactlyInAnyOrder(expected.split(" "));
  }
}
