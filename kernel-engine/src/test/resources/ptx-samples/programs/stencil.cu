// Stencils: five points in the plane with a halo in shared memory, seven points in space with a queue of registers along z.

#define TILE 16

// out = in + rate * (sum of the four neighbors - 4 in) inside; the border is copied.
extern "C" __global__ void heat_2d(const float* __restrict__ in, float* __restrict__ out, int width, int height, float rate) {
  __shared__ float tile[TILE + 2][TILE + 2];
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  int cx = min(x, width - 1), cy = min(y, height - 1);
  tile[ty][tx] = in[cy * width + cx];
  if (threadIdx.x == 0) tile[ty][0] = in[cy * width + max(cx - 1, 0)];
  if (threadIdx.x == TILE - 1) tile[ty][TILE + 1] = in[cy * width + min(cx + 1, width - 1)];
  if (threadIdx.y == 0) tile[0][tx] = in[max(cy - 1, 0) * width + cx];
  if (threadIdx.y == TILE - 1) tile[TILE + 1][tx] = in[min(cy + 1, height - 1) * width + cx];
  __syncthreads();
  if (x >= width || y >= height) return;
  float center = tile[ty][tx];
  bool border = x == 0 || y == 0 || x == width - 1 || y == height - 1;
  float sum = (tile[ty - 1][tx] + tile[ty + 1][tx]) + (tile[ty][tx - 1] + tile[ty][tx + 1]);
  out[y * width + x] = border ? center : center + rate * (sum - 4.0f * center);
}

// The mean of a cell and its six neighbors inside; the border is copied. One thread walks a column along z.
extern "C" __global__ void mean_3d(const double* __restrict__ in, double* __restrict__ out, int nx, int ny, int nz) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= nx || y >= ny) return;
  int plane = nx * ny, at = y * nx + x;
  bool rim = x == 0 || y == 0 || x == nx - 1 || y == ny - 1;
  double below = in[at], here = in[at];
  for (int z = 0; z < nz; ++z, at += plane) {
    double above = z + 1 < nz ? in[at + plane] : here;
    out[at] = rim || z == 0 || z == nz - 1
                  ? here
                  : (((below + above) + (in[at - nx] + in[at + nx])) + (in[at - 1] + in[at + 1]) + here) / 7.0;
    below = here;
    here = above;
  }
}

// Conway's game of life on a torus, 32 cells a word: full adders over shifted words.
extern "C" __global__ void life(const unsigned* __restrict__ in, unsigned* __restrict__ out, int words, int height) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= words * height) return;
  int row = i / words, word = i % words;
  unsigned ones = 0, twos = 0, fours = 0, alive = 0;
  for (int dy = -1; dy <= 1; ++dy) {
    const unsigned* line = in + (row + dy + height) % height * words;
    unsigned left = line[(word + words - 1) % words], mid = line[word], right = line[(word + 1) % words];
    unsigned shifted[3] = {__funnelshift_l(left, mid, 1), mid, __funnelshift_r(mid, right, 1)};
    for (int dx = 0; dx < 3; ++dx) {
      if (dy == 0 && dx == 1) {
        alive = mid;
        continue;
      }
      unsigned carry = ones & shifted[dx];
      ones ^= shifted[dx];
      unsigned carry2 = twos & carry;
      twos ^= carry;
      fours |= carry2;
    }
  }
  out[i] = ~fours & twos & (ones | alive);
}
