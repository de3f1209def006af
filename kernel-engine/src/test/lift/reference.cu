// The kernels of SampleKernels in CUDA C++, for NvccComparison. nvcc unrolls their loops as it sees fit.
extern "C" __global__ void __launch_bounds__(256) saxpy(const float* __restrict__ x, float* __restrict__ y, float alpha, int n) {
  int i = threadIdx.x + blockIdx.x * 256; if (i < n) y[i] = fmaf(alpha, x[i], y[i]); }
extern "C" __global__ void __launch_bounds__(256) siluGate(const float* __restrict__ gate, const float* __restrict__ up, float* __restrict__ y, int n) {
for (int i = threadIdx.x + blockIdx.x * 256; i < n; i += gridDim.x * 256) { float g = gate[i]; y[i] = g / (1 + __expf(-g)) * up[i]; } }
__device__ float warpSum(float v) { for (int m = 16; m > 0; m /= 2) v += __shfl_xor_sync(-1, v, m); return v; }
__device__ float warpMax(float v) { for (int m = 16; m > 0; m /= 2) v = fmaxf(v, __shfl_xor_sync(-1, v, m)); return v; }
template <int T> __device__ float blockSum(float v) { __shared__ float w[32]; float s = warpSum(v); if (threadIdx.x % 32 == 0) w[threadIdx.x / 32] = s; __syncthreads(); s = w[0]; for (int i = 1; i < T / 32; i++) s += w[i]; __syncthreads(); return s; }
template <int T> __device__ float blockMax(float v) { __shared__ float w[32]; float s = warpMax(v); if (threadIdx.x % 32 == 0) w[threadIdx.x / 32] = s; __syncthreads(); s = w[0]; for (int i = 1; i < T / 32; i++) s = fmaxf(s, w[i]); __syncthreads(); return s; }
extern "C" __global__ void __launch_bounds__(128) softmax(const float* __restrict__ x, float* __restrict__ y, int columns) {
  int row = blockIdx.x * columns; float m = -INFINITY;
for (int i = threadIdx.x; i < columns; i += 128) m = fmaxf(m, x[row + i]);
  m = blockMax<128>(m); float sum = 0;
for (int i = threadIdx.x; i < columns; i += 128) sum += __expf(x[row + i] - m);
  float scale = 1 / blockSum<128>(sum);
for (int i = threadIdx.x; i < columns; i += 128) y[row + i] = __expf(x[row + i] - m) * scale; }
extern "C" __global__ void __launch_bounds__(128) layerNorm(const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__ bias, float* __restrict__ y, int columns, float eps) {
  int row = blockIdx.x * columns; float sum = 0, squares = 0;
for (int i = threadIdx.x; i < columns; i += 128) { float v = x[row + i]; sum += v; squares = fmaf(v, v, squares); }
  float mean = blockSum<128>(sum) / columns; float square = fmaxf(blockSum<128>(squares) / columns, 0.f);
  float scale = 1 / sqrtf(square - mean * mean + eps);
for (int i = threadIdx.x; i < columns; i += 128) y[row + i] = (x[row + i] - mean) * scale * weight[i] + bias[i]; }
extern "C" __global__ void __launch_bounds__(256) product(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n, int depth) {
  __shared__ float as[256], bs[256]; int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx; float sum = 0;
for (int t = 0; t < depth; t += 16) { as[ty * 16 + tx] = a[row * depth + t + tx]; bs[ty * 16 + tx] = b[(t + ty) * n + column]; __syncthreads();
    for (int i = 0; i < 16; i++) sum = fmaf(as[ty * 16 + i], bs[i * 16 + tx], sum); __syncthreads(); }
  c[row * n + column] = sum; }
extern "C" __global__ void __launch_bounds__(256) histogram(const signed char* __restrict__ data, int* __restrict__ counts, int n) {
  __shared__ int mine[64]; 
for (int i = threadIdx.x; i < 64; i += 256) mine[i] = 0; __syncthreads();
for (int i = threadIdx.x + blockIdx.x * 256; i < n; i += gridDim.x * 256) atomicAdd(&mine[data[i] & 63], 1);
  __syncthreads(); 
for (int i = threadIdx.x; i < 64; i += 256) atomicAdd(&counts[i], mine[i]); }
extern "C" __global__ void __launch_bounds__(256) reduce(const float* __restrict__ x, float* __restrict__ sums, int n) {
  float sum = 0; 
for (int i = threadIdx.x + blockIdx.x * 256; i < n; i += gridDim.x * 256) sum += x[i];
  float total = blockSum<256>(sum); if (threadIdx.x == 0) sums[blockIdx.x] = total; }
// The kernels of ReferenceKernels.
extern "C" __global__ void __launch_bounds__(256) nBody(const float* __restrict__ x, const float* __restrict__ y, const float* __restrict__ z, const float* __restrict__ mass, float* __restrict__ ax, float* __restrict__ ay, float* __restrict__ az, int n) {
  int i = threadIdx.x + blockIdx.x * 256; float sx = 0, sy = 0, sz = 0;
for (int j = 0; j < n; j++) { float dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i]; float inverse;
    asm("rsqrt.approx.f32 %0, %1;" : "=f"(inverse) : "f"(fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, 1e-6f)))));
    float force = mass[j] * inverse * inverse * inverse; sx = fmaf(dx, force, sx); sy = fmaf(dy, force, sy); sz = fmaf(dz, force, sz); }
  ax[i] = sx; ay[i] = sy; az[i] = sz; }
