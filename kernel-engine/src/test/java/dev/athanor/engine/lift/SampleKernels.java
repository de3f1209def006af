package dev.athanor.engine.lift;

import static dev.athanor.engine.lift.Gpu.atomicAdd;
import static dev.athanor.engine.lift.Gpu.barrier;
import static dev.athanor.engine.lift.Gpu.blockDimX;
import static dev.athanor.engine.lift.Gpu.blockIdxX;
import static dev.athanor.engine.lift.Gpu.blockIdxY;
import static dev.athanor.engine.lift.Gpu.gridDimX;
import static dev.athanor.engine.lift.Gpu.sharedFloats;
import static dev.athanor.engine.lift.Gpu.sharedInts;
import static dev.athanor.engine.lift.Gpu.sharedShorts;
import static dev.athanor.engine.lift.Gpu.threadIdxX;
import static dev.athanor.engine.lift.Gpu.threadIdxY;

/** Kernels of all kinds, written as Java. */
final class SampleKernels {
  static final int TILE = 16;
  private static final int BINS = 64;

  private SampleKernels() {}

  @GpuKernel(blockSize = 256)
  static void saxpy(float[] x, float[] y, float alpha, int n) {
    int i = threadIdxX() + blockIdxX() * blockDimX();
    if (i < n) {
      y[i] = Math.fma(alpha, x[i], y[i]);
    }
  }

  @GpuKernel(blockSize = 256)
  static void siluGate(float[] gate, float[] up, float[] y, int n) {
    for (int i = threadIdxX() + blockIdxX() * blockDimX(); i < n; i += gridDimX() * blockDimX()) {
      float g = gate[i];
      y[i] = g / (1 + Gpu.fastExp(-g)) * up[i];
    }
  }

  @GpuKernel(blockSize = 128)
  static void softmax(float[] x, float[] y, int columns) {
    int row = blockIdxX() * columns;
    float max = Float.NEGATIVE_INFINITY;
    for (int i = threadIdxX(); i < columns; i += blockDimX()) {
      max = Math.max(max, x[row + i]);
    }
    max = Gpu.blockMax(max);
    float sum = 0;
    for (int i = threadIdxX(); i < columns; i += blockDimX()) {
      sum += Gpu.fastExp(x[row + i] - max);
    }
    float scale = 1 / Gpu.blockSum(sum);
    for (int i = threadIdxX(); i < columns; i += blockDimX()) {
      y[row + i] = Gpu.fastExp(x[row + i] - max) * scale;
    }
  }

  /** Count, mean and sum of squared deviations. */
  record Moments(float mean, float square) {
    Moments {
      square = Math.max(square, 0);
    }

    float variance() {
      return square - mean * mean;
    }
  }

  @GpuKernel(blockSize = 128)
  static void layerNorm(
      float[] x, float[] weight, float[] bias, float[] y, int columns, float eps) {
    int row = blockIdxX() * columns;
    float sum = 0;
    float squares = 0;
    for (int i = threadIdxX(); i < columns; i += blockDimX()) {
      float v = x[row + i];
      sum += v;
      squares = Math.fma(v, v, squares);
    }
    var moments = new Moments(Gpu.blockSum(sum) / columns, Gpu.blockSum(squares) / columns);
    float scale = 1 / (float) Math.sqrt(moments.variance() + eps);
    for (int i = threadIdxX(); i < columns; i += blockDimX()) {
      y[row + i] = (x[row + i] - moments.mean()) * scale * weight[i] + bias[i];
    }
  }

  @GpuKernel(blockSize = {TILE, TILE})
  static void product(float[] a, float[] b, float[] c, int n, int depth) {
    float[] as = sharedFloats(TILE * TILE);
    float[] bs = sharedFloats(TILE * TILE);
    int tx = threadIdxX();
    int ty = threadIdxY();
    int row = blockIdxY() * TILE + ty;
    int column = blockIdxX() * TILE + tx;
    float sum = 0;
    for (int t = 0; t < depth; t += TILE) {
      as[ty * TILE + tx] = a[row * depth + t + tx];
      bs[ty * TILE + tx] = b[(t + ty) * n + column];
      barrier();
      for (int i = 0; i < TILE; i++) {
        sum = Math.fma(as[ty * TILE + i], bs[i * TILE + tx], sum);
      }
      barrier();
    }
    c[row * n + column] = sum;
  }

