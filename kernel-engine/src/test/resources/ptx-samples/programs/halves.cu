// Programs in 16-bit types: vectors of two, moments by Welford, convolution with weights in constant memory.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void axpy_half2(int pairs, __half a, const __half2* __restrict__ x, __half2* __restrict__ y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < pairs) y[i] = __hfma2(__half2half2(a), x[i], y[i]);
}

// The dot product of two rows of bf16 in f32, one warp.
extern "C" __global__ void dot_bfloat(const __nv_bfloat162* __restrict__ x, const __nv_bfloat162* __restrict__ y, int pairs, float* out) {
  float sum = 0.0f;
  for (int i = threadIdx.x; i < pairs; i += 32) {
    float2 a = __bfloat1622float2(x[i]), b = __bfloat1622float2(y[i]);
    sum = fmaf(a.x, b.x, fmaf(a.y, b.y, sum));
  }
  for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, d);
  if (threadIdx.x == 0) *out = sum;
}

// Mean and variance of a row of f16, one warp a row; partial moments are combined in a butterfly.
extern "C" __global__ void moments(const __half* __restrict__ in, int n, float2* __restrict__ out) {
  float mean = 0, squares = 0, count = 0;
  for (int i = threadIdx.x; i < n; i += 32) {
    float x = __half2float(in[blockIdx.x * n + i]), delta = x - mean;
    count += 1;
    mean += delta / count;
    squares += delta * (x - mean);
  }
  for (int d = 16; d > 0; d >>= 1) {
    float mean2 = __shfl_xor_sync(0xffffffffu, mean, d), squares2 = __shfl_xor_sync(0xffffffffu, squares, d);
    float count2 = __shfl_xor_sync(0xffffffffu, count, d), all = count + count2;
    if (all > 0) {
      float delta = mean2 - mean;
      squares += squares2 + delta * delta * count * count2 / all;
      mean = (mean * count + mean2 * count2) / all;
      count = all;
    }
  }
  if (threadIdx.x == 0) out[blockIdx.x] = make_float2(mean, squares / n);
}

#define RADIUS 4
__constant__ float weights[2 * RADIUS + 1] = {0.02f, 0.05f, 0.1f, 0.18f, 0.3f, 0.18f, 0.1f, 0.05f, 0.02f};

// A row convolution of bytes with clamped borders, rounded to even and saturated.
extern "C" __global__ void convolve_rows(const unsigned char* __restrict__ in, unsigned char* __restrict__ out, int width) {
  extern __shared__ float row[];
  const unsigned char* from = in + blockIdx.y * width;
  int first = blockIdx.x * blockDim.x;
  for (int i = threadIdx.x; i < blockDim.x + 2 * RADIUS; i += blockDim.x) row[i] = from[min(max(first + i - RADIUS, 0), width - 1)];
  __syncthreads();
  int x = first + threadIdx.x;
  if (x >= width) return;
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k <= 2 * RADIUS; ++k) sum = fmaf(weights[k], row[threadIdx.x + k], sum);
  out[blockIdx.y * width + x] = __float2int_rn(fminf(sum, 255.0f));
}

// out = in transposed, by tiles whose rows are padded against bank conflicts.
extern "C" __global__ void transpose_half(const __half* __restrict__ in, __half* __restrict__ out, int width, int height) {
  __shared__ __half tile[32][34];
  int x = blockIdx.x * 32 + threadIdx.x;
  for (int r = threadIdx.y; r < 32; r += blockDim.y) {
    int y = blockIdx.y * 32 + r;
    if (x < width && y < height) tile[r][threadIdx.x] = in[y * width + x];
  }
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  for (int r = threadIdx.y; r < 32; r += blockDim.y) {
    int y = blockIdx.x * 32 + r;
    if (x < height && y < width) out[y * height + x] = tile[threadIdx.x][r];
  }
}
