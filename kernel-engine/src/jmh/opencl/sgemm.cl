// c = a * b of row-major f32 matrices whose sides are multiples of the tile.
//
// A work-group computes TILE_M x TILE_N elements of c. It brings TILE_K columns of a and rows of b
// to local memory; a work-item computes ITEM_M x 8 elements in vectors of eight, or ITEM_M x 16 in
// vectors of sixteen. TILE_M, TILE_N, TILE_K, ITEM_M and WIDTH are given when this is built.

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define VECTOR JOIN(float, WIDTH)
#define LOAD JOIN(vload, WIDTH)
#define STORE JOIN(vstore, WIDTH)

#define ACROSS (TILE_N / WIDTH)
#define DOWN (TILE_M / ITEM_M)
#define ITEMS (ACROSS * DOWN)

__kernel __attribute__((reqd_work_group_size(ACROSS, DOWN, 1)))
void sgemm_local(int n, int k, __global const float *restrict a, __global const float *restrict b,
                 __global float *restrict c) {
  __local float as[TILE_K][TILE_M];
  __local float bs[TILE_K][TILE_N];
  const int x = get_local_id(0);
  const int y = get_local_id(1);
  const int item = y * ACROSS + x;
  const int row = get_group_id(1) * TILE_M;
  const int column = get_group_id(0) * TILE_N;
  VECTOR sums[ITEM_M];
  for (int i = 0; i < ITEM_M; i++) {
    sums[i] = 0;
  }
  for (int depth = 0; depth < k; depth += TILE_K) {
    for (int i = item; i < TILE_M * TILE_K; i += ITEMS) {
      as[i % TILE_K][i / TILE_K] = a[(row + i / TILE_K) * k + depth + i % TILE_K];
    }
    for (int i = item; i < TILE_K * ACROSS; i += ITEMS) {
      STORE(LOAD(0, b + (depth + i / ACROSS) * n + column + i % ACROSS * WIDTH), 0,
            &bs[i / ACROSS][i % ACROSS * WIDTH]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int l = 0; l < TILE_K; l++) {
      const VECTOR right = LOAD(0, &bs[l][x * WIDTH]);
#pragma unroll
      for (int i = 0; i < ITEM_M; i++) {
        sums[i] = fma((VECTOR)(as[l][y * ITEM_M + i]), right, sums[i]);
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int i = 0; i < ITEM_M; i++) {
    STORE(sums[i], 0, c + (row + y * ITEM_M + i) * n + column + x * WIDTH);
  }
}

// The same tiles without local memory and without barriers: on a processor its caches serve.
__kernel __attribute__((reqd_work_group_size(ACROSS, DOWN, 1)))
void sgemm_cached(int n, int k, __global const float *restrict a, __global const float *restrict b,
                  __global float *restrict c) {
  const int row = get_group_id(1) * TILE_M + get_local_id(1) * ITEM_M;
  const int column = get_group_id(0) * TILE_N + get_local_id(0) * WIDTH;
  VECTOR sums[ITEM_M];
  for (int i = 0; i < ITEM_M; i++) {
    sums[i] = 0;
  }
  for (int l = 0; l < k; l++) {
    const VECTOR right = LOAD(0, b + l * n + column);
#pragma unroll
    for (int i = 0; i < ITEM_M; i++) {
      sums[i] = fma((VECTOR)(a[(row + i) * k + l]), right, sums[i]);
    }
  }
  for (int i = 0; i < ITEM_M; i++) {
    STORE(sums[i], 0, c + (row + i) * n + column);
  }
}

// As on a GPU: a work-item computes one element, a work-group a tile of TILE_M x TILE_M.
__kernel __attribute__((reqd_work_group_size(TILE_M, TILE_M, 1)))
void sgemm_simple(int n, int k, __global const float *restrict a, __global const float *restrict b,
                  __global float *restrict c) {
  __local float as[TILE_M][TILE_M];
  __local float bs[TILE_M][TILE_M];
  const int x = get_local_id(0);
  const int y = get_local_id(1);
  const int row = get_group_id(1) * TILE_M + y;
  const int column = get_group_id(0) * TILE_M + x;
  float sum = 0;
  for (int depth = 0; depth < k; depth += TILE_M) {
    as[y][x] = a[row * k + depth + x];
    bs[y][x] = b[(depth + y) * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int l = 0; l < TILE_M; l++) {
      sum = fma(as[y][l], bs[l][x], sum);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * n + column] = sum;
}
