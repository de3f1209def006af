// Times products of square f32 matrices with OpenCL: sgemm FILE.cl SIDE ROUNDS [VARIANT].
// Each variant is a kernel with sizes of its tiles; each is checked on samples before it is timed.

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
  const char *kernel;
  int tile_m, tile_n, tile_k, item_m, width;
} variant;

static const variant VARIANTS[] = {
    {"sgemm_simple", 16, 16, 16, 1, 8}, {"sgemm_simple", 32, 32, 32, 1, 8},
    {"sgemm_local", 32, 32, 16, 4, 8},  {"sgemm_local", 64, 64, 16, 8, 8},
    {"sgemm_local", 64, 64, 32, 8, 8},  {"sgemm_local", 128, 128, 16, 8, 8},
    {"sgemm_local", 64, 64, 64, 8, 8},  {"sgemm_local", 64, 64, 16, 8, 16},
    {"sgemm_local", 64, 64, 64, 8, 16}, {"sgemm_local", 128, 128, 32, 16, 16},
    {"sgemm_local", 64, 128, 64, 16, 16}, {"sgemm_cached", 64, 64, 1, 8, 8},
    {"sgemm_cached", 64, 64, 1, 8, 16}, {"sgemm_cached", 64, 128, 1, 16, 16},
};

static void check(cl_int status, const char *what) {
  if (status != CL_SUCCESS) {
    fprintf(stderr, "%s failed: %d\n", what, status);
    exit(1);
  }
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static char *read_file(const char *name) {
  FILE *file = fopen(name, "rb");
  if (!file) {
    perror(name);
    exit(1);
  }
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  char *text = calloc(size + 1, 1);
  if (fread(text, 1, size, file) != (size_t)size) {
    perror(name);
    exit(1);
  }
  fclose(file);
  return text;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

int main(int count, char **arguments) {
  if (count < 4) {
    fprintf(stderr, "usage: %s FILE.cl SIDE ROUNDS [VARIANT]\n", arguments[0]);
    return 1;
  }
  const char *source = read_file(arguments[1]);
  int side = atoi(arguments[2]);
  int rounds = atoi(arguments[3]);
  int only = count > 4 ? atoi(arguments[4]) : -1;
  cl_platform_id platform;
  cl_device_id device;
  cl_int status;
  check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
  char name[256], version[256];
  check(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, NULL), "clGetDeviceInfo");
  check(clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof version, version, NULL),
        "clGetPlatformInfo");
  printf("%s, %s, %d x %d\n", version, name, side, side);
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
  check(status, "clCreateContext");
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
  check(status, "clCreateCommandQueue");

  size_t elements = (size_t)side * side;
  float *a = malloc(elements * 4), *b = malloc(elements * 4), *c = malloc(elements * 4);
  srand(1);
  for (size_t i = 0; i < elements; i++) {
    a[i] = rand() / (float)RAND_MAX - 0.5f;
    b[i] = rand() / (float)RAND_MAX - 0.5f;
  }
  cl_mem da = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, elements * 4, a,
                             &status);
  check(status, "clCreateBuffer");
  cl_mem db = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, elements * 4, b,
                             &status);
  check(status, "clCreateBuffer");
  cl_mem dc = clCreateBuffer(context, CL_MEM_READ_WRITE, elements * 4, NULL, &status);
  check(status, "clCreateBuffer");

  for (int v = 0; v < (int)(sizeof VARIANTS / sizeof *VARIANTS); v++) {
    if (only >= 0 && v != only) {
      continue;
    }
    const variant *t = &VARIANTS[v];
    char options[256];
    snprintf(options, sizeof options,
             "-cl-fast-relaxed-math -DTILE_M=%d -DTILE_N=%d -DTILE_K=%d -DITEM_M=%d -DWIDTH=%d",
             t->tile_m, t->tile_n, t->tile_k, t->item_m, t->width);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    check(status, "clCreateProgramWithSource");
    check(clBuildProgram(program, 1, &device, options, NULL, NULL), "clBuildProgram");
    cl_kernel kernel = clCreateKernel(program, t->kernel, &status);
    check(status, "clCreateKernel");
    check(clSetKernelArg(kernel, 0, sizeof side, &side), "clSetKernelArg");
    check(clSetKernelArg(kernel, 1, sizeof side, &side), "clSetKernelArg");
    check(clSetKernelArg(kernel, 2, sizeof da, &da), "clSetKernelArg");
    check(clSetKernelArg(kernel, 3, sizeof db, &db), "clSetKernelArg");
    check(clSetKernelArg(kernel, 4, sizeof dc, &dc), "clSetKernelArg");
    int simple = strcmp(t->kernel, "sgemm_simple") == 0;
    size_t local[2] = {simple ? t->tile_m : t->tile_n / t->width,
                       simple ? t->tile_m : t->tile_m / t->item_m};
    size_t global[2] = {(size_t)side / t->tile_n * local[0], (size_t)side / t->tile_m * local[1]};
    double *seconds = calloc(rounds, sizeof *seconds);
    for (int round = -2; round < rounds; round++) { // two to warm up
      double start = now();
      check(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, global, local, 0, NULL, NULL),
            "clEnqueueNDRangeKernel");
      check(clFinish(queue), "clFinish");
      if (round >= 0) {
        seconds[round] = now() - start;
      }
    }
    check(clEnqueueReadBuffer(queue, dc, CL_TRUE, 0, elements * 4, c, 0, NULL, NULL),
          "clEnqueueReadBuffer");
    for (int sample = 0; sample < 100; sample++) {
      int row = rand() % side, column = rand() % side;
      double sum = 0;
      for (int l = 0; l < side; l++) {
        sum += (double)a[(size_t)row * side + l] * b[(size_t)l * side + column];
      }
      if (fabs(sum - c[(size_t)row * side + column]) > 1e-3) {
        fprintf(stderr, "variant %d is wrong at %d,%d\n", v, row, column);
        return 1;
      }
    }
    qsort(seconds, rounds, sizeof *seconds, by_value);
    double work = 2.0 * side * side * side * 1e-9;
    printf("%2d %-12s tile %dx%dx%d item %dx%d: best %.1f ms (%.1f GFLOP/s), median %.1f ms\n", v,
           t->kernel, t->tile_m, t->tile_n, t->tile_k, t->item_m, simple ? 1 : t->width,
           1e3 * seconds[0], work / seconds[0], 1e3 * seconds[rounds / 2]);
    fflush(stdout);
    free(seconds);
  }
  return 0;
}
