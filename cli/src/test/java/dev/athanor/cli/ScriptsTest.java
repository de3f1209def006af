package dev.athanor.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.testing.Programs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests the scripts {@code mvnw}, {@code athanor} and the bundle's launcher in a fake machine of a
 * few folders, whose java and Maven only print how they were called.
 */
class ScriptsTest {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  /** The only programs on the PATH of the scripts; java and mvn are not among them. */
  private static final List<String> TOOLS =
      List.of(
          "awk",
          "cat",
          "chmod",
          "cut",
          "dirname",
          "env",
          "find",
          "grep",
          "mkdir",
          "mktemp",
          "mv",
          "ps",
          "readlink",
          "rm",
          "sed",
          "sha256sum",
          "sleep",
          "touch");

  /** Prints its process id, environment and arguments, one per line, and exits with status 7. */
  private static final String ECHO =
      """
      #!/bin/sh
      echo "NAME $$ JAVA_HOME=$JAVA_HOME"
      for argument in "$@"; do echo "[$argument]"; done
      exit 7
      """;

  @TempDir Path machine;
  private Path checkout;
  private final Map<String, String> environment = new TreeMap<>();

  private record Ran(long pid, int status, List<String> output, List<String> errors) {}

  @BeforeAll
  static void requireTools() {
    for (var tool : TOOLS) {
      find(tool);
    }
  }

  @BeforeEach
  void createMachine() throws IOException {
    machine = machine.toRealPath();
    checkout = Files.createDirectories(machine.resolve("check out")); // scripts must quote
    Path path = machine.resolve("path");
    for (String tool : TOOLS) {
      // Not a link: JUnit warns about every link that it deletes.
      program(path.resolve(tool), "#!/bin/sh\nexec '" + find(tool) + "' \"$@\"\n");
    }
    for (String script : List.of("mvnw", "athanor")) {
      Files.copy(ROOT.resolve(script), checkout.resolve(script));
      makeExecutable(checkout.resolve(script));
    }
    // The scripts search for JDKs in the folders of the fake machine.
    String search = Files.readString(ROOT.resolve(".mvn/find-jdk.sh"));
    Matcher folders = Pattern.compile("(?<=\\s)(?=/(usr|opt|Library)/)").matcher(search);
    assertThat(folders.results().count()).isEqualTo(4);
    write(checkout.resolve(".mvn/find-jdk.sh"), folders.replaceAll(machine.toString()));
    environment.put("PATH", path.toString());
    environment.put("HOME", Files.createDirectories(machine.resolve("home")).toString());
  }

  private static Path find(String tool) {
    return Programs.require(tool, "the scripts use it");
  }

  private static Path write(Path file, String text) throws IOException {
    Files.createDirectories(file.getParent());
    return Files.writeString(file, text);
  }

  private static void makeExecutable(Path file) throws IOException {
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
  }

  private static void program(Path file, String text) throws IOException {
    makeExecutable(write(file, text.replace("NAME", file.getFileName().toString())));
  }

  /** Creates a JDK that has only a release file and a java that prints how it was called. */
  private Path jdk(String folder, String release) throws IOException {
    Path jdk = machine.resolve(folder);
    write(jdk.resolve("release"), "JAVA_VERSION=\"" + release + "\"\n");
    program(jdk.resolve("bin/javac"), ECHO);
    program(jdk.resolve("bin/java"), ECHO);
    return jdk;
  }

  /** Creates a jar of the application that is newer than all sources. */
  private Path built() throws IOException {
    write(checkout.resolve("pom.xml"), "");
    write(checkout.resolve("service/pom.xml"), "");
    write(checkout.resolve("service/src/main/A.java"), "");
    write(checkout.resolve("clients/java/pom.xml"), "");
    write(checkout.resolve("clients/java/src/main/B.java"), "");
    Path jar = write(checkout.resolve("cli/target/athanor/athanor.jar"), "");
    Files.createDirectories(checkout.resolve("cli/src/bundle/bin"));
    Files.copy(
        ROOT.resolve("cli/src/bundle/bin/launch.sh"),
        checkout.resolve("cli/src/bundle/bin/launch.sh"));
    Path mark = write(checkout.resolve("cli/target/athanor.jar.built"), "");
    Files.setLastModifiedTime(mark, FileTime.fromMillis(System.currentTimeMillis() + 86_400_000));
    return jar;
  }

