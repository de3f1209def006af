// Prefix sums: work-efficient in a block, over all blocks in one pass, and as programs for older machines wrote them.

// Exclusive sums of 2 * blockDim.x values, up the tree and down again.
extern "C" __global__ void scan_block(const int* __restrict__ in, int* __restrict__ out) {
  extern __shared__ int tree[];
  int t = threadIdx.x, n = 2 * blockDim.x, base = blockIdx.x * n;
  tree[2 * t] = in[base + 2 * t];
  tree[2 * t + 1] = in[base + 2 * t + 1];
  int step = 1;
  for (int d = n >> 1; d > 0; d >>= 1, step <<= 1) {
    __syncthreads();
    if (t < d) tree[step * (2 * t + 2) - 1] += tree[step * (2 * t + 1) - 1];
  }
  if (t == 0) tree[n - 1] = 0;
  for (int d = 1; d < n; d <<= 1) {
    step >>= 1;
    __syncthreads();
    if (t < d) {
      int left = step * (2 * t + 1) - 1, right = step * (2 * t + 2) - 1, sum = tree[left];
      tree[left] = tree[right];
      tree[right] += sum;
    }
  }
  __syncthreads();
  out[base + 2 * t] = tree[2 * t];
  out[base + 2 * t + 1] = tree[2 * t + 1];
}

// Inclusive sums over the grid: blocks take numbers from a ticket, publish their sums, and look back at those before them.
// A status word has the state in its upper half (1: own sum, 2: sum of all up to here) and the value in the lower.
extern "C" __global__ void scan_grid(const int* __restrict__ in, int* __restrict__ out, int n, unsigned* ticket, volatile unsigned long long* status) {
  __shared__ int part, sums[32], before;
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  if (threadIdx.x == 0) part = atomicAdd(ticket, 1u);
  __syncthreads();
  int i = part * blockDim.x + threadIdx.x;
  int sum = i < n ? in[i] : 0;
  for (int d = 1; d < 32; d <<= 1) {
    int other = __shfl_up_sync(0xffffffffu, sum, d);
    if (lane >= d) sum += other;
  }
  if (lane == 31) sums[warp] = sum;
  __syncthreads();
  int own = 0;
  for (int w = 0; w < (blockDim.x >> 5); ++w) {
    if (w < warp) sum += sums[w];
    own += sums[w];
  }
  if (threadIdx.x == 0) {
    unsigned long long first = part == 0 ? 2ull << 32 : 1ull << 32;
    status[part] = first | (unsigned)own;
    int all = 0;
    for (int p = part - 1; p >= 0; --p) {
      unsigned long long seen;
      do seen = status[p];
      while (seen >> 32 == 0);
      all += (int)(unsigned)seen;
      if (seen >> 32 == 2) break;
    }
    if (part > 0) status[part] = 2ull << 32 | (unsigned)(all + own);
    before = all;
  }
  __syncthreads();
  if (i < n) out[i] = sum + before;
}

// Sums within a warp, as written before lanes went on independently: no __syncwarp, only fences. It relies on lanes in step.
extern "C" __global__ void scan_in_step(const int* __restrict__ in, int* __restrict__ out) {
  __shared__ int sums[32 * 48];
  int lane = threadIdx.x & 31, at = (threadIdx.x >> 5) * 48 + lane, i = blockIdx.x * blockDim.x + threadIdx.x;
  sums[at] = 0;
  at += 16;
  sums[at] = in[i];
  __threadfence_block();
  for (int d = 1; d < 32; d <<= 1) {
    sums[at] += sums[at - d];
    __threadfence_block();
  }
  out[i] = sums[at];
}

// The sum of all, by whichever block finishes last.
extern "C" __global__ void sum_last_block(const double* __restrict__ in, int n, double* partial, unsigned* done, double* result) {
  __shared__ double sums[256];
  __shared__ bool last;
  double sum = 0.0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int d = blockDim.x / 2; d > 0; d >>= 1) {
    if (threadIdx.x < d) sums[threadIdx.x] += sums[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sums[0];
    __threadfence();
    last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    __threadfence();
    double all = 0.0;
    for (int b = 0; b < gridDim.x; ++b) all += partial[b];
    *result = all;
  }
}
