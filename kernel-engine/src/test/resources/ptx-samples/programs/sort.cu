// Sorts of one block: bitonic in shared memory, radix by ballots, merging by binary search.

extern "C" __global__ void bitonic_sort(float* data, int n) {
  extern __shared__ float keys[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) keys[i] = data[blockIdx.x * n + i];
  __syncthreads();
  for (int size = 2; size <= n; size <<= 1) {
    for (int stride = size >> 1; stride > 0; stride >>= 1) {
      for (int t = threadIdx.x; t < n / 2; t += blockDim.x) {
        int low = 2 * t - (t & (stride - 1)), high = low + stride;
        float a = keys[low], b = keys[high];
        if ((a > b) == ((low & size) == 0)) {
          keys[low] = b;
          keys[high] = a;
        }
      }
      __syncthreads();
    }
  }
  for (int i = threadIdx.x; i < n; i += blockDim.x) data[blockIdx.x * n + i] = keys[i];
}

// Keys and their positions, one bit a pass, stable; one key a thread.
extern "C" __global__ void radix_sort(unsigned* keys, unsigned* positions, int n) {
  __shared__ unsigned key[1024], place[1024];
  __shared__ int zeros[32];
  int t = threadIdx.x, lane = t & 31, warp = t >> 5, warps = (blockDim.x + 31) >> 5;
  key[t] = t < n ? keys[t] : 0xffffffffu;
  place[t] = t;
  for (int bit = 0; bit < 32; ++bit) {
    __syncthreads();
    unsigned k = key[t], p = place[t];
    bool one = k >> bit & 1;
    unsigned mask = __ballot_sync(0xffffffffu, !one);
    if (lane == 0) zeros[warp] = __popc(mask);
    __syncthreads();
    int before = 0, all = 0;
    for (int w = 0; w < warps; ++w) {
      before += w < warp ? zeros[w] : 0;
      all += zeros[w];
    }
    before += __popc(mask & ((1u << lane) - 1));
    int to = one ? all + t - before : before;
    key[to] = k;
    place[to] = p;
  }
  __syncthreads();
  if (t < n) {
    keys[t] = key[t];
    positions[t] = place[t];
  }
}

// Merges two sorted lists: each thread finds the rank of its own elements in the other list.
extern "C" __global__ void merge_ranks(const long long* a, int na, const long long* b, int nb, long long* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= na + nb) return;
  bool first = i < na;
  long long value = first ? a[i] : b[i - na];
  const long long* other = first ? b : a;
  int low = 0, high = first ? nb : na;
  while (low < high) {
    int mid = (low + high) / 2;
    bool before = first ? other[mid] < value : other[mid] <= value;
    if (before) low = mid + 1;
    else high = mid;
  }
  out[(first ? i : i - na) + low] = value;
}
