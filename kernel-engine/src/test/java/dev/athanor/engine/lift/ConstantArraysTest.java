package dev.athanor.engine.lift;

import static dev.athanor.engine.lift.Gpu.threadIdxX;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.lift.refusal.LiftException;
import java.util.Arrays;
import java.util.zip.CRC32;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

/** Constant arrays of a class are constants of a kernel. */
class ConstantArraysTest {
  private static final EmulatedDevice DEVICE = new EmulatedDevice();

  @AfterAll
  static void close() {
    DEVICE.close();
  }

  private static final int[] CRC = crcTable();
  private static final byte[] BYTES = {1, -2, 3};
  private static final short[] SHORTS = {-300, 301, -302, 303};
  private static final char[] CHARS = {'a', '\uFFFF', 'c'};
  private static final long[] LONGS = {1L << 40, -1};
  private static final float[] FLOATS = {1.5f, Float.NaN, -0f, Float.POSITIVE_INFINITY, 1e-40f};
  private static final double[] DOUBLES = {Math.PI, -1e-300, Double.NEGATIVE_INFINITY};
  private static final boolean[] FLAGS = {true, false, true};
  private static final int[] EMPTY = {};
  private static final float[][] SOBEL = {{-1, 0, 1}, {-2, 0, 2}, {-1, 0, 1}};
  private static final int[][] RAGGED = {{1}, {1, 2}};
  private static final double[] LARGE = new double[9000];

  private static int[] crcTable() {
    var table = new int[256];
    for (int i = 0; i < table.length; i++) {
      int crc = i;
      for (int bit = 0; bit < 8; bit++) {
        crc = (crc >>> 1) ^ ((crc & 1) == 0 ? 0 : 0xEDB88320);
      }
      table[i] = crc;
    }
    return table;
  }

  @GpuKernel(blockSize = 64)
  static void crc(byte[] data, int[] result, int length) {
    int crc = -1;
    for (int i = 0; i < length; i++) {
      crc = CRC[(crc ^ data[threadIdxX() * length + i]) & 0xFF] ^ (crc >>> 8);
    }
    result[threadIdxX()] = ~crc;
  }

  @Test
  void aTableIsAConstantOfTheModule() {
    int length = 37;
    var data = new byte[64 * length];
    for (int i = 0; i < data.length; i++) {
      data[i] = (byte) (i * 31 + 7);
    }
    var kernel = Kernels.of(ConstantArraysTest::crc);
    for (boolean checked : new boolean[] {true, false}) {
      var result = new int[64];
      kernel.on(DEVICE).checked(checked).launch(1, data, result, length);
      for (int i = 0; i < 64; i++) {
        var expected = new CRC32();
        expected.update(data, i * length, length);
        assertThat(result[i]).isEqualTo((int) expected.getValue());
      }
    }
    assertThat(kernel.module(false).toString())
        .contains(".const .align 16 .s32 const0[256] = {0, 1996959894")
        .contains("ld.const.s32");
  }

  @GpuKernel(blockSize = 8)
  static void allTypes(double[] out, int[] index) {
    int i = index[threadIdxX()];
    double sum = BYTES[i % BYTES.length] + SHORTS[i % SHORTS.length] + CHARS[i % CHARS.length];
    sum += LONGS[i % 2] + DOUBLES[i % 2] + (FLAGS[i % 3] ? 0.25 : 0.5) + SOBEL[i % 3][i % 2];
    out[threadIdxX()] = sum + EMPTY.length + SOBEL.length;
    out[8 + threadIdxX()] = FLOATS[i % FLOATS.length];
    out[16 + threadIdxX()] = SOBEL[i % 3][2] * SOBEL[1].length;
  }

  @Test
  void tablesHaveElementsOfAllTypes() {
    int[] index = {0, 1, 2, 3, 4, 5, 6, 11};
    var kernel = Kernels.of(ConstantArraysTest::allTypes);
    var expected = new double[24];
    kernel.inJava().launch(1, expected, index);
    var onDevice = new double[24];
    kernel.on(DEVICE).launch(1, onDevice, index);
    assertThat(onDevice).isEqualTo(expected);
    assertThat(kernel.debugged().module(true).toString()).contains(".const");
  }

  @GpuKernel(blockSize = 32)
  static void sobel(float[] image, float[] result, int width) {
    int x = 1 + threadIdxX();
    float sum = 0;
    for (int dy = 0; dy < 3; dy++) {
      for (int dx = 0; dx < 3; dx++) {
        sum += SOBEL[dy][dx] * image[dy * width + x + dx - 1];
      }
    }
    result[threadIdxX()] = sum;
  }

  @Test
  void constantIndicesBecomeNumbers() {
    var kernel = Kernels.of(ConstantArraysTest::sobel);
    var image = new float[3 * 34];
    for (int i = 0; i < image.length; i++) {
      image[i] = i * i % 17;
    }
    var expected = new float[32];
    kernel.inJava().launch(1, image, expected, 34);
    var onDevice = new float[32];
    kernel.on(DEVICE).launch(1, image, onDevice, 34);
    assertThat(onDevice).isEqualTo(expected);
    assertThat(kernel.module(false).toString()).doesNotContain(".const");
  }

  @GpuKernel(blockSize = 32)
  static void outside(int[] x) {
    x[threadIdxX()] = BYTES[x[threadIdxX()]];
  }

  @Test
  void indicesAreChecked() {
    var x = new int[32];
    Arrays.fill(x, 3);
    assertThatExceptionOfType(CheckFailedException.class)
        .isThrownBy(() -> Kernels.of(ConstantArraysTest::outside).on(DEVICE).launch(1, x))
        .withMessageContaining(
            "index 3 is out of bounds for `ConstantArraysTest.BYTES`, which has 3 elements");
  }

  @GpuKernel(blockSize = 32)
  static void written(int[] x) {
    CRC[threadIdxX()] = x[0];
  }

  @GpuKernel(blockSize = 32)
  static void counted(int[] x) {
    Gpu.atomicAdd(CRC, 0, x[0]);
  }

  @GpuKernel(blockSize = 32)
  static void ragged(int[] x) {
    x[0] = RAGGED[x[1]][0];
  }

  @GpuKernel(blockSize = 32)
  static void large(double[] x) {
    x[0] = LARGE[threadIdxX()];
  }

  @Test
  void otherArraysAreRefused() {
    refused(
        "written",
        "the constant array `ConstantArraysTest.CRC` is written; pass it as a parameter");
    refused(
        "counted",
        "the constant array `ConstantArraysTest.CRC` is written; pass it as a parameter");
    refused(
        "ragged",
        "the rows of the constant ConstantArraysTest.RAGGED have different lengths; use one flat array of numbers");
    refused(
        "large",
        "the constant arrays of the kernel take 72000 bytes; use at most 65536, or an array that is passed to the kernel");
  }

  private static void refused(String kernel, String message) {
    assertThatExceptionOfType(LiftException.class)
        .isThrownBy(() -> Kernels.of(ConstantArraysTest.class, kernel).module(false))
        .withMessageContaining(message);
  }
}