  private Ran run(Path program, String... arguments) throws IOException, InterruptedException {
    Path output = machine.resolve("output");
    Path errors = machine.resolve("errors");
    ProcessBuilder builder = new ProcessBuilder(program.toString());
    builder.command().addAll(List.of(arguments));
    builder.directory(machine.toFile());
    builder.environment().clear();
    builder.environment().putAll(environment);
    builder.redirectOutput(output.toFile()).redirectError(errors.toFile());
    Process process = builder.start();
    try {
      process.waitFor();
    } finally {
      process.destroyForcibly();
    }
    return new Ran(
        process.pid(), process.exitValue(), Files.readAllLines(output), Files.readAllLines(errors));
  }

  @ParameterizedTest
  @ValueSource(strings = {"mvnw", "athanor"})
  void reportsAMissingJdk25(String script) throws Exception {
    environment.put("JAVA_HOME", jdk("usr/lib/jvm/java-17", "17.0.15").toString());

    Ran ran = run(checkout.resolve(script), "verify");

    assertThat(ran.status()).isEqualTo(1);
    assertThat(ran.output()).isEmpty();
    assertThat(ran.errors())
        .containsExactly(
            "No JDK 25 was found: install one (Debian 13, Ubuntu: apt-get install"
                + " openjdk-25-jdk-headless) or point JAVA_HOME at it.");
  }

  @ParameterizedTest
  @ValueSource(strings = {"usr/lib/jvm/java-25", "opt/jdk-25", "home/.sdkman/candidates/java/25"})
  void findsJdk25InTheUsualFoldersIfJavaHomeIsAnother(String folder) throws Exception {
    Path jdk = jdk(folder, "25.0.3");
    environment.put("JAVA_HOME", jdk("usr/lib/jvm/java-17", "17.0.15").toString());
    built();

    Ran ran = run(checkout.resolve("athanor"), "serve");

    assertThat(ran.output().getFirst()).endsWith(" JAVA_HOME=" + jdk);
  }

  @Test
  void prefersJdk25OfJavaHome() throws Exception {
    jdk("usr/lib/jvm/java-25", "25");
    Path mine = jdk("mine", "25.0.3");
    environment.put("JAVA_HOME", mine.toString());
    built();

    assertThat(run(checkout.resolve("athanor")).output().getFirst()).endsWith("=" + mine);
  }

  @Test
  void athanorReplacesItselfWithJavaAndPassesArgumentsUnchanged() throws Exception {
    jdk("usr/lib/jvm/java-25", "25");
    Path jar = built();
    Path link =
        Files.createSymbolicLink(machine.resolve("path/athanor"), checkout.resolve("athanor"));

    Ran ran = run(link, "run", "--name=two words", "", "*");

    assertThat(ran.status()).isEqualTo(7);
    // It is the same process: signals to the script reach the service.
    assertThat(ran.output().getFirst()).startsWith("java " + ran.pid() + " ");
    assertThat(ran.output().subList(1, ran.output().size()))
        .containsExactly(
            "[-XX:AOTMode=off]",
            "[-XX:+UseCompactObjectHeaders]",
            "[-XX:+ExitOnOutOfMemoryError]",
            "[-XX:TrimNativeHeapInterval=10000]",
            "[-Xlog:aot=off]",
            "[-Xlog:cds=off]",
            "[--enable-native-access=ALL-UNNAMED]",
            "[--sun-misc-unsafe-memory-access=allow]",
            "[-Dstdout.encoding=UTF-8]",
            "[-Dstderr.encoding=UTF-8]",
            "[-jar]",
            "[" + jar + "]",
            "[run]",
            "[--name=two words]",
            "[]",
            "[*]");
    assertThat(ran.errors()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"service/src/main/A.java", "clients/java/src/main/B.java"})
  void athanorRebuildsIfASourceIsNewerAndStopsIfTheBuildFails(String source) throws Exception {
    jdk("usr/lib/jvm/java-25", "25");
    Path jar = built();
    program(checkout.resolve("mvnw"), ECHO);
    Files.setLastModifiedTime(
        checkout.resolve(source), FileTime.fromMillis(System.currentTimeMillis() + 2 * 86_400_000));

    Ran ran = run(checkout.resolve("athanor"), "serve");

    assertThat(ran.status()).isEqualTo(7);
    assertThat(ran.output()).isEmpty();
    assertThat(ran.errors().getFirst()).startsWith("Building Athanor.");
    assertThat(ran.errors())
        .contains(
            "[deploy]",
            "[-Dmaven.install.skip=true]",
            "[-DaltDeploymentRepository=athanor::file://%s]"
                .formatted(checkout.resolve("cli/target/repository")),
            "[" + checkout.resolve("pom.xml") + "]");
    assertThat(ran.errors().getLast())
        .isEqualTo(
            "The build failed; all of its output is in %s."
                .formatted(checkout.resolve("cli/target/build.log")));
    // The next run must not use the result of a failed build.
    assertThat(jar).doesNotExist();
  }

