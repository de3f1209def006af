package dev.athanor.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.security.MessageDigest;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the build that {@code athanor.cmd} starts, here with a shell script as Maven's wrapper. */
class WindowsBuildTest {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  @TempDir Path machine;
  private Path checkout;
  private Path jar;

  private record Ran(int status, List<String> errors) {}

  /** Replaces the command {@code extract} of Spring Boot's jar. */
  static final class Extraction {
    public static void main(String[] args) throws IOException {
      Files.writeString(
          Files.createDirectories(Path.of(args[2])).resolve("athanor.jar"),
          System.getProperty("jarmode"));
    }
  }

  @BeforeEach
  void createCheckout() throws IOException {
    checkout = Files.createDirectories(machine.toRealPath().resolve("check out"));
    jar = checkout.resolve("cli/target/athanor/athanor.jar");
    for (var source :
        List.of(
            "pom.xml", "service/pom.xml", "service/src/main/A.java", "clients/java/src/B.java")) {
      var file = checkout.resolve(source);
      Files.createDirectories(file.getParent());
      Files.createFile(file);
    }
    var manifest = new Manifest();
    manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
    manifest.getMainAttributes().put(Attributes.Name.MAIN_CLASS, Extraction.class.getName());
    var entry = Extraction.class.getName().replace('.', '/') + ".class";
    try (var out =
            new JarOutputStream(Files.newOutputStream(checkout.resolve("packed.jar")), manifest);
        var in = Extraction.class.getClassLoader().getResourceAsStream(entry)) {
      out.putNextEntry(new ZipEntry(entry));
      in.transferTo(out);
    }
    wrapper("cp packed.jar cli/target/athanor.jar");
  }

  private void wrapper(String commands) throws IOException {
    var script = checkout.resolve("mvnw");
    Files.writeString(
        script,
        "#!/bin/sh\ncd '%s'\nprintf '[%%s]\\n' \"$@\" >>calls\n%s\n".formatted(checkout, commands));
    assertThat(script.toFile().setExecutable(true)).isTrue();
  }

  private Ran build() throws IOException, InterruptedException {
    return java("Build.java", checkout.toString(), "mvnw");
  }

  /** Runs a source file of {@code .mvn}. */
  private Ran java(String source, String... arguments) throws IOException, InterruptedException {
    var errors = machine.resolve("errors");
    var command = new ArrayList<String>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-XX:TieredStopAtLevel=1");
    command.add(ROOT.resolve(".mvn").resolve(source).toString());
    command.addAll(List.of(arguments));
    var process = new ProcessBuilder(command).redirectError(errors.toFile()).start();
    assertThat(process.getInputStream().readAllBytes()).isEmpty();
    return new Ran(process.waitFor(), Files.readAllLines(errors));
  }

  private List<String> calls() throws IOException {
    var file = checkout.resolve("calls");
    return Files.exists(file) ? Files.readAllLines(file) : List.of();
  }

