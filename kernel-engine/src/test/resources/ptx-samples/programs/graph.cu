// Graphs and sparse matrices in compressed rows: products, levels, components, shortest paths; and a lock.

// y = A x, one warp a row.
extern "C" __global__ void spmv(const int* __restrict__ rows, const int* __restrict__ columns, const float* __restrict__ values, const float* __restrict__ x, float* __restrict__ y, int n) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
  if (row >= n) return;
  float sum = 0.0f;
  for (int e = rows[row] + lane; e < rows[row + 1]; e += 32) sum += values[e] * __ldg(&x[columns[e]]);
  for (int d = 16; d > 0; d >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, d);
  if (lane == 0) y[row] = sum;
}

// One level of a breadth-first search: whoever reaches a vertex first puts it into the next frontier.
extern "C" __global__ void bfs_level(const int* __restrict__ rows, const int* __restrict__ columns, const int* __restrict__ frontier, int size, int* levels, int level, int* next, int* next_size) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  int v = frontier[i];
  for (int e = rows[v]; e < rows[v + 1]; ++e) {
    int w = columns[e];
    if (atomicCAS(&levels[w], -1, level) == -1) next[atomicAdd(next_size, 1)] = w;
  }
}

// Connected components: hooks roots under smaller ones until each edge joins one tree, then points each vertex at its root.
__device__ int root(volatile int* parent, int v) {
  while (parent[v] != v) v = parent[v];
  return v;
}

extern "C" __global__ void components_hook(const int2* __restrict__ edges, int m, int* parent) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m) return;
  int a = root(parent, edges[i].x), b = root(parent, edges[i].y);
  while (a != b) {
    int high = max(a, b), low = min(a, b);
    int old = atomicMin(&parent[high], low);
    if (old == high) break;
    a = root(parent, old);
    b = root(parent, low);
  }
}

extern "C" __global__ void components_flatten(const int* parent, int* labels, int n) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n) return;
  int r = v;
  while (parent[r] != r) r = parent[r];
  labels[v] = r;
}

// One step of Floyd and Warshall over vertex k.
extern "C" __global__ void floyd_warshall(int* distances, int n, int k) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= n || y >= n || x == k || y == k) return;
  int through = distances[y * n + k] + distances[k * n + x];
  if (through < distances[y * n + x]) distances[y * n + x] = through;
}

// The length of the longest common subsequence, one block, along antidiagonals; three of them in shared memory.
extern "C" __global__ void common_subsequence(const char* __restrict__ a, int na, const char* __restrict__ b, int nb, int* length) {
  extern __shared__ int lines[];
  int stride = na + 1;
  for (int i = threadIdx.x; i < 3 * stride; i += blockDim.x) lines[i] = 0;
  __syncthreads();
  for (int d = 2; d <= na + nb; ++d) {
    int *now = lines + d % 3 * stride, *one = lines + (d - 1) % 3 * stride, *two = lines + (d - 2) % 3 * stride;
    for (int i = threadIdx.x; i <= na; i += blockDim.x) {
      int j = d - i;
      if (i == 0 || j == 0) now[i] = 0;
      else if (i >= 1 && j >= 1 && j <= nb) now[i] = a[i - 1] == b[j - 1] ? two[i - 1] + 1 : max(one[i - 1], one[i]);
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) *length = lines[(na + nb) % 3 * stride + na];
}

// Money moves between accounts under locks that all threads of all warps take, the lower account's first.
__device__ void acquire(int* lock) {
  while (atomicCAS(lock, 0, 1) != 0) {}
  __threadfence();
}

__device__ void release(int* lock) {
  __threadfence();
  atomicExch(lock, 0);
}

extern "C" __global__ void transfers(const int3* __restrict__ moves, int n, int* locks, int* balances) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int3 move = moves[i];
  if (move.x == move.y) return;
  int low = min(move.x, move.y), high = max(move.x, move.y);
  acquire(&locks[low]);
  acquire(&locks[high]);
  balances[move.x] -= move.z;
  balances[move.y] += move.z;
  release(&locks[high]);
  release(&locks[low]);
}