  /** The script shows only progress and errors of Maven's output. */
  @Test
  void buildShowsProgressAndErrors() throws Exception {
    jdk("usr/lib/jvm/java-25", "25");
    built();
    Files.delete(checkout.resolve("cli/target/athanor/athanor.jar"));
    program(
        checkout.resolve("mvnw"),
        """
        #!/bin/sh
        echo '[INFO] Downloaded from central: http://x/y.jar (1 kB at 2 kB/s)'
        echo '[INFO] Downloaded from central: http://x/z.jar (1 kB at 2 kB/s)'
        echo '[INFO] Building Athanor: ops 0.1.0                                [4/5]'
        echo '[INFO] --- compiler:3.15.0:compile (default-compile) @ ops ---'
        while [ ! -f go ]; do sleep 1; done
        echo '[WARNING] A.java:[7,1] found something'
        exit 1
        """
            .replace("-f go", "-f '" + machine.resolve("go") + "'"));
    var log = checkout.resolve("cli/target/build.log");
    var done =
        Thread.startVirtualThread(() -> {
          while (!Files.exists(machine.resolve("go"))) {
            try {
              if (Files.exists(machine.resolve("errors"))
                  && Files.readString(machine.resolve("errors")).contains("(4 of 5)")) {
                Files.writeString(machine.resolve("go"), "");
              }
              Thread.sleep(50);
            } catch (IOException | InterruptedException e) {
              throw new IllegalStateException(e);
            }
          }
        });

    Ran ran = run(checkout.resolve("athanor"), "serve");

    done.join();
    assertThat(ran.status()).isEqualTo(1);
    assertThat(ran.errors())
        .anyMatch(line ->
            line.matches(
                " +\\d+ s  Athanor: ops 0\\.1\\.0 \\(4 of 5\\): compiler, files downloaded: 2"))
        .endsWith(
            "[WARNING] A.java:[7,1] found something",
            "The build failed; all of its output is in " + log + ".");
  }

  @Test
  void mvnwReplacesItselfWithMavenAndPassesArgumentsUnchanged() throws Exception {
    Path jdk = jdk("usr/lib/jvm/java-25", "25");
    Path maven = installMaven();

    Ran ran = run(checkout.resolve("mvnw"), "-f", "other pom.xml", "-Da=b c", "verify");

    assertThat(ran.status()).isEqualTo(7);
    assertThat(ran.output())
        .containsExactly(
            maven.getFileName() + " " + ran.pid() + " JAVA_HOME=" + jdk,
            "[-f]",
            "[other pom.xml]",
            "[-Da=b c]",
            "[verify]");
  }

  @Test
  void mvnwBuildsTheCheckoutFromAnyFolder() throws Exception {
    jdk("usr/lib/jvm/java-25", "25");
    installMaven();

    Ran ran = run(checkout.resolve("mvnw"), "verify");

    assertThat(ran.output().subList(1, ran.output().size()))
        .containsExactly("[-f]", "[" + checkout.resolve("pom.xml") + "]", "[verify]");
  }

  @Test
  void mvnwReportsAMissingMaven() throws Exception {
    jdk("usr/lib/jvm/java-25", "25");

    Ran ran = run(checkout.resolve("mvnw"), "verify");

    assertThat(ran.status()).isEqualTo(1);
    assertThat(ran.errors())
        .singleElement()
        .asString()
        .startsWith("No mvn was found: install Maven");
  }

  @Test
  void mvnwRejectsAMavenWithTheWrongChecksumAndDeletesIt() throws Exception {
    jdk("usr/lib/jvm/java-25", "25");
    program(
        machine.resolve("path/mvn"),
        """
        #!/bin/sh
        for argument in "$@"; do
          case $argument in -DoutputDirectory=*) folder=${argument#*=} ;; esac
        done
        echo other >"$folder/apache-maven-%s-bin.zip"
        """
            .formatted(setting("version")));

    Ran ran = run(checkout.resolve("mvnw"), "verify");

    assertThat(ran.status()).isEqualTo(1);
    assertThat(ran.errors().getLast())
        .contains("not " + setting("sha256") + ": the repository it came from has another file.");
    try (var left = Files.walk(machine.resolve("home"))) {
      assertThat(left.filter(Files::isRegularFile)).isEmpty();
    }
  }