  @GpuKernel(blockSize = 256)
  static void histogram(byte[] data, int[] counts, int n) {
    int[] mine = sharedInts(BINS);
    for (int i = threadIdxX(); i < BINS; i += blockDimX()) {
      mine[i] = 0;
    }
    barrier();
    for (int i = threadIdxX() + blockIdxX() * blockDimX(); i < n; i += gridDimX() * blockDimX()) {
      atomicAdd(mine, data[i] & (BINS - 1), 1);
    }
    barrier();
    for (int i = threadIdxX(); i < BINS; i += blockDimX()) {
      atomicAdd(counts, i, mine[i]);
    }
  }

  @GpuKernel(blockSize = 256)
  static void reduce(float[] x, float[] sums, int n) {
    float sum = 0;
    for (int i = threadIdxX() + blockIdxX() * blockDimX(); i < n; i += gridDimX() * blockDimX()) {
      sum += x[i];
    }
    float total = Gpu.blockSum(sum);
    if (threadIdxX() == 0) {
      sums[blockIdxX()] = total;
    }
  }

  /** An inclusive scan of a block (Hillis and Steele), with two shared arrays that swap roles. */
  @GpuKernel(blockSize = 128)
  static void scan(int[] x, int[] y) {
    int[] from = sharedInts(128);
    int[] to = sharedInts(128);
    int t = threadIdxX();
    int i = t + blockIdxX() * blockDimX();
    from[t] = x[i];
    for (int distance = 1; distance < 128; distance *= 2) {
      barrier();
      to[t] = t >= distance ? from[t] + from[t - distance] : from[t];
      int[] swap = from;
      from = to;
      to = swap;
    }
    y[i] = from[t];
  }

  @GpuKernel(blockSize = {16, 8})
  static void mandelbrot(int[] steps, int width, int height, double scale) {
    int px = threadIdxX() + blockIdxX() * blockDimX();
    int py = threadIdxY() + blockIdxY() * Gpu.blockDimY();
    if (px >= width || py >= height) {
      return;
    }
    double cx = (px - width * 0.7) * scale;
    double cy = (py - height * 0.5) * scale;
    double x = 0;
    double y = 0;
    int step = 0;
    while (step < 100 && x * x + y * y <= 4) {
      double next = x * x - y * y + cx;
      y = 2 * x * y + cy;
      x = next;
      step++;
    }
    steps[py * width + px] = step;
  }

  @GpuKernel(blockSize = {16, 16})
  static void life(boolean[] now, boolean[] next, int width, int height) {
    int x = threadIdxX() + blockIdxX() * blockDimX();
    int y = threadIdxY() + blockIdxY() * Gpu.blockDimY();
    if (x < width && y < height) {
      int neighbors = 0;
      for (int dy = -1; dy <= 1; dy++) {
        for (int dx = -1; dx <= 1; dx++) {
          if ((dx != 0 || dy != 0) && now[wrap(y + dy, height) * width + wrap(x + dx, width)]) {
            neighbors++;
          }
        }
      }
      boolean alive = now[y * width + x];
      next[y * width + x] = neighbors == 3 || (alive && neighbors == 2);
    }
  }

  private static int wrap(int i, int n) {
    return i < 0 ? i + n : i >= n ? i - n : i;
  }

  @GpuKernel(blockSize = {32, 8})
  static void transpose(float[] in, float[] out, int width, int height) {
    float[] tile = sharedFloats(32 * 33);
    int x = blockIdxX() * 32 + threadIdxX();
    for (int r = threadIdxY(); r < 32; r += 8) {
      int y = blockIdxY() * 32 + r;
      if (x < width && y < height) {
        tile[r * 33 + threadIdxX()] = in[y * width + x];
      }
    }
    barrier();
    int column = blockIdxY() * 32 + threadIdxX();
    for (int r = threadIdxY(); r < 32; r += 8) {
      int row = blockIdxX() * 32 + r;
      if (column < height && row < width) {
        out[row * height + column] = tile[threadIdxX() * 33 + r];
      }
    }
  }

