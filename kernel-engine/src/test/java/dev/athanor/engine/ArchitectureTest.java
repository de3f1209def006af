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
import java.util.ArrayDeque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Checks the dependencies between the packages of the engine. */
class ArchitectureTest {
  private static final String ENGINE = "dev.athanor.engine";

  /**
   * Minimum number of classes found, so that rules do not pass vacuously; raise it as the engine
   * grows.
   */
  private static final int FEWEST_CLASSES = 640;

  /**
   * Each package of the engine and the other packages that it may depend on. A package includes its
   * subpackages unless they have their own rows.
   */
  private static final Map<String, Set<String>> SEES =
      Map.ofEntries(
          entry("ptx", Set.of("layout")),
          entry("ptx.meaning", Set.of("ptx", "layout")),
          entry("ptx.table", Set.of("ptx", "ptx.meaning", "layout")),
          entry("ptx.text", Set.of("ptx", "ptx.table")),
          entry("ptx.flow", Set.of("ptx")),
          entry("ptx.symbol", Set.of("ptx")),
          entry("ptx.legal", Set.of("ptx", "ptx.table")),
          entry("ptx.check", Set.of("ptx", "ptx.meaning", "ptx.table", "ptx.text", "ptx.flow")),
          entry("layout", Set.of()),
          entry("author", Set.of("ptx", "layout")),
          entry("device", Set.of("ptx", "layout")),
          entry(
              "lift",
              Set.of(
                  "ptx",
                  "ptx.symbol",
                  "device",
                  "lift.host",
                  "lift.intrinsic",
                  "lift.ir",
                  "lift.bytecode",
                  "lift.marshal",
                  "lift.simplify",
                  "lift.analysis",
                  "lift.optimize",
                  "lift.refusal",
                  "lift.emit")),
          entry("lift.processor", Set.of("lift", "lift.refusal")),
          entry("lift.host", Set.of("device", "lift.refusal")),
          entry("lift.library", Set.of("lift")),
          entry("lift.ir", Set.of("ptx")),
          entry("lift.refusal", Set.of("ptx", "lift.ir")),
          entry("lift.marshal", Set.of("lift.ir", "lift.refusal")),
          entry("lift.simplify", Set.of("ptx", "lift.ir")),
          entry("lift.intrinsic", Set.of("ptx", "lift.ir")),
          entry(
              "lift.bytecode",
              Set.of(
                  "ptx",
                  "ptx.symbol",
                  "lift.ir",
                  "lift.refusal",
                  "lift.simplify",
                  "lift.intrinsic")),
          entry("lift.analysis", Set.of("lift.ir")),
          entry("lift.optimize", Set.of("ptx", "lift.ir", "lift.analysis", "lift.simplify")),
          entry("lift.emit", Set.of("ptx", "ptx.symbol", "lift.ir", "lift.refusal")),
          entry("natives", Set.of()),
          emulator("memory"),
          emulator("watch", "memory"),
          emulator("options", "watch"),
          emulator("lanes", "memory"),
          emulator("step", "memory", "watch", "options", "lanes"),
          emulator("async", "memory", "watch", "options", "step"),
          emulator("program", "memory", "lanes", "step", "async"),
          emulator("jit", "memory", "lanes", "step", "program"),
          emulator("run", "memory", "watch", "options", "step", "async", "program", "jit"),
          emulator("sanitizer.clocks"),
          emulator("sanitizer", "memory", "watch", "sanitizer.clocks"),
          entry(
              "emulator",
              Set.of(
                  "ptx",
                  "device",
                  "emulator.memory",
                  "emulator.watch",
                  "emulator.options",
                  "emulator.step",
                  "emulator.program",
                  "emulator.run",
                  "emulator.sanitizer")),
          entry("cuda.driver", Set.of("device", "natives")),
          entry("cuda.context", Set.of("cuda.driver", "device")),
          entry("cuda.memory", Set.of("cuda.driver", "cuda.context", "device")),
          entry("cuda.module", Set.of("cuda.driver", "cuda.context", "device", "ptx")),
          entry(
              "cuda.stream",
              Set.of("cuda.driver", "cuda.context", "cuda.memory", "cuda.module", "device", "ptx")),
          entry(
              "cuda",
              Set.of(
                  "cuda.driver",
                  "cuda.context",
                  "cuda.memory",
                  "cuda.module",
                  "cuda.stream",
                  "device",
                  "natives",
                  "ptx")),
          entry("analysis", Set.of("ptx", "ptx.text", "device", "natives")),
          entry("analysis.sass", Set.of("analysis", "ptx")),
          entry("profile", Set.of("ptx", "device", "emulator", "analysis")),
          entry("debug.expression", Set.of()),
          entry("debug", Set.of("debug.expression", "ptx", "ptx.symbol", "device", "emulator")),
          entry("conformance", Set.of("ptx", "device", "emulator")),
          entry("nvml", Set.of("natives")));

