/*
 * A CUDA driver without a GPU, for the tests of the CUDA device: device memory is host memory, work
 * is done when it is enqueued, and modules are only looked through for the parameters of their
 * kernels. It is stricter than needed where a real driver is: calls without a current context, memory
 * that was not allocated, too much shared memory, and whatever else than launches, copies on the device and
 * fills goes to a stream that is captured are refused. Kernels whose names begin with
 *   set_bytes  (u64 address, u64 count, u8-as-u32 value) set memory,
 *   trap       touch memory that is not theirs, which the next call reports,
 *   broken     do not compile, and slow ones compile with the remark that they are slow,
 *   spills     take 32 bytes of local memory a thread.
 * Functions named fake_... steer it and tell what it saw.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_CONTEXT = 201, INVALID_PTX = 218,
       INVALID_IMAGE = 200, NOT_FOUND = 500, NOT_READY = 600, ILLEGAL_ADDRESS = 700, OUT_OF_RESOURCES = 701, CAPTURE_UNSUPPORTED = 900,
       CAPTURE_INVALIDATED = 901, CAPTURED_EVENT = 907, CAPTURE_WRONG_THREAD = 908, RELAXED = 2 };

typedef struct { char *text; } Module; /* no text once it is unloaded */
typedef struct { char name[64]; int count, sizes[64]; int static_shared, dynamic_limit; Module *module; } Function;
typedef struct { char name[64]; uint32_t grid[3], block[3], shared; int count; uint64_t values[64]; uint32_t cluster[3], cooperative, dependent; } Launch;
typedef struct { uint64_t address, sizes[5], strides[4]; uint32_t type, rank, box[5], steps[5], interleave, swizzle, promotion, fill; } Map;
typedef struct { char *info, *errors, *cubin; } Linker;
typedef struct { enum { COPY, SET, KERNEL } kind; uint64_t to, from; size_t size; int value; Launch launch; Module *module; } Node;
typedef struct { int count; Node nodes[32]; } Graph;
typedef struct { Graph *captured; int mode, invalid, *thread; } Stream;

static const char *CUBIN = "FAKECUBIN";
static int context, sticky, held, fail_code, counts;
static char fail_name[64], counted[256][64];
static int calls[256];
static Launch last;
static Map map;
static struct { char *at; size_t size; } blocks[4096];
static size_t in_use;
static _Thread_local int current;
static Stream *strict; /* captured, and not relaxed */

static size_t total(void) {
    const char *text = getenv("FAKE_CUDA_MEMORY");
    return text ? strtoull(text, NULL, 10) : 64u << 20;
}

/* Counts the call, and answers what it must fail with, or 0. */
static int begin(const char *name, int in_context) {
    static char counting;
    while (__atomic_test_and_set(&counting, __ATOMIC_ACQUIRE)) {}
    int i = 0;
    while (i < counts && strcmp(counted[i], name)) i++;
    if (i == counts) strcpy(counted[counts++], name);
    calls[i]++;
    __atomic_clear(&counting, __ATOMIC_RELEASE);
    if (in_context && !current) return INVALID_CONTEXT;
    if (sticky) return sticky;
    if (fail_code && !strcmp(name, fail_name)) {
        int code = fail_code;
        fail_code = 0;
        if (code >= 700 && code != OUT_OF_RESOURCES && code < CAPTURE_UNSUPPORTED) sticky = code;
        return code;
    }
    return 0;
}
#define BEGIN(in_context) do { int r_ = begin(__func__, in_context); if (r_) return r_; } while (0)

static int owned(const void *at, size_t size) {
    for (int i = 0; i < 4096; i++)
        if (blocks[i].at && (char *)at >= blocks[i].at && (char *)at + size <= blocks[i].at + blocks[i].size) return 1;
    return 0;
}
#define OWNED(at, size) do { if (!owned((void *)(at), size)) return sticky = ILLEGAL_ADDRESS; } while (0)

/* Calls that a capture forbids which is not relaxed: to its thread, or to all. */
#define UNSAFE() do { \
    if (strict && (!strict->mode || strict->thread == &current)) { strict->invalid = 1; return CAPTURE_UNSUPPORTED; } } while (0)
/* Calls that no stream takes while it is captured. */
#define NOT_CAPTURED(stream) do { \
    Stream *s_ = (stream); \
    if (s_ && s_->captured) { s_->invalid = 1; return CAPTURE_UNSUPPORTED; } } while (0)