  @GpuKernel(blockSize = 64)
  static void hash(long[] keys, int[] hashes, int n) {
    int i = threadIdxX() + blockIdxX() * blockDimX();
    if (i < n) {
      long k = keys[i];
      k ^= k >>> 33;
      k *= 0xff51afd7ed558ccdL;
      k ^= k >>> 29;
      int h = (int) (k ^ (k >>> 32));
      h =
          Integer.rotateLeft(h, (int) k) * 31
              + Integer.bitCount(h)
              - Integer.numberOfLeadingZeros(h | 1);
      hashes[i] = h % 1000 + (h >> (int) (k & 63)) / 7 - Math.floorMod(h, 13);
    }
  }

  @GpuKernel(blockSize = 128)
  static void dot(double[] a, double[] b, double[] sum, int n) {
    double mine = 0;
    for (int i = threadIdxX() + blockIdxX() * blockDimX(); i < n; i += gridDimX() * blockDimX()) {
      mine += a[i] * b[i];
    }
    double all = Gpu.blockSum(mine);
    if (threadIdxX() == 0) {
      sum[blockIdxX()] = all;
    }
  }

  @GpuKernel(blockSize = {16, 16})
  static void stencil(float[] in, float[] out, int width, int height) {
    int x = threadIdxX() + blockIdxX() * blockDimX();
    int y = threadIdxY() + blockIdxY() * Gpu.blockDimY();
    if (x > 0 && x < width - 1 && y > 0 && y < height - 1) {
      int i = y * width + x;
      out[i] = 0.25f * (in[i - 1] + in[i + 1] + in[i - width] + in[i + width] - 4 * in[i]);
    }
  }

  /** Loops and switches of all kinds. */
  @SuppressWarnings("fallthrough") // which is to be lifted, too
  @GpuKernel(blockSize = 64)
  static void control(int[] in, int[] out, int n) {
    int i = threadIdxX() + blockIdxX() * blockDimX();
    if (i >= n) {
      return;
    }
    int state = in[i];
    int sum = 0;
    outer:
    for (int round = 0; round < 10; round++) {
      int inner = 0;
      do {
        switch (state & 7) {
          case 0:
            state = state * 5 + 1;
            break;
          case 1:
            state >>>= 1;
          // falls through
          case 2:
            sum += state;
            break;
          case 3:
            continue outer;
          default:
            state ^= 0x55;
        }
        sum +=
            switch (state % 5) {
              case 0, 1 -> inner;
              case 2 -> round > inner ? 1 : 2;
              case -3 -> (byte) state;
              default -> {
                int product = round * inner;
                yield (short) (product + state);
              }
            };
        if (sum > 100_000 || (sum < -100_000 && round > 3)) {
          break outer;
        }
        inner++;
      } while (inner < 4);
      sum -= (char) state;
    }
    out[i] = sum;
  }

  /** Conversions between all types, as Java's casts. */
  @SuppressWarnings("IdentityBinaryExpression") // how a kernel may test for NaN
  @GpuKernel(blockSize = 64)
  static void casts(double[] in, long[] out, int n) {
    int i = threadIdxX() + blockIdxX() * blockDimX();
    if (i < n) {
      double x = in[i];
      float f = (float) x;
      long mix = (int) x;
      mix = mix * 31 + (long) x;
      mix = mix * 31 + (int) f;
      mix = mix * 31 + (long) f;
      mix = mix * 31 + (byte) x;
      mix = mix * 31 + (char) f;
      mix = mix * 31 + Float.floatToRawIntBits((float) (long) x);
      mix = mix * 31 + Double.doubleToRawLongBits((double) (int) f + (x < f ? 1 : x > f ? 2 : 3));
      mix = mix * 31 + (1 / Math.max(f, -0f) > 0 ? 5 : 7) + (Double.isNaN(Math.min(x, 1)) ? 1 : 0);
      mix = mix * 31 + (f == f ? Float.floatToFloat16(f) : 0); // the bits of a NaN differ
      out[i] = mix;
    }
  }

