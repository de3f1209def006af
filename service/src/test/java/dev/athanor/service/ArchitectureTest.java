package dev.athanor.service;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.type;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.Architectures.layeredArchitecture;
import static com.tngtech.archunit.library.GeneralCodingRules.ACCESS_STANDARD_STREAMS;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaPackage;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.lang.foreign.Linker;
import java.lang.foreign.SymbolLookup;
import java.net.Socket;
import java.net.URLConnection;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.TreeSet;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Checks the dependencies between modules and packages, and rules for all code. */
class ArchitectureTest {
  private static final String ENGINE = "dev.athanor.engine..";
  private static final String OPS = "dev.athanor.ops..";
  private static final String SERVICE = "dev.athanor.service..";
  private static final String SCHEDULE = "dev.athanor.service.schedule";

  /**
   * Minimum number of classes, so that no rule passes on an empty import. Raise it as the modules
   * grow.
   */
  private static final int MIN_CLASSES = 1600;

  /** Maximum number of top-level classes of a package. */
  private static final int MAX_CLASSES = 25;

  private static final JavaClasses CLASSES =
      new ClassFileImporter()
          .withImportOption(new ImportOption.DoNotIncludeTests())
          .withImportOption(location -> !location.contains("/dev/athanor/api/")) // generated
          .withImportOption(location -> !location.contains("/dev/athanor/models/onnx/proto/"))
          .importPackages("dev.athanor");

  @Test
  void importsClassesOfEveryModule() {
    assertThat(CLASSES).hasSizeGreaterThanOrEqualTo(MIN_CLASSES);
    for (String module : new String[] {ENGINE, OPS, SERVICE}) {
      assertThat(CLASSES.that(JavaClass.Predicates.resideInAPackage(module)))
          .as(module)
          .isNotEmpty();
    }
  }

  @Test
  void engineDependsOnNeitherOpsNorService() {
    noClasses()
        .that()
        .resideInAPackage(ENGINE)
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage(OPS, SERVICE)
        .check(CLASSES);
  }

  /**
   * Tuning results and PyTorch measurements are JSON, so their packages may use other libraries.
   */
  @Test
  void opsDependOnlyOnTheEngine() {
    classes()
        .that()
        .resideInAPackage(OPS)
        .and()
        .resideOutsideOfPackages("dev.athanor.ops.tune..", "dev.athanor.ops.bench..")
        .should()
        .onlyDependOnClassesThat()
        .resideInAnyPackage(OPS, ENGINE, "java..", "org.jspecify.annotations")
        .check(CLASSES);
  }

  /** The scheduler uses no threads, clocks or I/O; its decisions depend only on its inputs. */
  @Test
  void schedulerIsPure() {
    classes()
        .that()
        .resideInAPackage(SCHEDULE)
        .should()
        .onlyDependOnClassesThat(
            resideInAPackage(SCHEDULE)
                .or(resideInAnyPackage("java.lang", "java.lang.invoke", "java.lang.runtime"))
                .or(resideInAnyPackage("java.util", "java.util.function", "java.util.stream"))
                .or(type(Duration.class))
                .or(resideInAPackage("org.jspecify.annotations")))
        .check(CLASSES);
    noClasses()
        .that()
        .resideInAPackage(SCHEDULE)
        .should()
        .dependOnClassesThat(type(Thread.class))
        .orShould()
        .callMethod(System.class, "nanoTime")
        .orShould()
        .callMethod(System.class, "currentTimeMillis")
        .check(CLASSES);
  }

  /**
   * Requests cause connections only to other replicas, if configured. Spring fetches the keys of a
   * token issuer.
   */
  @Test
  void onlyForwardingOpensConnections() {
    noClasses()
        .that()
        .resideOutsideOfPackages("dev.athanor.service.forward", "dev.athanor.service.replica")
        .should()
        .dependOnClassesThat(
            resideInAnyPackage("java.net.http", "org.springframework.web.client")
                .or(type(Socket.class))
                .or(type(SocketChannel.class))
                .or(type(URLConnection.class)))
        .check(CLASSES);
  }

