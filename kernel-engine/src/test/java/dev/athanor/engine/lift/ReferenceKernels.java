package dev.athanor.engine.lift;

import static dev.athanor.engine.lift.Gpu.barrier;
import static dev.athanor.engine.lift.Gpu.blockDimX;
import static dev.athanor.engine.lift.Gpu.blockDimY;
import static dev.athanor.engine.lift.Gpu.blockIdxX;
import static dev.athanor.engine.lift.Gpu.blockIdxY;
import static dev.athanor.engine.lift.Gpu.gridDimX;
import static dev.athanor.engine.lift.Gpu.sharedFloats;
import static dev.athanor.engine.lift.Gpu.sharedInts;
import static dev.athanor.engine.lift.Gpu.threadIdxX;
import static dev.athanor.engine.lift.Gpu.threadIdxY;

/** Kernels of textbooks, which {@code src/test/lift/reference.cu} has in CUDA C++ too. */
final class ReferenceKernels {
  private static final int POLYNOMIAL = 0xEDB88320;
  private static final int TILE = 64;
  private static final int DEPTH = 16;
  private static final int SIDE = 4;

  private ReferenceKernels() {}

  /** The accelerations of bodies by the gravity of all. */
  @GpuKernel(blockSize = 256)
  static void nBody(
      float[] x, float[] y, float[] z, float[] mass, float[] ax, float[] ay, float[] az, int n) {
    int i = threadIdxX() + blockIdxX() * blockDimX();
    float sumX = 0;
    float sumY = 0;
    float sumZ = 0;
    for (int j = 0; j < n; j++) {
      float dx = x[j] - x[i];
      float dy = y[j] - y[i];
      float dz = z[j] - z[i];
      float inverse = Gpu.rsqrt(Math.fma(dx, dx, Math.fma(dy, dy, Math.fma(dz, dz, 1e-6f))));
      float force = mass[j] * inverse * inverse * inverse;
      sumX = Math.fma(dx, force, sumX);
      sumY = Math.fma(dy, force, sumY);
      sumZ = Math.fma(dz, force, sumZ);
    }
    ax[i] = sumX;
    ay[i] = sumY;
    az[i] = sumZ;
  }

  /** The product of a sparse matrix in CSR format and a vector; a thread has a row. */
  @GpuKernel(blockSize = 128)
  static void spmv(int[] rows, int[] columns, float[] values, float[] x, float[] y, int n) {
    int row = threadIdxX() + blockIdxX() * blockDimX();
    if (row < n) {
      float sum = 0;
      for (int k = rows[row]; k < rows[row + 1]; k++) {
        sum = Math.fma(values[k], x[columns[k]], sum);
      }
      y[row] = sum;
    }
  }

  /** The CRC-32 of records of equal length; a thread has a record. */
  @GpuKernel(blockSize = 256)
  static void crc32(byte[] data, int[] checksums, int length) {
    int[] table = sharedInts(256);
    int entry = threadIdxX();
    for (int bit = 0; bit < 8; bit++) {
      entry = (entry & 1) == 0 ? entry >>> 1 : entry >>> 1 ^ POLYNOMIAL;
    }
    table[threadIdxX()] = entry;
    barrier();
    int record = threadIdxX() + blockIdxX() * blockDimX();
    int crc = -1;
    for (int i = 0; i < length; i++) {
      crc = table[(crc ^ data[record * length + i]) & 255] ^ crc >>> 8;
    }
    checksums[record] = ~crc;
  }

  /** The magnitude of the gradient of an image, by the operator of Sobel. */
  @GpuKernel(blockSize = {32, 8})
  static void sobel(float[] in, float[] out, int width, int height) {
    int x = threadIdxX() + blockIdxX() * blockDimX();
    int y = threadIdxY() + blockIdxY() * blockDimY();
    if (x > 0 && x < width - 1 && y > 0 && y < height - 1) {
      float gx = 0;
      float gy = 0;
      for (int i = -1; i <= 1; i++) {
        int weight = 2 - i * i;
        gx += weight * (in[(y + i) * width + x + 1] - in[(y + i) * width + x - 1]);
        gy += weight * (in[(y + 1) * width + x + i] - in[(y - 1) * width + x + i]);
      }
      out[y * width + x] = (float) Math.sqrt(gx * gx + gy * gy);
    }
  }

  /** The prices of European options by the formula of Black and Scholes. */
  @GpuKernel(blockSize = 128)
  static void blackScholes(
      float[] price,
      float[] strike,
      float[] years,
      float[] call,
      float[] put,
      float r,
      float v,
      int n) {
    for (int i = threadIdxX() + blockIdxX() * blockDimX(); i < n; i += gridDimX() * blockDimX()) {
      float s = price[i];
      float t = years[i];
      float spread = v * (float) Math.sqrt(t);
      float d1 =
          Gpu.fastDivide(
              Gpu.fastLog(Gpu.fastDivide(s, strike[i])) + (r + 0.5f * v * v) * t, spread);
      float now = strike[i] * Gpu.fastExp(-r * t);
      float c = s * normal(d1) - now * normal(d1 - spread);
      call[i] = c;
      put[i] = c + now - s;
    }
  }

  /** The normal distribution, after Abramowitz and Stegun, 26.2.17. */
  private static float normal(float d) {
    float k = Gpu.fastDivide(1, 1 + 0.2316419f * Math.abs(d));
    float tail =
        0.3989423f
            * Gpu.fastExp(-0.5f * d * d)
            * (k
                * (0.31938154f
                    + k * (-0.35656378f + k * (1.7814779f + k * (-1.8212559f + k * 1.3302745f)))));
    return d > 0 ? 1 - tail : tail;
  }

  /** A product of matrices through shared memory; a thread has 4x4 elements in registers. */
  @GpuKernel(blockSize = {16, 16})
  static void registerTiles(float[] a, float[] b, float[] c, int n, int depth) {
    float[] as = sharedFloats(DEPTH * TILE);
    float[] bs = sharedFloats(DEPTH * TILE);
    int tx = threadIdxX();
    int ty = threadIdxY();
    int row = blockIdxY() * TILE;
    int column = blockIdxX() * TILE;
    float[] sums = new float[SIDE * SIDE];
    for (int k = 0; k < depth; k += DEPTH) {
      for (int i = ty * 16 + tx; i < DEPTH * TILE; i += 256) {
        as[i % DEPTH * TILE + i / DEPTH] = a[(row + i / DEPTH) * depth + k + i % DEPTH];
        bs[i] = b[(k + i / TILE) * n + column + i % TILE];
      }
      barrier();
      for (int i = 0; i < DEPTH; i++) {
        for (int y = 0; y < SIDE; y++) {
          for (int x = 0; x < SIDE; x++) {
            sums[y * SIDE + x] =
                Math.fma(
                    as[i * TILE + ty * SIDE + y], bs[i * TILE + tx * SIDE + x], sums[y * SIDE + x]);
          }
        }
      }
      barrier();
    }
    for (int y = 0; y < SIDE; y++) {
      for (int x = 0; x < SIDE; x++) {
        c[(row + ty * SIDE + y) * n + column + tx * SIDE + x] = sums[y * SIDE + x];
      }
    }
  }
}