  @Test
  void mvnwReportsWhyTheDownloadOfMavenFailed() throws Exception {
    jdk("usr/lib/jvm/java-25", "25");
    program(machine.resolve("path/mvn"), "#!/bin/sh\necho the repository is away\nexit 1\n");

    Ran ran = run(checkout.resolve("mvnw"), "verify");

    assertThat(ran.status()).isEqualTo(1);
    assertThat(ran.errors()).contains("the repository is away");
    assertThat(ran.errors().getLast()).contains("could not be fetched");
  }

  @Test
  void bundleLauncherReplacesItselfWithItsOwnJava() throws Exception {
    Path bundle = machine.resolve("the bundle");
    Path launcher = bundle.resolve("bin/athanor");
    bundle(bundle, ECHO);
    environment.put("JAVA_HOME", jdk("usr/lib/jvm/java-25", "25").toString());
    Path link = Files.createSymbolicLink(machine.resolve("path/athanor"), launcher);

    Ran ran = run(link, "run", "two words", "");

    assertThat(ran.status()).isEqualTo(7);
    assertThat(ran.output().getFirst()).startsWith("java " + ran.pid() + " ");
    assertThat(ran.output().subList(1, ran.output().size()))
        .containsExactly(
            "[-XX:AOTMode=off]",
            "[-XX:+UseCompactObjectHeaders]",
            "[-XX:+ExitOnOutOfMemoryError]",
            "[-XX:TrimNativeHeapInterval=10000]",
            "[-Xlog:aot=off]",
            "[-Xlog:cds=off]",
            "[--enable-native-access=ALL-UNNAMED]",
            "[--sun-misc-unsafe-memory-access=allow]",
            "[-Dstdout.encoding=UTF-8]",
            "[-Dstderr.encoding=UTF-8]",
            "[-Djava.library.path=" + bundle + "/native]",
            "[-jar]",
            "[" + bundle + "/lib/athanor.jar]",
            "[run]",
            "[two words]",
            "[]");
  }

  @Test
  void bundleLauncherKeepsTheEncodingOfALocale() throws Exception {
    Path bundle = machine.resolve("the bundle");
    bundle(bundle, ECHO);
    environment.put("LANG", "de_DE.ISO-8859-1");
    assertThat(run(bundle.resolve("bin/athanor"), "run").output())
        .contains("[--sun-misc-unsafe-memory-access=allow]")
        .noneMatch(line -> line.contains("encoding"));
  }

  private static void bundle(Path home, String java) throws IOException {
    Files.createDirectories(home.resolve("bin"));
    for (String file : List.of("athanor", "launch.sh")) {
      Files.copy(ROOT.resolve("cli/src/bundle/bin").resolve(file), home.resolve("bin", file));
    }
    makeExecutable(home.resolve("bin/athanor"));
    program(home.resolve("runtime/bin/java"), java);
  }

  /** A java that writes the requested cache and prints how it was called. */
  private static final String CACHING =
      """
      #!/bin/sh
      for argument in "$@"; do
        case $argument in
        -XX:AOTCacheOutput=*)
          echo "$* in $PWD with [${ATHANOR_DEVICE:-}]" >"${argument#*=}"
          exit 0
          ;;
        esac
      done
      echo "$1"
      """;

  @Test
  void firstCheckCreatesTheCacheOnceWithoutTheCallersSettings() throws Exception {
    Path bundle = machine.resolve("the bundle");
    bundle(bundle, CACHING);
    environment.put("ATHANOR_DEVICE", "cuda");
    Path cache = bundle.resolve("athanor.aot");

    for (String[] other :
        new String[][] {{"version"}, {"serve", "--help"}, {"serve", "--check", "-h"}}) {
      Ran ran = run(bundle.resolve("bin/athanor"), other);
      assertThat(ran.output()).containsExactly("-XX:AOTMode=off");
      assertThat(ran.errors()).isEmpty();
      assertThat(cache).doesNotExist();
    }

    Ran first = run(bundle.resolve("bin/athanor"), "serve", "--check", "--port", "7");
    assertThat(first.errors()).containsExactly("Preparing faster starts; this happens once.");
    assertThat(first.output()).containsExactly("-XX:AOTCache=" + cache);
    assertThat(Files.readString(cache))
        .endsWith(
            "serve --check --train --device emulator --port 0 --grpc-port 0 in "
                + bundle
                + " with []\n");

    for (String command : List.of("serve", "version")) {
      Ran next = run(bundle.resolve("bin/athanor"), command);
      assertThat(next.errors()).isEmpty();
      assertThat(next.output()).containsExactly("-XX:AOTCache=" + cache);
    }
  }