/* Does the work, or keeps it where the stream is captured. */
static int work(Stream *stream, Node node) {
    if (stream && stream->captured) {
        Graph *graph = stream->captured;
        if (graph->count == 32) return INVALID_VALUE;
        graph->nodes[graph->count++] = node;
        return 0;
    }
    switch (node.kind) {
        case COPY: OWNED(node.from, node.size); OWNED(node.to, node.size); memcpy((void *)node.to, (void *)node.from, node.size); return 0;
        case SET: OWNED(node.to, node.size); memset((void *)node.to, node.value, node.size); return 0;
        default: break;
    }
    if (!node.module->text) return sticky = ILLEGAL_ADDRESS; /* unloaded */
    if (!strncmp(node.launch.name, "set_bytes", 9)) {
        OWNED(node.launch.values[0], node.launch.values[1]);
        memset((void *)node.launch.values[0], (int)node.launch.values[2], node.launch.values[1]);
    }
    last = node.launch; /* several threads launch at once: one of them is the last */
    if (!strncmp(node.launch.name, "trap", 4)) sticky = ILLEGAL_ADDRESS;
    return 0;
}

void fake_fail(const char *name, int code) { strcpy(fail_name, name); fail_code = code; }
void fake_hold(int on) { held = on; }
int fake_calls(const char *name) {
    for (int i = 0; i < counts; i++) if (!strcmp(counted[i], name)) return calls[i];
    return 0;
}
const Launch *fake_launch(void) { return &last; }

int cuInit(unsigned flags) {
    const char *code = getenv("FAKE_CUDA_INIT");
    return flags ? INVALID_VALUE : code ? atoi(code) : 0;
}
int cuDriverGetVersion(int *v) { const char *t = getenv("FAKE_CUDA_VERSION"); *v = t ? atoi(t) : 12080; return 0; }
int cuGetErrorName(int code, const char **s) {
    switch (code) {
        case OUT_OF_MEMORY: *s = "CUDA_ERROR_OUT_OF_MEMORY"; return 0;
        case 100: *s = "CUDA_ERROR_NO_DEVICE"; return 0;
        case OUT_OF_RESOURCES: *s = "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"; return 0;
        case INVALID_PTX: *s = "CUDA_ERROR_INVALID_PTX"; return 0;
        case INVALID_IMAGE: *s = "CUDA_ERROR_INVALID_IMAGE"; return 0;
        case ILLEGAL_ADDRESS: *s = "CUDA_ERROR_ILLEGAL_ADDRESS"; return 0;
        default: *s = NULL; return INVALID_VALUE;
    }
}
int cuGetErrorString(int code, const char **s) {
    switch (code) {
        case OUT_OF_MEMORY: *s = "out of memory"; return 0;
        case 100: *s = "no CUDA-capable device is detected"; return 0;
        case OUT_OF_RESOURCES: *s = "too many resources requested for launch"; return 0;
        case INVALID_PTX: *s = "a PTX JIT compilation failed"; return 0;
        case INVALID_IMAGE: *s = "device kernel image is invalid"; return 0;
        case ILLEGAL_ADDRESS: *s = "an illegal memory access was encountered"; return 0;
        default: *s = NULL; return INVALID_VALUE;
    }
}