  /** Returns the row of a package of the emulator. */
  private static Map.Entry<String, Set<String>> emulator(String name, String... lower) {
    var sees = new TreeSet<>(Set.of("ptx", "layout", "device"));
    Stream.of(lower).map("emulator."::concat).forEach(sees::add);
    return entry("emulator." + name, sees);
  }

  /** Packages that need only {@code java.base}. */
  private static final Set<String> BASE_ONLY = Set.of("ptx", "layout");

  /** Packages that call the driver, its compiler or its sensors. */
  private static final Set<String> NATIVE = Set.of("cuda", "analysis", "nvml");

  /** Maximum number of top-level classes of a package. */
  private static final int MOST_CLASSES = 25;

  /** Maximum number of top-level classes that depend on each other. */
  private static final int LARGEST_CYCLE = 5;

  private static final JavaClasses CLASSES =
      new ClassFileImporter()
          .withImportOption(new ImportOption.DoNotIncludeTests())
          .importPackages(ENGINE);

  @Test
  void findsClasses() {
    assertThat(CLASSES).hasSizeGreaterThanOrEqualTo(FEWEST_CLASSES);
  }

  @Test
  void everyPackageHasARow() {
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
  void packagesHaveNoCycles() {
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
                return "packages";
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
  void dependsOnlyOnAllowedPackages(String name) {
    DescribedPredicate<JavaClass> allowed =
        BASE_ONLY.contains(family(name))
            ? inJavaBase()
            : resideInAnyPackage(
                "java..",
                "javax.annotation.processing..",
                "javax.lang.model..",
                "javax.tools..",
                "jdk.incubator..");
    allowed = allowed.or(resideInAnyPackage("org.jspecify.annotations", packageOf(name)));
    for (String other : SEES.getOrDefault(name, Set.of())) {
      var inside = family(name).equals(family(other));
      allowed = allowed.or(resideInAnyPackage(inside ? packageOf(other) : within(other)));
    }
    // all packages may pass memory segments, but only some may call native code
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
        .resideInAPackage(packageOf(name))
        .should()
        .onlyDependOnClassesThat(allowed)
        .allowEmptyShould(true) // a row may precede its package
        .check(CLASSES);
  }

  /** Returns the first part of a package name. */
  private static String family(String name) {
    return name.split("\\.", 2)[0];
  }

  /** Returns whether subpackages have their own rows. */
  private static boolean isDivided(String name) {
    return SEES.keySet().stream().anyMatch(other -> other.startsWith(name + "."));
  }

  /** Returns the package pattern of a row. */
  private static String packageOf(String name) {
    return isDivided(name) ? ENGINE + "." + name : within(name);
  }

  @ParameterizedTest
  @MethodSource("packages")
  void packagesAreSmall(String name) {
    var types = new TreeSet<String>();
    for (JavaClass type : CLASSES.that(resideInAnyPackage(packageOf(name)))) {
      if (!type.getSimpleName().equals("package-info")) {
        types.add(topLevel(type));
      }
    }
    assertThat(types).as("classes of %s", name).hasSizeLessThanOrEqualTo(MOST_CLASSES);
  }

  static List<String> families() {
    return SEES.keySet().stream().map(ArchitectureTest::family).distinct().sorted().toList();
  }

  @ParameterizedTest
  @MethodSource("families")
  void classCyclesAreSmall(String name) {
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

  /** Returns the strongly connected components of a graph with more than one node. */
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
      cycle.removeIf(each -> !reachable.getOrDefault(each, Set.of()).contains(start));
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