  /** The service starts at once; when it is ready, it runs the script that it has been told of. */
  @Test
  void firstServeTellsTheServiceHowToCreateTheCache() throws Exception {
    Path bundle = machine.resolve("the bundle");
    bundle(
        bundle,
        """
        #!/bin/sh
        for argument in "$@"; do
          case $argument in
          -XX:AOTCacheOutput=*)
            echo cache >"${argument#*=}"
            exit 0
            ;;
          -Ddev.athanor.launch=*) ATHANOR_CACHE_ONLY=true exec /bin/sh "${argument#*=}" serve --check ;;
          esac
        done
        echo "$1"
        """);
    Path cache = bundle.resolve("athanor.aot");

    Ran first = run(bundle.resolve("bin/athanor"), "serve");
    assertThat(first.status()).isZero();
    assertThat(first.output()).isEmpty();
    assertThat(cache).hasContent("cache");

    assertThat(run(bundle.resolve("bin/athanor"), "serve").output())
        .containsExactly("-XX:AOTCache=" + cache);
  }

  /** A service manager with a start timeout would otherwise fill the disk. */
  @Test
  void stoppedCacheCreationLeavesNothing() throws Exception {
    Path bundle = machine.resolve("the bundle");
    bundle(
        bundle,
        """
        #!/bin/sh
        for argument in "$@"; do
          case $argument in -XX:AOTCacheOutput=*) cache=${argument#*=} ;; esac
        done
        echo part >"$cache"
        echo part >"$cache.config"
        echo $$ >java.pid
        kill $PPID
        exec sleep 300
        """);
    write(bundle.resolve("athanor.aot.999999999"), "left by a start that was killed");

    Ran ran = run(bundle.resolve("bin/athanor"), "serve", "--check");

    assertThat(ran.status()).isEqualTo(143);
    try (var files = Files.list(bundle)) {
      assertThat(files.map(file -> file.getFileName().toString()))
          .containsExactlyInAnyOrder("bin", "runtime", "java.pid");
    }
    long java = Long.parseLong(Files.readString(bundle.resolve("java.pid")).strip());
    assertThat(ProcessHandle.of(java).filter(ProcessHandle::isAlive)).isEmpty();
  }

  @Test
  void cacheCreationIsNotRetried() throws Exception {
    Path bundle = machine.resolve("the bundle");
    bundle(
        bundle,
        """
        #!/bin/sh
        case $1 in -XX:AOTCacheOutput=*) exit 1 ;; esac
        echo "$1"
        """);

    Ran first = run(bundle.resolve("bin/athanor"), "serve", "--check");
    assertThat(first.errors()).hasSize(1);
    assertThat(first.output()).containsExactly("-XX:AOTMode=off");

    Ran second = run(bundle.resolve("bin/athanor"), "serve", "--check");
    assertThat(second.errors()).isEmpty();
    assertThat(second.output()).containsExactly("-XX:AOTMode=off");
    try (var files = Files.list(bundle)) {
      assertThat(files.map(file -> file.getFileName().toString()))
          .containsExactlyInAnyOrder("bin", "runtime", "athanor.aot");
    }
  }

  /** Creates Maven in the folder in which mvnw stores it. */
  private Path installMaven() throws IOException {
    Path maven =
        machine.resolve(
            "home/.m2/wrapper/dists/apache-maven-%s/%s/bin/mvn"
                .formatted(setting("version"), setting("sha256")));
    program(maven, ECHO);
    return maven;
  }

  /** Returns the value that mvnw assigns to a variable. */
  private static String setting(String variable) throws IOException {
    try (var lines = Files.lines(ROOT.resolve("mvnw"))) {
      return lines
          .filter(line -> line.startsWith(variable + "="))
          .map(line -> line.substring(variable.length() + 1))
          .findFirst()
          .orElseThrow();
    }
  }
}