extern "C" __global__ void __launch_bounds__(128) spmv(const int* __restrict__ rows, const int* __restrict__ columns, const float* __restrict__ values, const float* __restrict__ x, float* __restrict__ y, int n) {
  int row = threadIdx.x + blockIdx.x * 128; if (row < n) { float sum = 0;
for (int k = rows[row]; k < rows[row + 1]; k++) sum = fmaf(values[k], x[columns[k]], sum);
    y[row] = sum; } }
extern "C" __global__ void __launch_bounds__(256) crc32(const signed char* __restrict__ data, int* __restrict__ checksums, int length) {
  __shared__ unsigned table[256]; unsigned entry = threadIdx.x; for (int bit = 0; bit < 8; bit++) entry = (entry & 1) == 0 ? entry >> 1 : entry >> 1 ^ 0xEDB88320u;
  table[threadIdx.x] = entry; __syncthreads(); int record = threadIdx.x + blockIdx.x * 256; unsigned crc = -1;
for (int i = 0; i < length; i++) crc = table[(crc ^ data[record * length + i]) & 255] ^ crc >> 8;
  checksums[record] = ~crc; }
extern "C" __global__ void __launch_bounds__(256) transpose(const float* __restrict__ in, float* __restrict__ out, int width, int height) {
  __shared__ float tile[32 * 33]; int x = blockIdx.x * 32 + threadIdx.x;
for (int r = threadIdx.y; r < 32; r += 8) { int y = blockIdx.y * 32 + r; if (x < width && y < height) tile[r * 33 + threadIdx.x] = in[y * width + x]; }
  __syncthreads(); int column = blockIdx.y * 32 + threadIdx.x;
for (int r = threadIdx.y; r < 32; r += 8) { int row = blockIdx.x * 32 + r; if (column < height && row < width) out[row * height + column] = tile[threadIdx.x * 33 + r]; } }
extern "C" __global__ void __launch_bounds__(256) sobel(const float* __restrict__ in, float* __restrict__ out, int width, int height) {
  int x = threadIdx.x + blockIdx.x * 32, y = threadIdx.y + blockIdx.y * 8; if (x > 0 && x < width - 1 && y > 0 && y < height - 1) { float gx = 0, gy = 0;
for (int i = -1; i <= 1; i++) { int weight = 2 - i * i;
      gx += weight * (in[(y + i) * width + x + 1] - in[(y + i) * width + x - 1]); gy += weight * (in[(y + 1) * width + x + i] - in[(y - 1) * width + x + i]); }
    out[y * width + x] = sqrtf(gx * gx + gy * gy); } }
__device__ float normal(float d) { float k = __fdividef(1, 1 + 0.2316419f * fabsf(d));
  float tail = 0.3989423f * __expf(-0.5f * d * d) * (k * (0.31938154f + k * (-0.35656378f + k * (1.7814779f + k * (-1.8212559f + k * 1.3302745f))))); return d > 0 ? 1 - tail : tail; }
extern "C" __global__ void __launch_bounds__(128) blackScholes(const float* __restrict__ price, const float* __restrict__ strike, const float* __restrict__ years, float* __restrict__ call, float* __restrict__ put, float r, float v, int n) {
for (int i = threadIdx.x + blockIdx.x * 128; i < n; i += gridDim.x * 128) { float s = price[i], t = years[i], spread = v * sqrtf(t);
    float d1 = __fdividef(__logf(__fdividef(s, strike[i])) + (r + 0.5f * v * v) * t, spread), now = strike[i] * __expf(-r * t);
    float c = s * normal(d1) - now * normal(d1 - spread); call[i] = c; put[i] = c + now - s; } }
extern "C" __global__ void __launch_bounds__(256) registerTiles(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n, int depth) {
  __shared__ float as[1024], bs[1024]; int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 64, column = blockIdx.x * 64; float sums[16] = {};
for (int k = 0; k < depth; k += 16) {
    for (int i = ty * 16 + tx; i < 1024; i += 256) { as[i % 16 * 64 + i / 16] = a[(row + i / 16) * depth + k + i % 16]; bs[i] = b[(k + i / 64) * n + column + i % 64]; }
    __syncthreads();
    for (int i = 0; i < 16; i++) for (int y = 0; y < 4; y++) for (int x = 0; x < 4; x++) sums[y * 4 + x] = fmaf(as[i * 64 + ty * 4 + y], bs[i * 64 + tx * 4 + x], sums[y * 4 + x]);
    __syncthreads(); }
  for (int y = 0; y < 4; y++) for (int x = 0; x < 4; x++) c[(row + ty * 4 + y) * n + column + tx * 4 + x] = sums[y * 4 + x]; }
