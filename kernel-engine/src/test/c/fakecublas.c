/*
 * cuBLAS without a GPU, for the tests of its binding: matrices lie in host memory, by columns, and
 * are multiplied one product at a time. Only what the binding calls is here.
 */
#include <stdint.h>
#include <stddef.h>
#include <string.h>

enum { F32 = 0, F16 = 2, BF16 = 14, INVALID_VALUE = 7, NOT_SUPPORTED = 15 };

static void *stream;
static void *workspace;
static size_t workspace_bytes;

int cublasCreate_v2(void **handle) { *handle = &stream; return 0; }
int cublasDestroy_v2(void *handle) { return handle == &stream ? 0 : INVALID_VALUE; }
int cublasGetVersion_v2(void *handle, int *version) { (void)handle; *version = 120804; return 0; }
int cublasSetMathMode(void *handle, int mode) { (void)handle; return mode == 0 || mode == 16 ? 0 : INVALID_VALUE; }
/* As the real one: a new stream goes back to the library's own workspace. */
int cublasSetStream_v2(void *handle, void *s) { (void)handle; stream = s; workspace = NULL; return 0; }
int cublasSetWorkspace_v2(void *handle, void *at, size_t bytes) {
    (void)handle;
    workspace = at;
    workspace_bytes = bytes;
    return (uintptr_t)at % 256 ? INVALID_VALUE : 0;
}

static float load(const void *a, int type, size_t i) {
    float f;
    uint32_t bits;
    _Float16 h;
    switch (type) {
        case F32: return ((const float *)a)[i];
        case F16: memcpy(&h, (const char *)a + 2 * i, 2); return (float)h;
        default: bits = (uint32_t)((const uint16_t *)a)[i] << 16; memcpy(&f, &bits, 4); return f;
    }
}
static void store(void *a, int type, size_t i, float f) {
    uint32_t bits;
    _Float16 h = (_Float16)f;
    switch (type) {
        case F32: ((float *)a)[i] = f; return;
        case F16: memcpy((char *)a + 2 * i, &h, 2); return;
        default: memcpy(&bits, &f, 4); ((uint16_t *)a)[i] = bits >> 16; return; /* exact in the tests */
    }
}

int cublasGemmEx(void *handle, int ta, int tb, int m, int n, int k, const void *alpha,
                 const void *a, int at, int lda, const void *b, int bt, int ldb, const void *beta,
                 void *c, int ct, int ldc, int compute, int algorithm) {
    (void)handle;
    if (!stream || !workspace || !workspace_bytes || algorithm != -1 || *(const float *)beta != 0) return INVALID_VALUE;
    if (compute != (at == F32 ? 69 : 68)) return NOT_SUPPORTED;
    if (lda < (ta ? k : m) || ldb < (tb ? n : k) || ldc < m) return INVALID_VALUE;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0;
            for (int l = 0; l < k; l++)
                sum += load(a, at, ta ? l + (size_t)i * lda : i + (size_t)l * lda)
                     * load(b, bt, tb ? j + (size_t)l * ldb : l + (size_t)j * ldb);
            store(c, ct, i + (size_t)j * ldc, *(const float *)alpha * sum);
        }
    return 0;
}
