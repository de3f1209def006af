// Numerical programs: a transform, bodies, an elimination, clusters, random numbers.

// Stockham's radix-2 transform of one row a block, blockDim.x = n / 2; sign -1 forward, 1 back (not scaled).
extern "C" __global__ void fft(const float2* __restrict__ in, float2* __restrict__ out, int n, float sign) {
  extern __shared__ float2 line[];
  float2 *from = line, *to = line + n;
  int t = threadIdx.x, half = n / 2;
  from[t] = in[blockIdx.x * n + t];
  from[t + half] = in[blockIdx.x * n + t + half];
  for (int block = 1; block < n; block <<= 1) {
    __syncthreads();
    int k = t & (block - 1);
    float2 a = from[t], b = from[t + half];
    float s, c;
    sincospif(sign * k / block, &s, &c);
    float2 turned = make_float2(b.x * c - b.y * s, b.x * s + b.y * c);
    int at = ((t - k) << 1) + k;
    to[at] = make_float2(a.x + turned.x, a.y + turned.y);
    to[at + block] = make_float2(a.x - turned.x, a.y - turned.y);
    float2* swap = from;
    from = to;
    to = swap;
  }
  __syncthreads();
  out[blockIdx.x * n + t] = from[t];
  out[blockIdx.x * n + t + half] = from[t + half];
}

// Accelerations by all other bodies, softened; bodies are (x, y, z, mass), in tiles of a block.
extern "C" __global__ void gravity(const float4* __restrict__ bodies, float3* __restrict__ accelerations, int n, float softening) {
  extern __shared__ float4 tile[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 own = i < n ? bodies[i] : make_float4(0, 0, 0, 0);
  float3 sum = make_float3(0, 0, 0);
  for (int first = 0; first < n; first += blockDim.x) {
    int j = first + threadIdx.x;
    tile[threadIdx.x] = j < n ? bodies[j] : make_float4(0, 0, 0, 0);
    __syncthreads();
#pragma unroll 4
    for (int k = 0; k < blockDim.x; ++k) {
      float4 other = tile[k];
      float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
      float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
      float pull = other.w * inverse * inverse * inverse;
      sum.x += dx * pull;
      sum.y += dy * pull;
      sum.z += dz * pull;
    }
    __syncthreads();
  }
  if (i < n) accelerations[i] = sum;
}

// Factors a matrix in place into L and U with row exchanges, one block; pivots[k] is the row exchanged with k.
extern "C" __global__ void lu(double* m, int n, int* pivots) {
  __shared__ int pivot;
  for (int k = 0; k < n; ++k) {
    if (threadIdx.x < 32) {
      double best = -1.0;
      int row = k;
      for (int r = k + threadIdx.x; r < n; r += 32) {
        double size = fabs(m[r * n + k]);
        if (size > best) {
          best = size;
          row = r;
        }
      }
      for (int d = 16; d > 0; d >>= 1) {
        double other = __shfl_down_sync(0xffffffffu, best, d);
        int at = __shfl_down_sync(0xffffffffu, row, d);
        if (other > best || (other == best && at < row)) {
          best = other;
          row = at;
        }
      }
      if (threadIdx.x == 0) pivots[k] = pivot = row;
    }
    __syncthreads();
    if (pivot != k) {
      for (int c = threadIdx.x; c < n; c += blockDim.x) {
        double swap = m[k * n + c];
        m[k * n + c] = m[pivot * n + c];
        m[pivot * n + c] = swap;
      }
    }
    __syncthreads();
    for (int r = k + 1 + threadIdx.x; r < n; r += blockDim.x) m[r * n + k] /= m[k * n + k];
    __syncthreads();
    int rest = n - k - 1;
    for (int e = threadIdx.x; e < rest * rest; e += blockDim.x) {
      int r = k + 1 + e / rest, c = k + 1 + e % rest;
      m[r * n + c] = fma(-m[r * n + k], m[k * n + c], m[r * n + c]);
    }
    __syncthreads();
  }
}

// One step of k-means: the nearest center of each point, and the sums and counts of the new centers.
extern "C" __global__ void kmeans(const float2* __restrict__ points, int n, const float2* __restrict__ centers, int k, int* __restrict__ nearest, float* sums, int* counts) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float2 p = points[i];
  float best = INFINITY;
  int own = 0;
  for (int c = 0; c < k; ++c) {
    float dx = p.x - centers[c].x, dy = p.y - centers[c].y, d = dx * dx + dy * dy;
    if (d < best) {
      best = d;
      own = c;
    }
  }
  nearest[i] = own;
  atomicAdd(&sums[2 * own], p.x);
  atomicAdd(&sums[2 * own + 1], p.y);
  atomicAdd(&counts[own], 1);
}

// Philox 4x32-10 (Salmon and others, 2011).
__device__ uint4 philox(uint4 c, uint2 key) {
  for (int round = 0; round < 10; ++round) {
    unsigned high0 = __umulhi(0xD2511F53u, c.x), low0 = 0xD2511F53u * c.x;
    unsigned high1 = __umulhi(0xCD9E8D57u, c.z), low1 = 0xCD9E8D57u * c.z;
    c = make_uint4(high1 ^ c.y ^ key.x, low1, high0 ^ c.w ^ key.y, low0);
    key.x += 0x9E3779B9u;
    key.y += 0xBB67AE85u;
  }
  return c;
}

extern "C" __global__ void random_words(uint4* out, int n, uint2 key) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = philox(make_uint4(i, 0, 0, 0), key);
}

// The price of a European call by simulated paths: normals by Box and Muller, sums by shuffles and one atomic a warp.
extern "C" __global__ void call_option(int paths, uint2 key, float spot, float strike, float drift, float deviation, double* sum) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double payoff = 0.0;
  if (i < paths) {
    uint4 r = philox(make_uint4(i, 0, 0, 0), key);
    float u = (r.x + 0.5f) * 2.3283064365386963e-10f, v = r.y * 2.3283064365386963e-10f;
    float normal = sqrtf(-2.0f * logf(fminf(u, 0.99999994f))) * cospif(2.0f * v);
    payoff = fmaxf(spot * expf(drift + deviation * normal) - strike, 0.0f);
  }
  for (int d = 16; d > 0; d >>= 1) payoff += __shfl_xor_sync(0xffffffffu, payoff, d);
  if ((threadIdx.x & 31) == 0) atomicAdd(sum, payoff);
}