  @Test
  void buildsOnceAndExtractsTheJar() throws Exception {
    var ran = build();

    assertThat(ran.errors())
        .containsExactly(
            "Building Athanor. The first build takes some minutes and downloads what it needs.");
    assertThat(ran.status()).isZero();
    assertThat(jar).hasContent("tools");
    assertThat(calls())
        .contains(
            "[" + checkout.resolve("pom.xml") + "]",
            "[-DaltDeploymentRepository=athanor::file://%s]"
                .formatted(checkout.resolve("cli/target/repository")),
            "[deploy]");

    int before = calls().size();
    assertThat(build()).isEqualTo(new Ran(0, List.of()));
    assertThat(calls()).hasSize(before);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"pom.xml", "service/pom.xml", "service/src/main", "clients/java/src/B.java"})
  void buildsAgainIfASourceIsNewer(String source) throws Exception {
    build();
    int before = calls().size();
    Files.setLastModifiedTime(
        checkout.resolve(source), FileTime.from(Instant.now().plusSeconds(60)));

    assertThat(build().status()).isZero();
    assertThat(calls()).hasSize(2 * before);
  }

  @Test
  void showsProgressAndTheErrorsOfAFailedBuild() throws Exception {
    build();
    Files.setLastModifiedTime(
        checkout.resolve("pom.xml"), FileTime.from(Instant.now().plusSeconds(60)));
    wrapper(
        """
        echo '[INFO] Downloaded from central: http://x/y.jar (1 kB at 2 kB/s)'
        echo '[INFO] Downloaded from central: http://x/z.jar (1 kB at 2 kB/s)'
        echo '[INFO] Building Athanor: ops 0.1.0                                [4/5]'
        echo '[INFO] --- compiler:3.15.0:compile (default-compile) @ ops ---'
        until grep -q '4 of 5' ../errors; do sleep 0.1; done
        echo '[WARNING] A.java:[7,1] found something'
        exit 3
        """);

    var ran = build();

    assertThat(ran.status()).isEqualTo(3);
    assertThat(ran.errors().get(1))
        .matches(" +\\d+ s  Athanor: ops 0\\.1\\.0 \\(4 of 5\\): compiler, files downloaded: 2");
    assertThat(ran.errors())
        .endsWith(
            "[WARNING] A.java:[7,1] found something",
            "The build failed; all of its output is in %s."
                .formatted(checkout.resolve("cli/target/build.log")));
    // The next run must not use the result of a failed build.
    assertThat(jar).doesNotExist();
  }

  /** Both wrappers run the same Maven. */
  @ParameterizedTest
  @ValueSource(strings = {"version", "sha256", "fetcher"})
  void wrappersHaveTheSame(String variable) throws Exception {
    assertThat(valueOf("set " + variable, Files.readString(ROOT.resolve("mvnw.cmd"))))
        .isEqualTo(valueOf(variable, Files.readString(ROOT.resolve("mvnw"))));
  }

  @Test
  void unpacksMavenIfItHasTheDigest() throws Exception {
    var zip = machine.resolve("maven.zip");
    try (var out = new ZipOutputStream(Files.newOutputStream(zip))) {
      out.putNextEntry(new ZipEntry("apache-maven/"));
      out.putNextEntry(new ZipEntry("apache-maven/bin/mvn.cmd"));
      out.write("@echo off".getBytes(StandardCharsets.UTF_8));
    }
    var digest = MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(zip));
    var sha256 = HexFormat.of().formatHex(digest);
    var folder = machine.resolve("maven");

    var other = java("Unpack.java", zip.toString(), "0".repeat(64), folder.toString());
    assertThat(other.status()).isEqualTo(1);
    assertThat(other.errors())
        .containsExactly(
            "maven.zip has the SHA-256 %s, not %s: the repository it came from has another file."
                .formatted(sha256, "0".repeat(64)));
    assertThat(folder).doesNotExist();

    assertThat(java("Unpack.java", zip.toString(), sha256, folder.toString()).status()).isZero();
    assertThat(folder.resolve("bin/mvn.cmd")).hasContent("@echo off");
  }

  private static String valueOf(String variable, String script) {
    return script
        .lines()
        .filter(line -> line.startsWith(variable + "="))
        .map(line -> line.substring(variable.length() + 1))
        .findFirst()
        .orElseThrow();
  }

  /** The interpreter of Windows misreads labels of batch files with line feeds. */
  @Test
  void batchFilesHaveTheLineEndsOfWindows() throws Exception {
    for (var file :
        List.of(
            "mvnw.cmd",
            "athanor.cmd",
            ".mvn/find-jdk.cmd",
            "cli/src/bundle/bin/athanor.cmd",
            "cli/src/bundle/bin/launch.cmd")) {
      assertThat(Files.readString(ROOT.resolve(file))).as(file).doesNotContainPattern("(?<!\r)\n");
    }
  }
}
