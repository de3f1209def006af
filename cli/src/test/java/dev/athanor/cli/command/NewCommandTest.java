package dev.athanor.cli.command;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import dev.athanor.cli.Athanor;
import dev.athanor.cli.project.PluginProject;
import dev.athanor.engine.lift.GpuKernel;
import dev.athanor.junit.GpuTest;
import dev.athanor.ops.Op;
import dev.athanor.service.AthanorApplication;
import dev.athanor.testing.TestTier;
import java.io.File;
import java.io.IOException;
import java.io.StringWriter;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.apiguardian.api.API;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;
import org.springframework.boot.SpringApplication;

/** Tests that a project of {@code athanor new} compiles, passes its test and serves its op. */
@Tag(TestTier.THOROUGH_TAG)
class NewCommandTest {

  @TempDir private Path folder;

  private static CommandResult athanor(String... arguments) {
    return CommandResult.of(Athanor.commandLine(), arguments);
  }

  @Test
  void projectCompilesPassesItsTestAndServes() throws Exception {
    var project = folder.resolve("my-op");
    var run =
        athanor("new", "my-op", "--dir", project.toString(), "--package", "org.example.vectors");
    assertThat(run.err()).isEmpty();
    assertThat(run.status()).isZero();
    assertThat(run.out().lines())
        .contains(
            project.resolve("pom.xml").toString(),
            project.resolve("src/main/java/org/example/vectors/MyOpPlugin.java").toString());
    assertThat(Files.readAllLines(project.resolve("README.md")))
        .as("a README that fits a screen")
        .hasSizeLessThan(40);
    assertThat(project.resolve("mvnw")).isExecutable().hasSameTextualContentAs(Path.of("../mvnw"));
    assertThat(project.resolve(".mvn/find-jdk.sh")).exists();

    var classes = compile(project.resolve("src/main/java"), folder.resolve("classes"), List.of());
    var tests =
        compile(project.resolve("src/test/java"), folder.resolve("tests"), List.of(classes));
    test("org.example.vectors.MyOpPluginTest", classes, tests);

    pack(classes, project.resolve("src/main/resources"), folder.resolve("my-op-1.0.jar"));
    var verified =
        athanor(
            "verify",
            "--plugins",
            folder.toString(),
            "--op",
            "my-op",
            "--device",
            "emulator",
            "--sanitize",
            "--target",
            "sm_89");
    assertThat(verified.status()).as(verified.err()).isZero();
    assertThat(verified.out()).contains("my-op");
    assertThat(athanor("ops", "my-op", "--plugins", folder.toString()).out())
        .startsWith("my-op: Doubles the numbers of a vector.");
    var measured =
        athanor(
            "bench",
            "my-op",
            "--plugins",
            folder.toString(),
            "--device",
            "emulator",
            "--problem",
            "x=f32[1000]");
    assertThat(measured.status()).as(measured.err()).isZero();
    assertThat(measured.out()).contains("my-op");
    serve();
  }

  private static Path compile(Path sources, Path target, List<Path> classPath) throws IOException {
    var libraries =
        Stream.of(Op.class, GpuKernel.class, GpuTest.class, Test.class, API.class, NullMarked.class)
            .map(type -> type.getProtectionDomain().getCodeSource().getLocation().getPath());
    var path =
        Stream.concat(classPath.stream().map(Path::toString), libraries)
            .collect(Collectors.joining(File.pathSeparator));
    var compiler = ToolProvider.getSystemJavaCompiler();
    var errors = new StringWriter();
    try (var files = compiler.getStandardFileManager(null, null, StandardCharsets.UTF_8);
        var tree = Files.walk(sources)) {
      var units =
          files.getJavaFileObjectsFromPaths(
              tree.filter(file -> file.toString().endsWith(".java")).toList());
      var options =
          List.of(
              "-d",
              target.toString(),
              "-g",
              "-proc:none",
              "-Xlint:all,-classfile,-path",
              "-Werror",
              "-cp",
              path);
      assertThat(compiler.getTask(errors, files, null, options, null, units).call())
          .as(errors.toString())
          .isTrue();
    }
    return target;
  }

  private void test(String name, Path... folders) throws Exception {
    var urls = new URL[folders.length];
    for (int i = 0; i < urls.length; i++) {
      urls[i] = folders[i].toUri().toURL();
    }
    var results = new SummaryGeneratingListener();
    var thread = Thread.currentThread();
    var context = thread.getContextClassLoader();
    try (var loader = new URLClassLoader(urls, getClass().getClassLoader())) {
      thread.setContextClassLoader(loader);
      LauncherFactory.create()
          .execute(
              LauncherDiscoveryRequestBuilder.request()
                  .selectors(selectClass(loader.loadClass(name)))
                  .configurationParameter(GpuTest.SARIF, folder.resolve("athanor.sarif").toString())
                  .build(),
              results);
    } finally {
      thread.setContextClassLoader(context);
    }
    assertThat(results.getSummary().getFailures()).isEmpty();
    assertThat(results.getSummary().getTestsSucceededCount()).isGreaterThanOrEqualTo(18);
  }

