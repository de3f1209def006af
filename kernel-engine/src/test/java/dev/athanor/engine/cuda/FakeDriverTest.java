package dev.athanor.engine.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.testing.Programs;
import dev.athanor.testing.TestTier;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Runs {@link DriverChecks} with a fake driver, if a C compiler is available to build it. */
class FakeDriverTest {

  private static final String CLASS_PATH = System.getProperty("java.class.path");

  @TempDir static Path libraries;

  @TempDir Path cache;

  @BeforeAll
  static void compile() throws IOException, InterruptedException {
    Programs.require("gcc", "apt-get install gcc libc6-dev");
    for (var library :
        Map.of("fakecuda.c", "libcuda.so.1", "fakecublas.c", "libcublas.so.12").entrySet()) {
      var gcc =
          run(
              Map.of(),
              "gcc",
              "-std=gnu11",
              "-shared",
              "-fPIC",
              "-o",
              libraries.resolve(library.getValue()).toString(),
              Path.of("src", "test", "c", library.getKey()).toString());
      assertThat(gcc.output()).isEmpty();
      assertThat(gcc.status()).isZero();
    }
  }

  static List<String> checks() {
    return TestTier.sample(DriverChecks.all().toList(), 4);
  }

  @ParameterizedTest
  @MethodSource("checks")
  void check(String name) throws IOException, InterruptedException {
    var ended = java(Map.of("FAKE_CUDA_MEMORY", String.valueOf(64 << 20)), name);
    assertThat(ended.status()).as("%s", ended.output()).isZero();
    assertThat(ended.output()).doesNotContain("WARNING");
  }

  @Test
  void cachesMachineCodeBetweenProcesses() throws IOException, InterruptedException {
    assertThat(java(Map.of(), "origin").output().strip()).isEqualTo("COMPILED");
    assertThat(java(Map.of(), "origin").output().strip()).isEqualTo("DISK");
    assertThat(java(Map.of("FAKE_CUDA_VERSION", "13000"), "origin").output().strip())
        .as("code of another driver")
        .isEqualTo("COMPILED");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "FAKE_CUDA_INIT|100|Absent[reason=the NVIDIA driver could not be initialized:"
            + " CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected)]",
        "FAKE_CUDA_INIT|803|Absent[reason=the NVIDIA driver could not be initialized:"
            + " CUDA_ERROR_SYSTEM_DRIVER_MISMATCH]",
        "FAKE_CUDA_VERSION|11020|Absent[reason=the NVIDIA driver is too old: it supports CUDA"
            + " 11.2; install one that supports CUDA 11.4 or later]",
        "FAKE_CUDA_VERSION|13000|Present[version=CUDA 13.0, devices=1]"
      })
  void probe(String variable, String value, String answer)
      throws IOException, InterruptedException {
    var ended = java(Map.of(variable, value), "probe");
    assertThat(ended.status()).isZero();
    assertThat(ended.output().strip().replaceAll("version=[\\d.]+, CUDA", "version=CUDA"))
        .isEqualTo(answer);
  }

  @Test
  void reportsADriverThatLacksAFunction(@TempDir Path old)
      throws IOException, InterruptedException {
    var source = Files.writeString(old.resolve("old.c"), "int cuInit(unsigned f) { return f; }\n");
    var library = old.resolve("libcuda.so.1").toString();
    assertThat(run(Map.of(), "gcc", "-shared", "-fPIC", "-o", library, source.toString()).status())
        .isZero();
    var ended = java(Map.of("LD_LIBRARY_PATH", old.toString()), "probe");
    assertThat(ended.output())
        .contains("the NVIDIA driver is too old: it lacks cuDriverGetVersion;");
  }

  /** As on Grace Hopper, where the driver is installed. */
  @Test
  void namesAnArchitectureForWhichJCudaHasNoLibraries() throws IOException, InterruptedException {
    var ended = java(Map.of("JDK_JAVA_OPTIONS", "-Dos.arch=aarch64"), "probe");
    assertThat(ended.output())
        .contains(
            "Absent[reason=GPUs cannot be used on Linux aarch64: JCuda has native libraries only for Linux and Windows on x86-64]");
  }

  @Test
  void namesJCudaIfOnlyTheDriverIsThere() throws IOException, InterruptedException {
    var withoutJCuda =
        Arrays.stream(CLASS_PATH.split(File.pathSeparator))
            .filter(element -> !element.contains("jcuda"))
            .collect(Collectors.joining(File.pathSeparator));
    assertThat(java(Map.of(), withoutJCuda, "probe").output().strip())
        .isEqualTo(
            "Absent[reason=libcuda.so.1 was found, but JCuda is not on the class path; add org.jcuda:jcuda]");
  }

  private record Ended(int status, String output) {}

  private Ended java(Map<String, String> environment, String check)
      throws IOException, InterruptedException {
    return java(environment, CLASS_PATH, check);
  }

  private Ended java(Map<String, String> environment, String classPath, String check)
      throws IOException, InterruptedException {
    var all = new HashMap<>(Map.of("LD_LIBRARY_PATH", libraries.toString()));
    all.putAll(environment);
    return run(
        all,
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        "--enable-native-access=ALL-UNNAMED",
        "-cp",
        classPath,
        DriverChecks.class.getName(),
        check,
        cache.toString());
  }

  private static Ended run(Map<String, String> environment, String... command)
      throws IOException, InterruptedException {
    var builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().putAll(environment);
    var process = builder.start();
    process.getOutputStream().close();
    var output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    return new Ended(process.waitFor(), output);
  }
}
