package dev.athanor.cli;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.type;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.Architectures.layeredArchitecture;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.lang.foreign.Linker;
import java.lang.foreign.SymbolLookup;
import java.util.TreeSet;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The packages of the command line. */
class ArchitectureTest {

  /** Maximum number of top-level classes of a package. */
  private static final int MAX_CLASSES = 25;

  private static final JavaClasses CLASSES =
      new ClassFileImporter()
          .withImportOption(new ImportOption.DoNotIncludeTests())
          .importPackages("dev.athanor.cli");

  @Test
  void packageDependenciesAreLayered() {
    layeredArchitecture()
        .consideringOnlyDependenciesInLayers()
        .layer("program")
        .definedBy("dev.athanor.cli")
        .layer("command")
        .definedBy("dev.athanor.cli.command")
        .layer("argument")
        .definedBy("dev.athanor.cli.argument")
        .layer("report")
        .definedBy("dev.athanor.cli.report")
        .layer("debug")
        .definedBy("dev.athanor.cli.debug")
        .layer("load")
        .definedBy("dev.athanor.cli.load")
        .layer("client")
        .definedBy("dev.athanor.cli.client")
        .layer("project")
        .definedBy("dev.athanor.cli.project")
        .layer("demo")
        .definedBy("dev.athanor.cli.demo")
        .whereLayer("program")
        .mayNotBeAccessedByAnyLayer()
        .whereLayer("command")
        .mayOnlyBeAccessedByLayers("program")
        .whereLayer("argument")
        .mayOnlyBeAccessedByLayers("debug", "command", "program")
        .whereLayer("debug")
        .mayOnlyBeAccessedByLayers("command")
        .whereLayer("demo")
        .mayOnlyBeAccessedByLayers("program")
        .whereLayer("report")
        .mayOnlyBeAccessedByLayers("command", "demo", "program")
        .whereLayer("client")
        .mayOnlyBeAccessedByLayers("load", "command", "demo", "program")
        .whereLayer("project")
        .mayOnlyBeAccessedByLayers("command")
        .whereLayer("load")
        .mayOnlyBeAccessedByLayers("report", "command", "demo")
        .check(CLASSES);
  }

  /** The load generator measures the service from outside. */
  @Test
  void loadGeneratorDoesNotUseTheService() {
    noClasses()
        .that()
        .resideInAPackage("dev.athanor.cli.load")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("dev.athanor.service..")
        .check(CLASSES);
  }

  @Test
  void nothingCallsNativeCode() {
    noClasses()
        .should()
        .dependOnClassesThat(
            resideInAPackage("jcuda..").or(type(Linker.class)).or(type(SymbolLookup.class)))
        .check(CLASSES);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"command", "argument", "report", "debug", "load", "client", "project", "demo"})
  void packagesAreSmall(String name) {
    var types = new TreeSet<String>();
    for (JavaClass type : CLASSES.that(resideInAPackage("dev.athanor.cli." + name))) {
      if (!type.getSimpleName().equals("package-info")) {
        types.add(type.getName().split("\\$", 2)[0]);
      }
    }
    assertThat(types).as("classes of %s", name).hasSizeBetween(1, MAX_CLASSES);
  }

  @Test
  void everyPackageIsNullMarked() {
    assertThat(CLASSES)
        .isNotEmpty()
        .allSatisfy(type ->
            assertThat(type.getPackage().isAnnotatedWith(NullMarked.class))
                .as(type.getPackageName())
                .isTrue());
  }
}
