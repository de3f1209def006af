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
