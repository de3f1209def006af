package dev.athanor.junit;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

@AnalyzeClasses(
    packages = "dev.athanor.junit",
    importOptions = ImportOption.DoNotIncludeTests.class)
class ArchitectureTest {

  /** Projects that test their kernels need neither the ops nor Spring. */
  @ArchTest
  static final ArchRule SEES_ENGINE_JUNIT_AND_JACKSON =
      classes()
          .that()
          .resideInAPackage("dev.athanor.junit..")
          .should()
          .onlyDependOnClassesThat()
          .resideInAnyPackage(
              "dev.athanor.junit..",
              "dev.athanor.engine..",
              "java..",
              "org.junit.jupiter.api..",
              "org.junit.platform.commons.support..",
              "org.opentest4j..",
              "org.jspecify.annotations..",
              "tools.jackson..");
}
