package dev.athanor.engine.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.athanor.engine.device.DeviceException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CudaDriverTest {

  @Test
  void saysInOneSentenceThatThereIsNoDriver() {
    assumeThat(driverIsThere()).as("a driver is there").isFalse();
    var sentence = "libcuda.so.1 was not found, so there is no NVIDIA driver on this machine";

    assertThat(CudaDriver.probe()).isEqualTo(new CudaDriver.Absent(sentence));
    assertThatExceptionOfType(DeviceException.Unavailable.class)
        .isThrownBy(() -> CudaDevice.open(0))
        .withMessage(sentence);
  }

  @SuppressWarnings("restricted")
  private static boolean driverIsThere() {
    try {
      return SymbolLookup.libraryLookup("libcuda.so.1", Arena.global()).find("cuInit").isPresent();
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  @ParameterizedTest
  @CsvSource({
    "1, 256",
    "256, 256",
    "257, 512",
    "1024, 1024",
    "1025, 1280",
    "5000, 5120",
    "1048576, 1048576",
    "1048577, 1310720",
    "67108865, 83886080",
    "10737418240, 10737418240",
    "10737418241, 10754195456"
  })
  void roundsToSizeClasses(long bytes, long size) {
    assertThat(MemoryPool.sizeClass(bytes)).isEqualTo(size);
  }

  @Test
  void looksForCuBlasWhereItsPackagesPutIt(@TempDir Path prefix) throws IOException {
    var older = prefix.resolve("lib/python3.11/site-packages/nvidia/cublas/lib");
    var newer = prefix.resolve("lib/python3.12/dist-packages/nvidia/cu13/lib");
    Files.createDirectories(older);
    Files.createDirectories(newer);
    Files.createDirectories(prefix.resolve("lib/python3.12/dist-packages/nvidia/cudnn/lib"));
    Files.createFile(prefix.resolve("lib/python3.13"));
    var pattern = "/lib/python3*/{site,dist}-packages/nvidia/{cublas,cu13}/lib";

    assertThat(CuBlasLibrary.matching(prefix + pattern)).containsExactly(newer, older);
    assertThat(CuBlasLibrary.matching(prefix + "/nowhere*/lib64")).isEmpty();
  }
}
