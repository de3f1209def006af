package dev.athanor.engine;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.library.Architectures.layeredArchitecture;
import static java.util.Map.entry;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.ArrayDeque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
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

  /** The packages, subpackages included, whose cycles of classes are checked; add yours. */
  private static final Set<String> WITHOUT_LARGE_CYCLES = Set.of("author", "cuda");

  /** Maximum number of top-level classes that depend on each other. */
  private static final int LARGEST_CYCLE = 5;

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

  static List<String> packagesWithoutLargeCycles() {
    return WITHOUT_LARGE_CYCLES.stream().sorted().toList();
  }

  @ParameterizedTest
  @MethodSource("packagesWithoutLargeCycles")
  void cyclesOfClassesAreSmall(String name) {
    var dependencies = new TreeMap<String, Set<String>>();
    for (JavaClass type : CLASSES.that(resideInAnyPackage(within(name)))) {
      var targets = dependencies.computeIfAbsent(topLevel(type), _ -> new TreeSet<>());
      for (var dependency : type.getDirectDependenciesFromSelf()) {
        targets.add(topLevel(dependency.getTargetClass().getBaseComponentType()));
      }
    }
    assertThat(dependencies).as("classes of %s", name).isNotEmpty();
    assertThat(cycles(dependencies))
        .as("cycles of classes in %s", name)
        .allSatisfy(cycle -> assertThat(cycle).hasSizeLessThanOrEqualTo(LARGEST_CYCLE));
  }

  /** The CUDA backend's layers, each of which sees only those below it. */
  @Test
  void cudaIsLayered() {
    var layers = layeredArchitecture().consideringOnlyDependenciesInLayers();
    var names = List.of("", ".stream", ".module", ".memory", ".context", ".driver");
    for (var name : names) {
      layers = layers.layer("cuda" + name).definedBy(ENGINE + ".cuda" + name);
    }
    for (int i = 0; i < names.size(); i++) {
      var above = names.subList(0, i).stream().map(name -> "cuda" + name).toArray(String[]::new);
      var layer = layers.whereLayer("cuda" + names.get(i));
      layers =
          above.length == 0
              ? layer.mayNotBeAccessedByAnyLayer()
              : layer.mayOnlyBeAccessedByLayers(above);
    }
    layers.check(CLASSES);
  }

  /** Returns the strongly connected components of a graph, those of one node left out. */
  private static Set<Set<String>> cycles(Map<String, Set<String>> graph) {
    var reachable = new TreeMap<String, Set<String>>();
    for (var start : graph.keySet()) {
      var found = new TreeSet<String>();
      var pending = new ArrayDeque<>(graph.get(start));
      while (!pending.isEmpty()) {
        var next = pending.remove();
        if (graph.containsKey(next) && found.add(next)) {
          pending.addAll(graph.get(next));
        }
      }
      reachable.put(start, found);
    }
    var cycles = new LinkedHashSet<Set<String>>();
    reachable.forEach((start, found) -> {
      var cycle = new TreeSet<>(found);
      cycle.removeIf(each -> !reachable.get(each).contains(start));
      if (cycle.size() > 1) {
        cycles.add(cycle);
      }
    });
    return cycles;
  }

  private static String topLevel(JavaClass type) {
    return type.getName().split("\\$", 2)[0];
  }

  private static String within(String name) {
    return ENGINE + "." + name + "..";
  }

  private static DescribedPredicate<JavaClass> inJavaBase() {
    Set<String> base = Object.class.getModule().getPackages();
    return describe("are in java.base", type -> base.contains(type.getPackageName()));
  }
}
