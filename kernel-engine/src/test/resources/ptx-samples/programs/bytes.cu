// Words and bytes: hashes, checksums, encodings, big numbers, a fractal.

__constant__ unsigned ROUND[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

__device__ unsigned rotate(unsigned x, int by) { return __funnelshift_r(x, x, by); }

// SHA-256 (FIPS 180-4) of one message of at most 55 bytes a thread, all of one length.
extern "C" __global__ void sha256(const unsigned char* __restrict__ messages, int length, int n, unsigned* __restrict__ digests) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned w[64];
#pragma unroll 1
  for (int word = 0; word < 16; ++word) {
    unsigned value = 0;
    for (int b = 0; b < 4; ++b) {
      int at = 4 * word + b;
      value = value << 8 | (at < length ? messages[i * length + at] : at == length ? 0x80 : 0);
    }
    w[word] = value;
  }
  w[15] = 8 * length;
#pragma unroll 1
  for (int t = 16; t < 64; ++t) {
    unsigned x = w[t - 15], y = w[t - 2];
    w[t] = w[t - 16] + (rotate(x, 7) ^ rotate(x, 18) ^ x >> 3) + w[t - 7] + (rotate(y, 17) ^ rotate(y, 19) ^ y >> 10);
  }
  unsigned h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}, v[8];
  for (int k = 0; k < 8; ++k) v[k] = h[k];
#pragma unroll 1
  for (int t = 0; t < 64; ++t) {
    unsigned s1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25), choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
    unsigned t1 = v[7] + s1 + choice + ROUND[t] + w[t];
    unsigned s0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22), majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
    for (int k = 7; k > 0; --k) v[k] = v[k - 1];
    v[4] += t1;
    v[0] = t1 + s0 + majority;
  }
  for (int k = 0; k < 8; ++k) digests[8 * i + k] = h[k] + v[k];
}

// CRC-32 of rows of bytes, by a table that each block makes in shared memory.
extern "C" __global__ void crc32(const unsigned char* __restrict__ rows, int length, int n, unsigned* __restrict__ sums) {
  __shared__ unsigned table[256];
  for (int b = threadIdx.x; b < 256; b += blockDim.x) {
    unsigned r = b;
    for (int k = 0; k < 8; ++k) r = r & 1 ? 0xEDB88320u ^ r >> 1 : r >> 1;
    table[b] = r;
  }
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned crc = ~0u;
  for (int k = 0; k < length; ++k) crc = table[(crc ^ rows[i * length + k]) & 0xff] ^ crc >> 8;
  sums[i] = ~crc;
}

// Base64, three bytes a thread, written as one word.
__device__ unsigned char digit(unsigned v) {
  return v < 26 ? 'A' + v : v < 52 ? 'a' + v - 26 : v < 62 ? '0' + v - 52 : v == 62 ? '+' : '/';
}

extern "C" __global__ void base64(const unsigned char* __restrict__ in, int groups, uchar4* __restrict__ out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= groups) return;
  unsigned bits = in[3 * i] << 16 | in[3 * i + 1] << 8 | in[3 * i + 2];
  out[i] = make_uchar4(digit(bits >> 18), digit(bits >> 12 & 63), digit(bits >> 6 & 63), digit(bits & 63));
}

// base^exponent mod modulus, by products of 128 bits.
__device__ unsigned long long product(unsigned long long a, unsigned long long b, unsigned long long m) {
  unsigned long long high = __umul64hi(a, b), low = a * b;
#pragma unroll 1
  for (int k = 0; k < 64; ++k) {
    bool over = high >> 63;
    high = high << 1 | low >> 63;
    low <<= 1;
    if (over || high >= m) high -= m;
  }
  return high;
}

extern "C" __global__ void modular_power(const unsigned long long* base, const unsigned long long* exponent, unsigned long long modulus, unsigned long long* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long result = 1, power = base[i] % modulus;
  for (unsigned long long e = exponent[i]; e != 0; e >>= 1) {
    if (e & 1) result = product(result, power, modulus);
    power = product(power, power, modulus);
  }
  out[i] = result;
}

// Steps until a point of the plane escapes.
extern "C" __global__ void mandelbrot(unsigned char* out, int width, int height, float scale) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float cx = (x - width / 2) * scale - 0.5f, cy = (y - height / 2) * scale, zx = 0, zy = 0;
  int steps = 0;
  while (steps < 200 && __fadd_rn(__fmul_rn(zx, zx), __fmul_rn(zy, zy)) < 4.0f) {
    float next = __fadd_rn(__fsub_rn(__fmul_rn(zx, zx), __fmul_rn(zy, zy)), cx);
    zy = __fadd_rn(__fmul_rn(2.0f * zx, zy), cy);
    zx = next;
    ++steps;
  }
  out[y * width + x] = steps;
}