  /** The functions of Math, in float and double; each has a column of the result. */
  @GpuKernel(blockSize = 64)
  static void functions(float[] in, float[] floats, double[] doubles, int n) {
    int i = threadIdxX() + blockIdxX() * blockDimX();
    if (i < n) {
      float x = in[i];
      floats[i] = (float) Math.exp(x);
      floats[n + i] = (float) Math.log(x);
      floats[2 * n + i] = (float) Math.sin(x);
      floats[3 * n + i] = (float) Math.cos(x);
      floats[4 * n + i] = (float) Math.tanh(x);
      floats[5 * n + i] = (float) Math.pow(Math.abs(x), 1.5f);
      floats[6 * n + i] =
          x % 0.75f + Math.round(x) + Math.signum(x) + (float) Math.sqrt(Math.abs(x));
      double d = x;
      doubles[i] = Math.exp(d);
      doubles[n + i] = Math.log(d);
      doubles[2 * n + i] = Math.sin(d);
      doubles[3 * n + i] = Math.cos(d);
      doubles[4 * n + i] = Math.tanh(d);
      doubles[5 * n + i] =
          Math.floor(d) + Math.ceil(d * 3) + Math.rint(d * 5) + Math.clamp(d, -1, 1);
    }
  }

  /**
   * A product of half-precision matrices on tensor cores. A block of four warps multiplies 32 rows
   * of A with 32 columns of B; tiles are copied while the previous ones are multiplied.
   */
  @GpuKernel(blockSize = 128)
  static void tensorProduct(short[] a, short[] b, float[] c, int n, int depth) {
    short[] as = sharedShorts(2 * 32 * PITCH);
    short[] bs = sharedShorts(2 * 32 * PITCH);
    int row = blockIdxY() * 32;
    int column = blockIdxX() * 32;
    int warpRow = Gpu.warpId() / 2 * 16;
    int warpColumn = Gpu.warpId() % 2 * 16;
    var left = WarpMatrix.zero();
    var right = WarpMatrix.zero();
    copyTiles(as, bs, 0, a, b, row, column, n, depth, 0);
    for (int k = 0; k < depth; k += 32) {
      int stage = k / 32 % 2 * 32 * PITCH;
      if (k + 32 < depth) {
        copyTiles(as, bs, 32 * PITCH - stage, a, b, row, column, n, depth, k + 32);
      } else {
        AsyncCopy.commit();
      }
      AsyncCopy.await(1);
      barrier();
      for (int i = 0; i < 32; i += 16) {
        var tile = WarpMatrix.loadA(as, stage + warpRow * PITCH + i, PITCH);
        int upper = stage + i * PITCH + warpColumn;
        left = WarpMatrix.multiplyHalf(tile, WarpMatrix.loadB(bs, upper, PITCH), left);
        right = WarpMatrix.multiplyHalf(tile, WarpMatrix.loadB(bs, upper + 8, PITCH), right);
      }
      barrier();
    }
    int start = (row + warpRow) * n + column + warpColumn;
    WarpMatrix.store(left, c, start, n);
    WarpMatrix.store(right, c, start + 8, n);
  }

  private static final int PITCH = 40;

  /** Starts the copies of 32x32 tiles of A and B: each thread copies 8 elements of both. */
  private static void copyTiles(
      short[] as,
      short[] bs,
      int stage,
      short[] a,
      short[] b,
      int row,
      int column,
      int n,
      int depth,
      int k) {
    int y = threadIdxX() / 4;
    int x = threadIdxX() % 4 * 8;
    AsyncCopy.copy(as, stage + y * PITCH + x, a, (row + y) * depth + k + x);
    AsyncCopy.copy(bs, stage + y * PITCH + x, b, (k + y) * n + column + x);
    AsyncCopy.commit();
  }

  /** Luminance of pixels of four bytes, which are loaded together. */
  @GpuKernel(blockSize = 128)
  static void luminance(byte[] rgba, float[] y, int n) {
    for (int i = threadIdxX() + blockIdxX() * blockDimX(); i < n; i += gridDimX() * blockDimX()) {
      int red = rgba[4 * i] & 0xFF;
      int green = rgba[4 * i + 1] & 0xFF;
      int blue = rgba[4 * i + 2] & 0xFF;
      float opacity = (rgba[4 * i + 3] & 0xFF) / 255f;
      y[i] = (0.2126f * red + 0.7152f * green + 0.0722f * blue) * opacity;
    }
  }
}