  private static void pack(Path classes, Path resources, Path jar) throws IOException {
    try (var out = new JarOutputStream(Files.newOutputStream(jar))) {
      for (var root : List.of(classes, resources)) {
        try (var files = Files.walk(root)) {
          for (var file : files.filter(Files::isRegularFile).toList()) {
            out.putNextEntry(new JarEntry(root.relativize(file).toString()));
            Files.copy(file, out);
          }
        }
      }
    }
  }

  private void serve() throws Exception {
    var application = new SpringApplication(AthanorApplication.class);
    try (var context =
            application.run(
                "--server.port=0",
                "--spring.grpc.server.port=0",
                "--athanor.device=emulator",
                "--athanor.tuning.cache=none.json",
                "--athanor.plugins=" + folder);
        var client = HttpClient.newHttpClient()) {
      var port = context.getEnvironment().getProperty("local.server.port");
      var body =
          "{\"inputs\": {\"x\": {\"dtype\": \"f32\", \"shape\": [3], \"data\": [1, -2, 0.5]}}}";
      var answer =
          client.send(
              HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/ops/my-op"))
                  .header("Content-Type", "application/json")
                  .POST(HttpRequest.BodyPublishers.ofString(body))
                  .build(),
              BodyHandlers.ofString());
      assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
      assertThat(answer.body()).contains("\"data\":[2.0,-4.0,1.0]");
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          new My_Op | "My_Op" is not an op name; use up to 64 lower-case letters, digits and single hyphens, such as my-op
          new my--op | "my--op" is not an op name; use up to 64 lower-case letters, digits and single hyphens, such as my-op
          new matmul | Athanor has an op "matmul"; choose another name
          new my-op --package Com.Example | --package Com.Example: not a package name; use lower-case words separated by dots, such as com.example
          new my-op --package com.int | --package com.int: not a package name; use lower-case words separated by dots, such as com.example
          new my-op --package java.ops | --package java.ops: packages of the JDK are reserved; use your own, such as com.example
          new my-op --dir /dev/null | --dir /dev/null: this is a file; name a new or an empty folder
          new my-op --dir /dev/null/my-op | --dir /dev/null/my-op: the folder cannot be created or written; name another one
          new my-op --dir /usr | --dir /usr: the folder is not empty; name a new or an empty one
          new | NAME is missing; see athanor new --help
          """)
  void reportsInvalidArguments(String arguments, String sentence) {
    var run = athanor(arguments.split(" "));
    assertThat(run.status()).isEqualTo(2);
    assertThat(run.err()).isEqualTo("athanor new: %s%n", sentence);
    assertThat(run.out()).isEmpty();
  }

  /** Names may be Java keywords or equal names that the plugin imports. */
  @ParameterizedTest
  @CsvSource({"op", "double", "kernel-op", "list", "a1-2b"})
  void anyNameCompiles(String name) throws IOException {
    var project = folder.resolve(name);
    assertThat(athanor("new", name, "--dir", project.toString()).status()).isZero();
    compile(project.resolve("src/main/java"), folder.resolve("classes-of-" + name), List.of());
  }

  /** Projects created by the script of a checkout find Athanor's jars in its build folder. */
  @Test
  void checkoutProjectsUseTheRepositoryOfTheBuild() throws IOException {
    var script = Files.createFile(folder.resolve("athanor"));
    var repository = Files.createDirectories(folder.resolve("cli/target/repository"));
    var project = Files.createDirectory(folder.resolve("project"));
    new PluginProject("my-op", "com.example", "0.1.0", Optional.of(repository)).write(project);
    assertThat(project.resolve("README.md"))
        .content()
        .contains("`athanor` is `%s`.".formatted(script))
        .doesNotContain("{{", "install`");
  }

  /** Projects created by the bundle find Athanor's jars in it. */
  @Test
  void bundleProjectsUseTheBundlesRepository() throws IOException {
    var repository = Path.of("/opt/the bundle/repository");
    new PluginProject("my-op", "com.example", "0.1.0", Optional.of(repository)).write(folder);
    assertThat(Files.readString(folder.resolve("pom.xml")))
        .containsSubsequence(
            "<repository>",
            "<url>file:///opt/the%20bundle/repository</url>",
            "<pluginRepository>",
            "<url>file:///opt/the%20bundle/repository</url>");
    assertThat(Files.readString(folder.resolve("README.md")))
        .contains("`athanor` is `/opt/the bundle/bin/athanor`.")
        .doesNotContain("{{", "install`");
  }

  /** The POM has the same versions as Athanor's build. */
  @Test
  void pomHasTheVersionsOfTheBuild() throws IOException {
    var project = folder.resolve("versions");
    assertThat(athanor("new", "versions", "--dir", project.toString()).status()).isZero();
    var pom = Files.readString(project.resolve("pom.xml"));
    var root = Files.readString(Path.of("../pom.xml"));
    var version =
        root.replaceFirst(
            "(?s).*?<artifactId>athanor</artifactId>\\s*<version>(.*?)</version>.*", "$1");
    assertThat(pom)
        .contains("<athanor.version>" + version + "</athanor.version>")
        .doesNotContain("{{")
        .doesNotContain("<repositories>");
    var junit = Test.class.getProtectionDomain().getCodeSource().getLocation().getPath();
    var ofJunit =
        pom.replaceFirst(
            "(?s).*<artifactId>junit-jupiter</artifactId>\\s*<version>(.*?)</version>.*", "$1");
    assertThat(junit).endsWith("-" + ofJunit + ".jar");
  }
}