int cuDeviceGetCount(int *n) { *n = 1; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
int cuDeviceGetName(char *name, int size, int device) { snprintf(name, size, "Fake H%d00", device + 1); return 0; }
int cuDeviceGetPCIBusId(char *id, int size, int device) { snprintf(id, size, "0000:3B:%02X.0", device); return 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { (void)device; *bytes = total(); return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    switch (attribute) {
        case 1: *value = 1024; return 0;    /* MAX_THREADS_PER_BLOCK */
        case 8: *value = 49152; return 0;   /* MAX_SHARED_MEMORY_PER_BLOCK */
        case 16: *value = 132; return 0;    /* MULTIPROCESSOR_COUNT */
        case 75: *value = 9; return 0;      /* COMPUTE_CAPABILITY_MAJOR */
        case 76: *value = 0; return 0;      /* COMPUTE_CAPABILITY_MINOR */
        case 97: *value = 232448; return 0; /* MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
        default: return INVALID_VALUE;
    }
}
/* As a GPU does, returns the error of a kernel of an earlier context of the process. */
int cuDevicePrimaryCtxRetain(void **out, int device) { (void)device; *out = &context; return sticky; }
int cuDevicePrimaryCtxRelease_v2(int device) { (void)device; return 0; }
int cuCtxSetCurrent(void *c) { current = c == &context; return 0; }

int cuMemGetInfo_v2(size_t *free_bytes, size_t *all) { BEGIN(1); *free_bytes = total() - in_use; *all = total(); return 0; }
int cuMemAlloc_v2(uint64_t *out, size_t size) {
    BEGIN(1);
    UNSAFE();
    if (in_use + size > total()) return OUT_OF_MEMORY;
    for (int i = 0; i < 4096; i++)
        if (!blocks[i].at) {
            blocks[i].at = aligned_alloc(256, size);
            blocks[i].size = size;
            in_use += size;
            memset(blocks[i].at, 0xCD, size);
            *out = (uint64_t)blocks[i].at;
            return 0;
        }
    return OUT_OF_MEMORY;
}
int cuMemFree_v2(uint64_t at) {
    BEGIN(1);
    for (int i = 0; i < 4096; i++)
        if (blocks[i].at == (char *)at) {
            free(blocks[i].at);
            in_use -= blocks[i].size;
            blocks[i].at = NULL;
            return 0;
        }
    return INVALID_VALUE;
}
int cuMemHostAlloc(void **out, size_t size, unsigned flags) { BEGIN(1); (void)flags; return posix_memalign(out, 4096, size) ? OUT_OF_MEMORY : 0; }
int cuMemFreeHost(void *at) { BEGIN(1); free(at); return 0; }
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t n, void *stream) { BEGIN(1); NOT_CAPTURED(stream); OWNED(to, n); memcpy((void *)to, from, n); return 0; }
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t n, void *stream) { BEGIN(1); NOT_CAPTURED(stream); OWNED(from, n); memcpy(to, (void *)from, n); return 0; }
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t n, void *stream) { BEGIN(1); return work(stream, (Node){.kind = COPY, .to = to, .from = from, .size = n}); }
int cuMemsetD8Async(uint64_t to, unsigned char value, size_t n, void *stream) { BEGIN(1); return work(stream, (Node){.kind = SET, .to = to, .value = value, .size = n}); }

int cuStreamCreate(void **out, unsigned flags) { BEGIN(1); if (flags != 1) return INVALID_VALUE; *out = calloc(1, sizeof(Stream)); return 0; }
int cuStreamDestroy_v2(void *stream) { BEGIN(1); NOT_CAPTURED(stream); free(stream); return 0; }
int cuStreamSynchronize(void *stream) { BEGIN(1); NOT_CAPTURED(stream); held = 0; return 0; }
int cuStreamWaitEvent(void *stream, void *event, unsigned flags) { BEGIN(1); NOT_CAPTURED(stream); (void)flags; return stream && event ? 0 : INVALID_VALUE; }
int cuEventCreate(void **out, unsigned flags) { BEGIN(1); *out = malloc(sizeof(int)); *(int *)*out = flags; return 0; }
int cuEventDestroy_v2(void *event) { BEGIN(1); free(event); return 0; }
enum { IN_CAPTURE = 1 << 16 }; /* among an event's flags: where it was recorded */
int cuEventRecord(void *event, void *stream) {
    BEGIN(1);
    if (!event || !stream) return INVALID_VALUE;
    *(int *)event = (*(int *)event & ~IN_CAPTURE) | (((Stream *)stream)->captured ? IN_CAPTURE : 0);
    return 0;
}
int cuEventQuery(void *event) { BEGIN(1); UNSAFE(); return *(int *)event & IN_CAPTURE ? CAPTURED_EVENT : held ? NOT_READY : 0; }
int cuEventSynchronize(void *event) { BEGIN(1); if (*(int *)event & IN_CAPTURE) return CAPTURED_EVENT; held = 0; return 0; }
int cuEventElapsedTime(float *ms, void *start, void *end) {
    BEGIN(1);
    if (*(int *)start & 2 || *(int *)end & 2) return INVALID_VALUE; /* made without timing */
    *ms = 1.5f;
    return held ? NOT_READY : 0;
}

/* The two log buffers among the options. */
static Linker logs(unsigned n, const int *options, void *const *values) {
    Linker l = {NULL, NULL, NULL};
    for (unsigned i = 0; i < n; i++) {
        if (options[i] == 3) l.info = values[i];
        if (options[i] == 5) l.errors = values[i];
    }
    return l;
}
static int compile(const char *text, Linker *l) {
    if (strstr(text, ".entry broken")) {
        if (l->errors) strcpy(l->errors, "ptxas application ptx input, line 7; error   : Unknown symbol 'x'");
        return INVALID_PTX;
    }
    if (l->info) {
        strcpy(l->info, "ptxas info    : Used 8 registers");
        if (strstr(text, ".entry slow") && l->cubin == NULL)
            strcat(l->info, "\nptxas info    : (C7504) Potential Performance Loss: 'setmaxnreg' ignored");
    }
    return 0;
}
int cuLinkCreate_v2(unsigned n, int *options, void **values, void **state) {
    BEGIN(1);
    Linker *l = calloc(1, sizeof *l);
    *l = logs(n, options, values);
    *state = l;
    return 0;
}
int cuLinkAddData_v2(void *state, int type, void *data, size_t size, const char *name, unsigned n, int *options, void **values) {
    BEGIN(1);
    (void)n; (void)options; (void)values;
    Linker *l = state;
    const char *text = data;
    if (type != 1 || !name || text[size - 1] != 0) return INVALID_VALUE;
    int result = compile(text, l);
    l->cubin = calloc(1, strlen(CUBIN) + size);
    strcat(strcpy(l->cubin, CUBIN), text);
    return result;
}
int cuLinkComplete(void *state, void **cubin, size_t *size) { BEGIN(1); Linker *l = state; *cubin = l->cubin; *size = strlen(l->cubin); return 0; }
int cuLinkDestroy(void *state) { BEGIN(1); Linker *l = state; free(l->cubin); free(l); return 0; }

int cuModuleLoadDataEx(void **out, const void *image, unsigned n, int *options, void **values) {
    BEGIN(1);
    UNSAFE();
    const char *text = image;
    Linker l = logs(n, options, values);
    l.cubin = ""; /* nothing is linked, so nothing is slow */
    if (!strncmp(text, CUBIN, strlen(CUBIN))) text += strlen(CUBIN);
    else if (strncmp(text, ".version", 8)) return INVALID_IMAGE;
    else { int result = compile(text, &l); if (result) return result; }
    Module *m = malloc(sizeof *m);
    m->text = strdup(text);
    *out = m;
    return 0;
}
int cuModuleUnload(void *module) {
    BEGIN(1);
    Module *m = module;
    if (!m->text) return INVALID_VALUE; /* unloaded already */
    free(m->text);
    m->text = NULL;
    return 0;
}
int cuModuleGetFunction(void **out, void *module, const char *name) {
    BEGIN(1);
    char entry[96];
    snprintf(entry, sizeof entry, ".entry %s(", name);
    const char *at = strstr(((Module *)module)->text, entry);
    if (!at) return NOT_FOUND;
    Function *f = calloc(1, sizeof *f);
    strcpy(f->name, name);
    f->module = module;
    f->dynamic_limit = -1;
    const char *end = strchr(at, ')');
    for (const char *p = at; (p = strstr(p, ".param .")) && p < end; p++)
        f->sizes[f->count++] = atoi(p + strlen(".param .") + strcspn(p + strlen(".param ."), "0123456789")) / 8;
    for (const char *p = end; (p = strstr(p, ".shared .align")); p++) {
        const char *bracket = strchr(p, '[');
        f->static_shared += bracket ? atoi(bracket + 1) : 0;
    }
    *out = f;
    return 0;
}
int cuFuncGetAttribute(int *value, int attribute, void *function) {
    BEGIN(1);
    Function *f = function;
    int spills = !strncmp(f->name, "spills", strlen("spills"));
    *value = attribute == 1 ? f->static_shared : attribute == 3 ? 32 * spills : attribute == 4 ? 8 : 0;
    return 0;
}
int cuFuncSetAttribute(void *function, int attribute, int value) {
    BEGIN(1);
    Function *f = function;
    if (attribute != 8 || value + f->static_shared > 232448) return INVALID_VALUE;
    f->dynamic_limit = value;
    return 0;
}
static int launch(Function *f, const uint32_t *shape, uint32_t shared, const uint32_t *cluster, int cooperative, int dependent, void *stream, void **params, void **extra) {
    if (!stream || extra) return INVALID_VALUE;
    if ((int)shared > (f->dynamic_limit >= 0 ? f->dynamic_limit : 49152 - f->static_shared)) return INVALID_VALUE;
    Node node = {.kind = KERNEL, .module = f->module, .launch = {.shared = shared, .count = f->count, .cooperative = cooperative, .dependent = dependent}};
    strcpy(node.launch.name, f->name);
    memcpy(node.launch.grid, shape, sizeof node.launch.grid);
    memcpy(node.launch.block, shape + 3, sizeof node.launch.block);
    if (cluster) memcpy(node.launch.cluster, cluster, sizeof node.launch.cluster);
    for (int i = 0; i < f->count; i++) memcpy(&node.launch.values[i], params[i], f->sizes[i]);
    return work(stream, node);
}
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **params, void **extra) {
    BEGIN(1);
    return launch(function, (uint32_t[]){gx, gy, gz, bx, by, bz}, shared, NULL, 0, 0, stream, params, extra);
}
int cuLaunchCooperativeKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                              unsigned shared, void *stream, void **params) {
    BEGIN(1);
    return launch(function, (uint32_t[]){gx, gy, gz, bx, by, bz}, shared, NULL, 1, 0, stream, params, NULL);
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads, size_t shared) {
    BEGIN(1);
    *blocks = 2048 / threads;
    return 0;
}
int cuLaunchKernelEx(const void *config, void *function, void **params, void **extra) {
    BEGIN(1);
    const uint32_t *n = config;
    const struct { int id, pad; uint32_t value[16]; } *attributes = *(void *const *)((const char *)config + 40);
    const uint32_t *values[7] = {0};
    for (uint32_t i = 0; i < n[12]; i++) {
        int id = attributes[i].id;
        if ((id != 2 && id != 4 && id != 6) || values[id]) return INVALID_VALUE;
        values[id] = attributes[i].value;
    }
    return launch(function, n, n[6], values[4], values[2] && *values[2], values[6] && *values[6],
                  *(void *const *)((const char *)config + 32), params, extra);
}