  @Test
  void packagesHaveNoCycles() {
    slices().matching("dev.athanor.(**)").should().beFreeOfCycles().check(CLASSES);
  }

  /** Each layer depends only on lower ones; adapters do not depend on each other. */
  @Test
  void serviceIsLayered() {
    layeredArchitecture()
        .consideringOnlyDependenciesInLayers()
        .layer("device")
        .definedBy("dev.athanor.service.device")
        .layer("stream")
        .definedBy("dev.athanor.service.stream")
        .layer("transfer")
        .definedBy("dev.athanor.service.transfer")
        .layer("run")
        .definedBy("dev.athanor.service.run")
        .layer("replica")
        .definedBy("dev.athanor.service.replica")
        .layer("openinference")
        .definedBy("dev.athanor.service.openinference")
        .layer("http")
        .definedBy("dev.athanor.service.http")
        .layer("forward")
        .definedBy("dev.athanor.service.forward")
        .layer("rest")
        .definedBy("dev.athanor.service.rest")
        .layer("grpc")
        .definedBy("dev.athanor.service.grpc")
        .layer("config")
        .definedBy("dev.athanor.service.config")
        .whereLayer("config")
        .mayNotBeAccessedByAnyLayer()
        .whereLayer("rest")
        .mayOnlyBeAccessedByLayers("config")
        .whereLayer("grpc")
        .mayOnlyBeAccessedByLayers("config")
        .whereLayer("http")
        .mayOnlyBeAccessedByLayers("forward", "rest", "config")
        .whereLayer("forward")
        .mayOnlyBeAccessedByLayers("rest", "config")
        .whereLayer("openinference")
        .mayOnlyBeAccessedByLayers("rest", "http", "grpc", "config")
        .whereLayer("replica")
        .mayOnlyBeAccessedByLayers("forward", "rest", "http", "grpc", "config")
        .whereLayer("run")
        .mayOnlyBeAccessedByLayers("openinference", "rest", "http", "grpc", "config")
        .whereLayer("transfer")
        .mayOnlyBeAccessedByLayers(
            "run", "replica", "openinference", "rest", "http", "grpc", "config")
        .check(CLASSES);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "device",
        "stream",
        "transfer",
        "run",
        "tensor",
        "schedule",
        "openinference",
        "rest",
        "http",
        "forward",
        "replica",
        "grpc",
        "config",
        "security",
        "metrics",
        "codec"
      })
  void packagesAreSmall(String name) {
    var types = new TreeSet<String>();
    for (JavaClass type : CLASSES.that(resideInAPackage("dev.athanor.service." + name))) {
      if (!type.getSimpleName().equals("package-info")) {
        types.add(type.getName().split("\\$", 2)[0]);
      }
    }
    assertThat(types).as("classes of %s", name).hasSizeBetween(1, MAX_CLASSES);
  }

  /** The service logs; only the CLI module prints, and kernels that run as plain Java. */
  @Test
  void nothingPrints() {
    noClasses()
        .that()
        .resideOutsideOfPackages("dev.athanor.testing..", "dev.athanor.engine.lift.host..")
        .should(ACCESS_STANDARD_STREAMS)
        .check(CLASSES);
  }

  @Test
  void onlyNativePackagesOfTheEngineCallNativeCode() {
    noClasses()
        .that()
        .resideOutsideOfPackages(
            "dev.athanor.engine.cuda..",
            "dev.athanor.engine.analysis..",
            "dev.athanor.engine.nvml..")
        .should()
        .dependOnClassesThat(
            resideInAPackage("jcuda..").or(type(Linker.class)).or(type(SymbolLookup.class)))
        .check(CLASSES);
  }

  @Test
  void everyPackageIsNullMarked() {
    TreeSet<String> unmarked = new TreeSet<>();
    for (JavaClass type : CLASSES) {
      JavaPackage home = type.getPackage();
      if (!home.isAnnotatedWith(NullMarked.class)) {
        unmarked.add(home.getName());
      }
    }
    assertThat(unmarked).as("packages without @NullMarked in their package-info.java").isEmpty();
  }
}
