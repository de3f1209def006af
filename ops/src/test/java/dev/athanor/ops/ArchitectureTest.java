package dev.athanor.ops;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static java.util.Map.entry;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.library.dependencies.SliceAssignment;
import com.tngtech.archunit.library.dependencies.SliceIdentifier;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Checks the dependencies between the packages of the op library. */
class ArchitectureTest {
  private static final String OPS = "dev.athanor.ops";

  /**
   * Minimum number of classes found, so that rules do not pass vacuously; raise it as the library
   * grows.
   */
  private static final int MIN_CLASSES = 300;

  /**
   * The package of the types that users and plugins see, on which every other package may depend.
   */
  private static final String ROOT = "";

  /** The package of shapes and checks, on which every package of ops may depend. */
  private static final String PROBLEM = "problem";

  /**
   * Each package and the other packages that it may depend on, besides the root package and {@link
   * #PROBLEM}.
   */
  private static final Map<String, Set<String>> ALLOWED =
      Map.ofEntries(
          entry(ROOT, Set.of()),
          // shared by families of ops
          entry("cost", Set.of()),
          entry(PROBLEM, Set.of()),
          entry("reference", Set.of()),
          entry("tile", Set.of("cost")),
          entry("tile.persistent", Set.of("tile")),
          // families of ops
          entry("map", Set.of("reference", "cost")),
          entry("expression", Set.of("reference", "cost", "map")),
          entry("move", Set.of("reference", "cost", "map")),
          entry("indexing", Set.of("reference", "cost", "map")),
          entry("reduce", Set.of("reference", "cost", "map", "expression", "move")),
          entry("rank", Set.of("reference", "cost", "map", "move")),
          entry("optimizer", Set.of("reference", "cost", "map")),
          entry("quant", Set.of("reference", "cost", "map")),
          entry("linear", Set.of("reference", "tile", "tile.persistent")),
          entry("linear.simt", Set.of("reference", "cost", "tile", "linear")),
          entry("linear.gemv", Set.of("reference", "cost", "tile", "linear", "move")),
          entry(
              "linear.dense",
              Set.of(
                  "reference",
                  "cost",
                  "tile",
                  "tile.persistent",
                  "linear",
                  "linear.simt",
                  "linear.gemv",
                  "move")),
          entry("linear.quantized.warpgroup", Set.of("tile", "tile.persistent", "quant")),
          entry(
              "linear.quantized",
              Set.of(
                  "reference",
                  "cost",
                  "tile",
                  "linear",
                  "linear.dense",
                  "linear.quantized.warpgroup",
                  "quant",
                  "move")),
          entry("convolution", Set.of("reference", "cost", "tile", "linear", "move")),
          entry("recurrence", Set.of("reference", "cost", "tile", "linear", "expression")),
          entry("attention", Set.of("reference", "cost", "tile")),
          entry("attention.warpgroup", Set.of("cost", "tile", "tile.persistent", "attention")),
          entry(
              "attention.prefill",
              Set.of("reference", "cost", "tile", "attention", "attention.warpgroup", "move")),
          entry(
              "attention.decode",
              Set.of("reference", "cost", "tile", "attention", "attention.warpgroup", "move")),
          entry(
              "attention.backward",
              Set.of(
                  "reference",
                  "cost",
                  "tile",
                  "tile.persistent",
                  "attention",
                  "attention.warpgroup",
                  "move")),
          entry("lift", Set.of("cost")),
          entry("row", Set.of("reference", "cost")),
          entry("row.norm", Set.of("reference", "cost", "row", "move")),
          entry("row.rope", Set.of("reference", "cost", "row", "row.norm")),
          entry("row.softmax", Set.of("reference", "cost", "row", "expression")),
          entry(
              "provider",
              Set.of(
                  "indexing",
                  "map",
                  "expression",
                  "move",
                  "optimizer",
                  "rank",
                  "reduce",
                  "quant",
                  "linear.dense",
                  "linear.gemv",
                  "linear.quantized",
                  "convolution",
                  "recurrence",
                  "attention.prefill",
                  "attention.decode",
                  "attention.backward",
                  "row.norm",
                  "row.rope",
                  "row.softmax")),
          // running, checking and measuring of ops; independent of any op
          entry("plugin", Set.of()),
          entry("run", Set.of()),
          entry("check", Set.of()),
          entry("profile", Set.of()),
          entry("bench", Set.of()),
          entry("tune", Set.of("run", "bench")));

  /** Packages that read and write JSON: tuning results, and the measurements of PyTorch. */
  private static final Set<String> JSON = Set.of("bench", "tune");

  /** Maximum number of top-level classes of a package. */
  private static final int MAX_CLASSES = 25;

  private static final JavaClasses CLASSES =
      new ClassFileImporter()
          .withImportOption(new ImportOption.DoNotIncludeTests())
          .importPackages(OPS);

  @Test
  void findsClasses() {
    assertThat(CLASSES).hasSizeGreaterThanOrEqualTo(MIN_CLASSES);
  }

  @Test
  void everyPackageIsDeclaredAndNullMarked() {
    var found = new TreeSet<String>();
    for (JavaClass type : CLASSES) {
      found.add(type.getPackageName());
      assertThat(type.getPackage().isAnnotatedWith(NullMarked.class))
          .as(type.getPackageName())
          .isTrue();
    }
    assertThat(found)
        .as("packages with declared dependencies")
        .containsExactlyInAnyOrderElementsOf(
            packages().stream().map(ArchitectureTest::nameOf).toList());
  }

  @Test
  void packagesHaveNoCycles() {
    slices()
        .assignedFrom(
            new SliceAssignment() {
              @Override
              public SliceIdentifier getIdentifierOf(JavaClass type) {
                return SliceIdentifier.of(type.getPackageName());
              }

              @Override
              public String getDescription() {
                return "packages";
              }
            })
        .should()
        .beFreeOfCycles()
        .check(CLASSES);
  }

  static List<String> packages() {
    return ALLOWED.keySet().stream().sorted().toList();
  }

  @ParameterizedTest
  @MethodSource("packages")
  void dependsOnlyOnAllowedPackages(String name) {
    var allowed =
        resideInAnyPackage(
            "java..", "org.jspecify.annotations", "dev.athanor.engine..", OPS, nameOf(name));
    if (!name.equals(ROOT)) {
      allowed = allowed.or(resideInAPackage(nameOf(PROBLEM)));
    }
    for (String other : ALLOWED.getOrDefault(name, Set.of())) {
      allowed = allowed.or(resideInAPackage(nameOf(other)));
    }
    if (JSON.contains(name)) {
      allowed = allowed.or(resideInAnyPackage("tools.jackson..", "com.fasterxml.jackson.."));
    }
    classes()
        .that()
        .resideInAPackage(nameOf(name))
        .should()
        .onlyDependOnClassesThat(allowed)
        .check(CLASSES);
  }

  @ParameterizedTest
  @MethodSource("packages")
  void packagesAreSmall(String name) {
    var types = new TreeSet<String>();
    for (JavaClass type : CLASSES.that(resideInAPackage(nameOf(name)))) {
      if (!type.getSimpleName().equals("package-info")) {
        types.add(type.getName().split("\\$", 2)[0]);
      }
    }
    assertThat(types).as("classes of %s", nameOf(name)).hasSizeBetween(1, MAX_CLASSES);
  }

  private static String nameOf(String row) {
    return row.equals(ROOT) ? OPS : OPS + "." + row;
  }
}
