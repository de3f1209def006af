package dev.athanor.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.testing.Programs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests {@code mvnw.cmd}, {@code athanor.cmd} and the bundle's launcher under Wine, with a {@code
 * java.exe} that prints how it was called.
 */
class WindowsScriptsTest {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  /** Survives a test run, because a new Windows takes Wine seconds. */
  private static final Path WINE = Path.of("target/wine").toAbsolutePath();

  private static final Path JAVA = WINE.resolve("java.exe");
  private static final List<String> JVM_OPTIONS =
      List.of(
          "[-XX:+UseCompactObjectHeaders]",
          "[-XX:+ExitOnOutOfMemoryError]",
          "[-Xlog:aot=off]",
          "[-Xlog:cds=off]",
          "[--enable-native-access=ALL-UNNAMED]",
          "[--sun-misc-unsafe-memory-access=allow]");

  @TempDir Path machine;
  private Path bundle;
  private Path checkout;
  private final Map<String, String> environment = new TreeMap<>();

  private record Ran(int status, List<String> output, List<String> errors) {
    /** Returns the printed arguments of java. */
    List<String> arguments() {
      return output.stream().filter(line -> line.startsWith("[")).toList();
    }
  }

  @BeforeAll
  static void createWindows() throws Exception {
    Programs.require("wine", "install it with apt-get install wine");
    var compiler = "x86_64-w64-mingw32-gcc";
    Programs.require(compiler, "install it with apt-get install gcc-mingw-w64-x86-64");
    Files.createDirectories(WINE);
    var log = WINE.resolve("log").toFile();
    for (var command :
        List.of(
            List.of(compiler, "-o", JAVA.toString(), "src/test/c/java.c"),
            List.of("wine", "wineboot", "--update"))) {
      var builder = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log);
      builder.environment().putAll(ofWine());
      assertThat(builder.start().waitFor()).as("%s; see %s", command, log).isZero();
    }
  }

  /** Without Mono and Gecko, for which Wine would ask. */
  private static Map<String, String> ofWine() {
    return Map.of(
        "WINEPREFIX",
        WINE.resolve("prefix").toString(),
        "WINEDEBUG",
        "-all",
        "WINEDLLOVERRIDES",
        "mscoree,mshtml=");
  }

  @BeforeEach
  void createMachine() throws IOException {
    machine = machine.toRealPath();
    bundle = machine.resolve("the (x86) bundle"); // scripts must quote
    checkout = machine.resolve("check out");
    copy(ROOT.resolve("cli/src/bundle/bin"), bundle.resolve("bin"));
    copy(ROOT.resolve("cli/src/bundle/bin"), checkout.resolve("cli/src/bundle/bin"));
    copy(ROOT, checkout);
    copy(ROOT.resolve(".mvn"), checkout.resolve(".mvn"));
    Files.createDirectories(bundle.resolve("runtime/bin"));
    Files.copy(JAVA, bundle.resolve("runtime/bin/java.exe"));
  }

  private static void copy(Path from, Path to) throws IOException {
    Files.createDirectories(to);
    try (var scripts = Files.newDirectoryStream(from, "*.cmd")) {
      for (var script : scripts) {
        Files.copy(script, to.resolve(script.getFileName()));
      }
    }
  }

  private static Path jdk(Path folder, String release) throws IOException {
    Files.createDirectories(folder.resolve("bin"));
    for (var program : List.of("java.exe", "javac.exe")) {
      Files.copy(JAVA, folder.resolve("bin").resolve(program));
    }
    Files.writeString(
        folder.resolve("release"),
        "IMPLEMENTOR=\"Some One\"\r\nJAVA_VERSION=\"%s\"\r\nOS_NAME=\"Windows\"\r\n"
            .formatted(release));
    return folder;
  }

  private static String windows(Path path) {
    return "Z:" + path.toString().replace('/', '\\');
  }

  /** Runs a line as it is typed on Windows. */
  private Ran run(Path script, String arguments) throws IOException, InterruptedException {
    var line = machine.resolve("line.cmd");
    Files.writeString(line, "@\"%s\" %s\r\n".formatted(windows(script), arguments));
    var output = machine.resolve("output");
    var errors = machine.resolve("errors");
    var builder = new ProcessBuilder("wine", "cmd", "/d", "/c", windows(line));
    builder.directory(machine.toFile());
    builder.environment().keySet().retainAll(List.of("PATH", "HOME"));
    builder.environment().putAll(ofWine());
    builder.environment().putAll(environment);
    var process = builder.redirectOutput(output.toFile()).redirectError(errors.toFile()).start();
    process.getOutputStream().close();
    return new Ran(process.waitFor(), Files.readAllLines(output), Files.readAllLines(errors));
  }

  private static List<String> withoutCache(String... more) {
    return Stream.of(List.of("[-XX:AOTMode=off]"), JVM_OPTIONS, List.of(more))
        .flatMap(List::stream)
        .toList();
  }

  @Test
  void athanorPassesArgumentsUnchanged() throws Exception {
    var jdk = jdk(machine.resolve("a jdk"), "25.0.3");
    environment.put("JAVA_HOME", windows(jdk));

    var ran =
        run(checkout.resolve("athanor.cmd"), "run \"--name=two words\" \"\" a=b,c \"x^2 & y\" *");

    assertThat(ran.errors()).isEmpty();
    assertThat(ran.status()).isEqualTo(7);
    assertThat(ran.output()).contains("JAVA_HOME=" + windows(jdk), "folder=" + windows(machine));
    assertThat(ran.arguments())
        .containsExactlyElementsOf(
            withoutCache(
                "[-jar]",
                "[" + windows(checkout.resolve("cli/target/athanor/athanor.jar")) + "]",
                "[run]",
                "[--name=two words]",
                "[]",
                "[a=b,c]",
                "[x^2 & y]",
                "[*]"));
  }

  @Test
  void athanorStopsIfTheBuildFails() throws Exception {
    environment.put("JAVA_HOME", windows(jdk(machine.resolve("jdk"), "25")));
    environment.put("BUILD_FAILS", "true");

    var ran = run(checkout.resolve("athanor.cmd"), "serve");

    assertThat(ran.status()).isEqualTo(1);
    assertThat(ran.output()).isEmpty();
  }

  @Test
  void athanorReportsAMissingJdk25() throws Exception {
    environment.put("JAVA_HOME", windows(jdk(machine.resolve("old"), "17.0.25")));

    var ran = run(checkout.resolve("athanor.cmd"), "serve");

    assertThat(ran.status()).isEqualTo(1);
    assertThat(ran.output()).isEmpty();
    assertThat(ran.errors())
        .containsExactly(
            "No JDK 25 was found: install one (winget install EclipseAdoptium.Temurin.25.JDK) or"
                + " point JAVA_HOME at it.");
  }

  @Test
  void athanorFindsJdk25InProgramFilesOnThePathOrInTheHome() throws Exception {
    environment.put("JAVA_HOME", windows(jdk(machine.resolve("old"), "17.0.25")));
    for (var variable : List.of("ProgramFiles", "USERPROFILE", "WINEPATH")) {
      var folder = machine.resolve(variable);
      var jdk =
          switch (variable) {
            case "ProgramFiles" -> folder.resolve("Eclipse Adoptium/jdk-25.0.3.9-hotspot");
            case "USERPROFILE" -> folder.resolve(".jdks/temurin-25");
            default -> folder.resolve("jdk");
          };
      jdk(jdk, "25.0.3");
      var script =
          Files.writeString(
              machine.resolve("with.cmd"),
              "@set \"%s=%s\"\r\n@\"%s\" version\r\n"
                  .formatted(
                      variable.equals("WINEPATH") ? "PATH" : variable,
                      windows(variable.equals("WINEPATH") ? jdk.resolve("bin") : folder),
                      windows(checkout.resolve("athanor.cmd"))));

      assertThat(run(script, "").output()).as(variable).contains("JAVA_HOME=" + windows(jdk));
    }
  }

  /** Runs mvnw.cmd for a user without an installed Maven but that in a folder. */
  private Ran mvnw(Path path) throws Exception {
    var jdk = machine.resolve("a jdk");
    if (!Files.exists(jdk)) {
      jdk(jdk, "25.0.3");
    }
    var script =
        Files.writeString(
            machine.resolve("with.cmd"),
            "@set \"JAVA_HOME=%s\"\r\n@set \"USERPROFILE=%s\"\r\n@set \"PATH=%s\"\r\n@\"%s\" -q verify\r\n"
                .formatted(
                    windows(jdk),
                    windows(machine),
                    windows(path),
                    windows(checkout.resolve("mvnw.cmd"))));
    return run(script, "");
  }

  private Path mavens() throws IOException {
    return Files.createDirectories(machine.resolve(".m2/wrapper/dists/apache-maven-3.10.0"));
  }

  private static String sha256() throws IOException {
    return Files.readString(ROOT.resolve("mvnw")).replaceAll("(?s).*sha256=(\\w{64}).*", "$1");
  }

  private static Path maven(Path folder, String commands) throws IOException {
    Files.createDirectories(folder);
    return Files.writeString(folder.resolve("mvn.cmd"), commands);
  }

  @Test
  void mavenRunsOnJdk25() throws Exception {
    maven(
        mavens().resolve(sha256()).resolve("bin"),
        "@echo JAVA_HOME=%JAVA_HOME%\r\n@echo %*\r\n@exit /b 5\r\n");

    var ran = mvnw(machine);

    assertThat(ran.output())
        .containsExactly("JAVA_HOME=" + windows(machine.resolve("a jdk")), "-q verify");
    assertThat(ran.status()).isNotZero(); // 5, of which Wine makes 1
  }

  @Test
  void mavenIsFetchedByTheInstalledOne() throws Exception {
    assertThat(mvnw(machine).errors())
        .containsExactly(
            "No mvn was found: install Maven of any version, through which Maven 3.10.0 is"
                + " fetched.");

    var installed = machine.resolve("installed");
    maven(installed, "@echo %~3 %~5 %~6=%~7\r\n");
    var ran = mvnw(installed);

    assertThat(ran.errors()).containsExactly("fetching Maven 3.10.0");
    assertThat(ran.arguments())
        .hasSize(4)
        .startsWith("[" + windows(checkout.resolve(".mvn")) + "\\Unpack.java]")
        .contains("[" + sha256() + "]")
        .endsWith("[" + windows(mavens().resolve(sha256())) + "]");
    assertThat(ran.status()).isEqualTo(1); // the stand-in for Java has unpacked nothing
    assertThat(mavens()).isEmptyDirectory();
  }

  @Test
  void bundleLauncherUsesItsOwnJava() throws Exception {
    var ran = run(bundle.resolve("bin/athanor.cmd"), "run \"two words\"");

    assertThat(ran.errors()).isEmpty();
    assertThat(ran.status()).isEqualTo(7);
    assertThat(ran.arguments())
        .containsExactlyElementsOf(
            withoutCache(
                "[-Djava.library.path=" + windows(bundle.resolve("native")) + "]",
                "[-jar]",
                "[" + windows(bundle.resolve("lib/athanor.jar")) + "]",
                "[run]",
                "[two words]"));
  }

  @Test
  void firstCheckCreatesTheCacheOnceWithoutTheCallersSettings() throws Exception {
    var athanor = bundle.resolve("bin/athanor.cmd");
    var cache = bundle.resolve("athanor.aot");
    environment.put("ATHANOR_DEVICE", "cuda");
    for (var other : List.of("version", "serve --help", "serve --check -h")) {
      assertThat(run(athanor, other).arguments()).contains("[-XX:AOTMode=off]");
      assertThat(cache).doesNotExist();
    }
    Files.writeString(bundle.resolve("new-99.aot"), "left by a start that was killed");

    var first = run(athanor, "serve --check --port 7");
    assertThat(first.errors()).containsExactly("Preparing faster starts; this happens once.");
    assertThat(first.arguments())
        .startsWith("[-XX:AOTCache=" + windows(cache) + "]")
        .endsWith("[serve]", "[--check]", "[--port]", "[7]");
    assertThat(first.output()).contains("ATHANOR_DEVICE=cuda", "folder=" + windows(machine));
    assertThat(Files.readAllLines(cache))
        .contains("ATHANOR_DEVICE=(null)", "folder=" + windows(bundle))
        .containsAll(JVM_OPTIONS)
        .endsWith(
            "[serve]",
            "[--check]",
            "[--train]",
            "[--device]",
            "[emulator]",
            "[--port]",
            "[0]",
            "[--grpc-port]",
            "[0]");
    assertThat(files()).containsExactlyInAnyOrder("bin", "runtime", "athanor.aot");

    for (var command : List.of("serve", "version")) {
      var next = run(athanor, command);
      assertThat(next.errors()).isEmpty();
      assertThat(next.arguments())
          .startsWith("[-XX:AOTCache=" + windows(cache) + "]")
          .noneMatch(argument -> argument.contains("dev.athanor.launch"));
    }
  }

  /** The service starts at once; when it is ready, it runs the script that it has been told of. */
  @Test
  void firstServeTellsTheServiceHowToCreateTheCache() throws Exception {
    var launch = bundle.resolve("bin/launch.cmd");
    assertThat(run(bundle.resolve("bin/athanor.cmd"), "serve").arguments())
        .contains("[-Ddev.athanor.launch=" + windows(launch) + "]");
    assertThat(files()).containsExactlyInAnyOrder("bin", "runtime");

    environment.put("ATHANOR_CACHE_ONLY", "true");
    environment.put("java", windows(bundle.resolve("runtime/bin/java.exe")));
    environment.put("jar", "athanor.jar");
    environment.put("app", windows(bundle));
    var ran = run(launch, "serve --check");

    assertThat(ran.output()).isEmpty();
    assertThat(ran.errors()).isEmpty();
    assertThat(ran.status()).isZero();
    assertThat(bundle.resolve("athanor.aot")).isNotEmptyFile();
  }

  @Test
  void cacheCreationIsNotRetried() throws Exception {
    Files.createFile(bundle.resolve("fail"));
    var athanor = bundle.resolve("bin/athanor.cmd");

    assertThat(run(athanor, "serve --check").arguments()).startsWith("[-XX:AOTMode=off]");
    assertThat(bundle.resolve("athanor.aot")).isEmptyFile();

    var second = run(athanor, "serve --check");
    assertThat(second.errors()).isEmpty();
    assertThat(second.arguments()).startsWith("[-XX:AOTMode=off]");
  }

  private List<String> files() throws IOException {
    try (var files = Files.list(bundle)) {
      return files.map(file -> file.getFileName().toString()).toList();
    }
  }
}
