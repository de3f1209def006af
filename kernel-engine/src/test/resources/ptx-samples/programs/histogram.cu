// Histograms: counters of a block in shared memory, lanes with equal keys combined before the atomic.

extern "C" __global__ void histogram_bytes(const unsigned char* __restrict__ in, int n, unsigned* __restrict__ bins) {
  __shared__ unsigned counts[256];
  for (int b = threadIdx.x; b < 256; b += blockDim.x) counts[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&counts[in[i]], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < 256; b += blockDim.x)
    if (counts[b]) atomicAdd(&bins[b], counts[b]);
}

// One atomic for all lanes of a warp that have the same key.
extern "C" __global__ void histogram_matched(const int* __restrict__ keys, int n, unsigned long long* __restrict__ bins) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned active = __ballot_sync(0xffffffffu, i < n);
  if (i >= n) return;
  int key = keys[i];
  unsigned same = __match_any_sync(active, key);
  int leader = __ffs(same) - 1;
  if ((threadIdx.x & 31) == leader) atomicAdd(&bins[key], (unsigned long long)__popc(same));
}

// The positions of the values that pass, in any order: one atomic a warp for its share of the output.
extern "C" __global__ void compact(const float* __restrict__ in, int n, float limit, float* __restrict__ out, int* __restrict__ count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  bool keep = i < n && in[i] > limit;
  unsigned mask = __ballot_sync(0xffffffffu, keep);
  int lane = threadIdx.x & 31, first = 0;
  if (lane == 0 && mask) first = atomicAdd(count, __popc(mask));
  first = __shfl_sync(0xffffffffu, first, 0);
  if (keep) out[first + __popc(mask & ((1u << lane) - 1))] = in[i];
}
