package dev.athanor.engine;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static java.util.Map.entry;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
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
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Which package of the engine may see which. */
class ArchitectureTest {
  private static final String ENGINE = "dev.athanor.engine";

  /** A floor, so that no rule passes for want of classes; raise it as the engine grows. */
  private static final int FEWEST_CLASSES = 640;

  /**
   * Every package of the engine, and the others of the engine that it sees. A package stands for
   * its subpackages too, unless some of those have rows of their own.
   */
  private static final Map<String, Set<String>> SEES =
      Map.ofEntries(
          entry("ptx", Set.of("layout")),
          entry("ptx.meaning", Set.of("ptx", "layout")),
          entry("ptx.table", Set.of("ptx", "ptx.meaning", "layout")),
          entry("ptx.text", Set.of("ptx", "ptx.table")),
          entry("ptx.check", Set.of("ptx", "ptx.meaning", "ptx.table", "ptx.text")),
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
    var found = new TreeSet<String>();
    for (JavaClass type : CLASSES) {
      if (!type.getPackageName().equals(ENGINE)) {
        found.add(type.getPackageName().substring(ENGINE.length() + 1));
      }
    }
    assertThat(found)
        .as("packages whose arrows are stated")
        .allMatch(name ->
            SEES.containsKey(name) || (SEES.containsKey(family(name)) && !isDivided(family(name))));
  }

  @Test
  void roomsHaveNoCycles() {
    slices()
        .assignedFrom(
            new SliceAssignment() {
              @Override
              public SliceIdentifier getIdentifierOf(JavaClass type) {
                var name = type.getPackageName();
                return name.startsWith(ENGINE + ".")
                        && isDivided(family(name.substring(ENGINE.length() + 1)))
                    ? SliceIdentifier.of(name)
                    : SliceIdentifier.ignore();
              }

              @Override
              public String getDescription() {
                return "rooms";
              }
            })
        .should()
        .beFreeOfCycles()
        .check(CLASSES);
  }

  static List<String> packages() {
    return SEES.keySet().stream().sorted().toList();
  }

  @ParameterizedTest
  @MethodSource("packages")
  void seesOnlyWhatItsRowSays(String name) {
    DescribedPredicate<JavaClass> allowed =
        BASE_ONLY.contains(family(name))
            ? inJavaBase()
            : resideInAnyPackage("java..", "jdk.incubator..");
    allowed = allowed.or(resideInAnyPackage("org.jspecify.annotations", room(name)));
    for (String other : SEES.getOrDefault(name, Set.of())) {
      var inside = family(name).equals(family(other));
      allowed = allowed.or(resideInAnyPackage(inside ? room(other) : within(other)));
    }
    // Memory segments are how all packages hand over data; calling native code is another thing.
    DescribedPredicate<JavaClass> foreign =
        describe(
            "call native code",
            type ->
                type.getName().startsWith("java.lang.foreign.Linker")
                    || type.getName().equals("java.lang.foreign.SymbolLookup"));
    allowed =
        NATIVE.contains(family(name))
            ? allowed.or(resideInAnyPackage("jcuda.."))
            : allowed.and(DescribedPredicate.not(foreign));
    classes()
        .that()
        .resideInAPackage(room(name))
        .should()
        .onlyDependOnClassesThat(allowed)
        .allowEmptyShould(true) // a row may be there before its package
        .check(CLASSES);
  }

  /** The first part of a package's name. */
  private static String family(String name) {
    return name.split("\\.", 2)[0];
  }

  /** Whether subpackages have rows of their own. */
  private static boolean isDivided(String name) {
    return SEES.keySet().stream().anyMatch(other -> other.startsWith(name + "."));
  }

  /** The classes that a row is about. */
  private static String room(String name) {
    return isDivided(name) ? ENGINE + "." + name : within(name);
  }

  private static String within(String name) {
    return ENGINE + "." + name + "..";
  }

  private static DescribedPredicate<JavaClass> inJavaBase() {
    Set<String> base = Object.class.getModule().getPackages();
    return describe("are in java.base", type -> base.contains(type.getPackageName()));
  }
}
