package dev.athanor.junit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.KernelImage;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.LoadedKernel;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Kernel.Parameter;
import dev.athanor.engine.ptx.Target;
import dev.athanor.testing.Programs;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.platform.testkit.engine.EngineExecutionResults;
import org.junit.platform.testkit.engine.EngineTestKit;
import org.junit.platform.testkit.engine.Event;

/** Tests cubins and fat binaries that nvcc compiles from saxpy.cu. */
class CubinFileTest {

  @TempDir static Path log;

  @BeforeAll
  static void compile() throws Exception {
    var nvcc = Programs.require("nvcc", "install a CUDA toolkit");
    run(nvcc, "saxpy.cubin", "-cubin", "-arch=sm_90");
    run(nvcc, "saxpy.none.fatbin", "-fatbin", "-arch=sm_90", "-Xfatbin", "-compress-mode=none");
    run(nvcc, "saxpy.size.fatbin", "-fatbin", "-arch=sm_90", "-Xfatbin", "-compress-mode=size");
  }

  private static Path file(String name) throws URISyntaxException {
    var source = Objects.requireNonNull(CubinFileTest.class.getResource("saxpy.cu")).toURI();
    return Path.of(source).resolveSibling(name);
  }

  private static void run(Path nvcc, String name, String... options) throws Exception {
    var command = new ArrayList<>(List.of(nvcc.toString()));
    command.addAll(List.of(options));
    command.addAll(List.of("-o", file(name).toString(), file("saxpy.cu").toString()));
    var process = new ProcessBuilder(command).redirectErrorStream(true).start();
    var output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).as(output).isZero();
  }

  private static CubinFile read(String name) throws IOException, URISyntaxException {
    return CubinFile.read(name, Files.readAllBytes(file(name)));
  }

  private static EmulatedDevice device(String target) {
    return new EmulatedDevice(EmulatorOptions.DEFAULT.withTarget(Target.of(target)));
  }

  private static EngineExecutionResults run(Class<?> type) {
    return EngineTestKit.engine("junit-jupiter")
        .configurationParameter("athanor.sarif", log.resolve("kernels.sarif").toString())
        .selectors(selectClass(type))
        .execute();
  }

  @Test
  void emulatesThePtxOfAFatBinary() {
    run(Fixtures.RightCubin.class)
        .testEvents()
        .assertStatistics(s -> s.started(6).succeeded(6).failed(0));
  }

  @Test
  void skipsFilesThatCannotBeEmulatedWithAReason() {
    assertThat(run(Fixtures.SkippedCubin.class).testEvents().aborted().list())
        .extracting(Event::getPayload)
        .extracting(Object::toString)
        .satisfiesExactlyInAnyOrder(
            text ->
                assertThat(text)
                    .contains(
                        "saxpy.cubin is not emulated: it has machine code only; compile it with `nvcc -fatbin -arch=sm_90a -Xfatbin -compress-mode=none` to run its PTX"),
            text ->
                assertThat(text)
                    .contains("saxpy.size.fatbin is not emulated: it has compressed PTX; compile"));
  }

  @Test
  void rejectsInvalidFilesAndLaunches() {
    run(Fixtures.InvalidCubin.class);
    assertThat(Fixtures.MESSAGES)
        .containsExactly(
            "resource \"missing.cubin\" not found next to dev.athanor.junit.Fixtures$InvalidCubin; put it into src/test/resources/dev/athanor/junit",
            "saxpy.cu is neither a cubin nor a fat binary: Not a cubin: it is not a 64-bit little-endian ELF file.",
            "saxpy.none.fatbin has the kernels _Z5saxpyPKfPffi; got \"axpy\"",
            "_Z5saxpyPKfPffi has 4 parameters, got 1 arguments");
  }

  @Test
  void readsTheSizesOfTheParameters() throws Exception {
    try (var device = device("sm_90")) {
      for (var name : List.of("saxpy.cubin", "saxpy.none.fatbin")) {
        var kernel = read(name).image(device, "saxpy").kernel();
        assertThat(kernel.name()).isEqualTo("_Z5saxpyPKfPffi");
        assertThat(kernel.parameters())
            .extracting(Parameter::toString)
            .containsExactly(
                ".param .b64 #1", ".param .b64 #2", ".param .b32 #3", ".param .b32 #4");
      }
    }
  }

  @Test
  void rejectsADamagedFatBinary() throws Exception {
    var whole = Files.readAllBytes(file("saxpy.none.fatbin"));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> CubinFile.read("half.fatbin", Arrays.copyOf(whole, 1000)))
        .withMessageMatching(
            "half.fatbin is neither a cubin nor a fat binary: Damaged fat binary: its entry at 16 has \\d+ bytes, and the file has 1000.");
  }

  @Test
  void namesTheKernelsOfACubin() throws Exception {
    try (var device = device("sm_90")) {
      var file = read("saxpy.cubin");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> file.image(device, "axpy"))
          .withMessage("saxpy.cubin has the kernels _Z5saxpyPKfPffi; got \"axpy\"");
    }
  }

  @Test
  void namesTheArchitecturesOfAFile() throws Exception {
    try (var device = device("sm_80")) {
      var name = device.capability().name();
      var cubin = read("saxpy.cubin");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> cubin.image(device, "saxpy"))
          .withMessage(
              "saxpy.cubin has no uncompressed cubin for %s, which is sm_80; it has machine code for sm_90; compile it with `nvcc -fatbin -arch=sm_80 -Xfatbin -compress-mode=none`",
              name);
      var fat = read("saxpy.size.fatbin");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> fat.image(device, "saxpy"))
          .withMessageContaining(
              "it has compressed machine code for sm_90, compressed PTX for sm_90;");
    }
  }

  /** A kernel loaded on a GPU. */
  private record Loaded(Kernel kernel) implements LoadedKernel {
    @Override
    public Origin origin() {
      return Origin.DISK;
    }
  }

  private static void check(EmulatedDevice device, KernelImage image, Object... given) {
    try (var stream = device.openStream();
        var passed = new HostArguments(device, stream)) {
      for (int i = 0; i < given.length; i++) {
        passed.add(image.kernel().parameters().get(i), given[i]);
      }
      new Launch(new Loaded(image.kernel()), Dim3.of(1), Dim3.of(32), 64, passed.list())
          .check(device.capability());
    }
  }

  @Test
  void checksTheSizesOfArguments() throws Exception {
    try (var device = device("sm_90")) {
      var image = read("saxpy.cubin").image(device, "saxpy");
      check(device, image, new float[3], new float[3], 2f, 3);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> check(device, image, new float[3], new float[3], 2.0, 3))
          .withMessageContaining("for parameter #3 of type .b32");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> check(device, image, new float[3], new float[3], 2f, 3L))
          .withMessageContaining("for parameter #4 of type .b32");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> check(device, image, new float[3], 1f, 2f, 3))
          .withMessageContaining("for parameter #2 of type .b64");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> check(device, image, new float[3], "x", 2f, 3))
          .withMessageStartingWith("#2 is .b64, got String; pass a number");
    }
  }
}