int cuStreamBeginCapture_v2(void *stream, int mode) {
    BEGIN(1);
    Stream *s = stream;
    if (!s || s->captured || mode < 0 || mode > RELAXED) return INVALID_VALUE;
    *s = (Stream){.captured = calloc(1, sizeof(Graph)), .mode = mode, .thread = &current};
    if (mode != RELAXED) strict = s;
    return 0;
}
int cuStreamEndCapture(void *stream, void **graph) {
    int r = begin(__func__, 1);
    Stream *s = stream;
    if (r && r != CAPTURE_INVALIDATED) return r;
    if (!s->captured) return INVALID_VALUE;
    s->invalid |= r != 0;
    if (s->mode != RELAXED && s->thread != &current) return CAPTURE_WRONG_THREAD;
    if (strict == s) strict = NULL;
    int invalid = s->invalid;
    if (invalid) free(s->captured);
    *graph = invalid ? NULL : s->captured;
    *s = (Stream){0};
    return invalid ? CAPTURE_INVALIDATED : 0;
}
int cuGraphInstantiateWithFlags(void **out, void *graph, unsigned long long flags) {
    BEGIN(1);
    if (!graph || flags) return INVALID_VALUE;
    *out = memcpy(malloc(sizeof(Graph)), graph, sizeof(Graph));
    return 0;
}
int cuGraphLaunch(void *executable, void *stream) {
    BEGIN(1);
    NOT_CAPTURED(stream);
    if (!executable || !stream) return INVALID_VALUE;
    const Graph *g = executable;
    for (int i = 0; i < g->count && !sticky; i++) work(stream, g->nodes[i]);
    return 0;
}
int cuGraphExecDestroy(void *executable) { BEGIN(1); free(executable); return 0; }
int cuGraphDestroy(void *graph) { BEGIN(1); free(graph); return 0; }
int cuTensorMapEncodeTiled(void *out, int type, uint32_t rank, uint64_t address, const uint64_t *sizes, const uint64_t *strides,
                           const uint32_t *box, const uint32_t *steps, int interleave, int swizzle, int promotion, int fill) {
    int r = begin(__func__, 0);
    if (r) return r;
    if ((uintptr_t)out % 64 || address % 16 || rank < 1 || rank > 5) return INVALID_VALUE;
    Map m = {.address = address, .type = type, .rank = rank, .interleave = interleave, .swizzle = swizzle, .promotion = promotion, .fill = fill};
    memcpy(m.sizes, sizes, rank * 8);
    memcpy(m.strides, strides, (rank - 1) * 8);
    memcpy(m.box, box, rank * 4);
    memcpy(m.steps, steps, rank * 4);
    map = m;
    memset(out, 0x5A, 128);
    return 0;
}
Map *fake_map(void) { return &map; }
