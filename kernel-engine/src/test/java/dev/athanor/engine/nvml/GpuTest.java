package dev.athanor.engine.nvml;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.entry;

import dev.athanor.testing.Programs;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Reads sensors from a fake library, if a C compiler is available to build it. */
class GpuTest {

  private static final String BUS_ID = "0000:3B:00.0";

  @TempDir static Path folder;

  @BeforeAll
  static void compile() throws IOException, InterruptedException {
    Programs.require("gcc", "apt-get install gcc libc6-dev");
    var gcc =
        new ProcessBuilder(
                "gcc",
                "-std=gnu11",
                "-shared",
                "-fPIC",
                "-o",
                library(),
                Path.of("src", "test", "c", "fakenvml.c").toString())
            .redirectErrorStream(true)
            .start();
    var said = new String(gcc.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(gcc.waitFor()).as(said).isZero();
  }

  private static String library() {
    return folder.resolve("libfakenvml.so").toString();
  }

  @Test
  void sensorsAreReadInTheirUnits() {
    var gpu = Gpu.at(library(), BUS_ID).orElseThrow();
    assertThat(gpu.uuid()).isEqualTo("GPU-5f2c0d1e-0000-4000-8000-000000000001");
    var values = gpu.read();
    assertThat(values)
        .containsOnly(
            entry(Sensor.POWER_WATTS, 312.5),
            entry(Sensor.UTILIZATION, 0.87),
            entry(Sensor.MEMORY_TOTAL_BYTES, 150754820096.0),
            entry(Sensor.MEMORY_USED_BYTES, 5e9),
            entry(Sensor.TEMPERATURE_CELSIUS, 64.0),
            entry(Sensor.ENERGY_JOULES, 7000000001.5),
            entry(Sensor.SM_CLOCK_HERTZ, 1.98e9),
            entry(Sensor.ECC_CORRECTED, 3.0),
            entry(Sensor.THROTTLE, 68.0));
    assertThat(ThrottleReason.values())
        .filteredOn(reason -> reason.in(68.0))
        .containsExactly(ThrottleReason.POWER_CAP, ThrottleReason.HARDWARE_THERMAL);
  }

  @Test
  void isEmptyWithoutLibraryOrGpu() {
    assertThat(Gpu.at(folder.resolve("nothing.so").toString(), BUS_ID)).isEmpty();
    assertThat(Gpu.at(library(), "0000:3C:00.0")).isEmpty();
  }

  @Test
  void isEmptyWithoutFunctions() {
    assertThat(Gpu.at("libc.so.6", BUS_ID)).isEmpty();
  }
}
