package dev.athanor.engine;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static java.util.Map.entry;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Which package of the engine may see which. */
class ArchitectureTest {
  private static final String ENGINE = "dev.athanor.engine";

  /** A floor, so that no rule passes for want of classes; raise it as the engine grows. */
  private static final int FEWEST_CLASSES = 50;

  /** Every package of the engine, and the others of the engine that it sees. */
  private static final Map<String, Set<String>> SEES =
      Map.ofEntries(
          entry("ptx", Set.of("layout")),
          entry("layout", Set.of()),
          entry("author", Set.of("ptx", "layout")),
          entry("device", Set.of("ptx")),
          entry("natives", Set.of()),
          entry("emulator", Set.of("ptx", "layout", "device")),
          entry("cuda", Set.of("ptx", "device", "natives")),
          entry("analysis", Set.of("ptx", "device", "natives")),
          entry("profile", Set.of("ptx", "device", "emulator", "analysis")),
          entry("conformance", Set.of("ptx", "device", "emulator")),
          entry("nvml", Set.of()));

  /** The packages that need nothing but the language's own base. */
  private static final Set<String> BASE_ONLY = Set.of("ptx", "layout");

  /** The packages that talk to the driver, to its compiler and to its sensors. */
  private static final Set<String> NATIVE = Set.of("cuda", "analysis", "nvml");

  private static final JavaClasses CLASSES =
      new ClassFileImporter()
          .withImportOption(new ImportOption.DoNotIncludeTests())
          .importPackages(ENGINE);

  @Test
  void classesWereSeen() {
    assertThat(CLASSES).hasSizeGreaterThanOrEqualTo(FEWEST_CLASSES);
  }

  @Test
  void everyPackageHasItsRow() {
    Set<String> found = new TreeSet<>();
    for (JavaClass type : CLASSES) {
      if (!type.getPackageName().equals(ENGINE)) {
        found.add(type.getPackageName().substring(ENGINE.length() + 1).split("\\.", 2)[0]);
      }
    }
    assertThat(SEES.keySet()).as("packages whose arrows are stated").containsAll(found);
  }

  static List<String> packages() {
    return SEES.keySet().stream().sorted().toList();
  }

  @ParameterizedTest
  @MethodSource("packages")
  void seesOnlyWhatItsRowSays(String name) {
    DescribedPredicate<JavaClass> allowed =
        BASE_ONLY.contains(name) ? inJavaBase() : resideInAnyPackage("java..", "jdk.incubator..");
    allowed = allowed.or(resideInAnyPackage("org.jspecify.annotations", within(name)));
    for (String other : SEES.getOrDefault(name, Set.of())) {
      allowed = allowed.or(resideInAnyPackage(within(other)));
    }
    // Memory segments are how all packages hand over data; calling native code is another thing.
    DescribedPredicate<JavaClass> foreign =
        describe(
            "call native code",
            type ->
                type.getName().startsWith("java.lang.foreign.Linker")
                    || type.getName().equals("java.lang.foreign.SymbolLookup"));
    allowed =
        NATIVE.contains(name)
            ? allowed.or(resideInAnyPackage("jcuda.."))
            : allowed.and(DescribedPredicate.not(foreign));
    classes()
        .that()
        .resideInAPackage(within(name))
        .should()
        .onlyDependOnClassesThat(allowed)
        .allowEmptyShould(true) // a row may be there before its package
        .check(CLASSES);
  }

  private static String within(String name) {
    return ENGINE + "." + name + "..";
  }

  private static DescribedPredicate<JavaClass> inJavaBase() {
    Set<String> base = Object.class.getModule().getPackages();
    return describe("are in java.base", type -> base.contains(type.getPackageName()));
  }
}
