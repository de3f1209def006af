package dev.athanor.vulkan;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

@AnalyzeClasses(
    packages = "dev.athanor.vulkan",
    importOptions = ImportOption.DoNotIncludeTests.class)
class ArchitectureTest {

  @ArchTest
  static final ArchRule TRANSLATES_WITHOUT_A_DRIVER =
      noClasses()
          .that()
          .resideInAPackage("dev.athanor.vulkan.spirv")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("dev.athanor.vulkan", "org.lwjgl..");

  @ArchTest
  static final ArchRule READS_CONTROL_FLOW_WITHOUT_SPIRV =
      noClasses()
          .that()
          .resideInAPackage("dev.athanor.vulkan.flow")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("dev.athanor.vulkan", "dev.athanor.vulkan.spirv", "org.lwjgl..");

  @ArchTest
  static final ArchRule SEES_THE_ENGINE_AND_LWJGL =
      classes()
          .that()
          .resideInAPackage("dev.athanor.vulkan..")
          .should()
          .onlyDependOnClassesThat()
          .resideInAnyPackage(
              "dev.athanor.vulkan..",
              "dev.athanor.engine..",
              "java..",
              "org.jspecify.annotations..",
              "org.lwjgl..");
}
