/*
 * NVIDIA's management library without a GPU, for the tests of the sensors: one GPU at 0000:3B:00.0, which has no ECC
 * of uncorrected errors and a driver that lacks nvmlDeviceGetEnforcedPowerLimit.
 */
#include <string.h>

enum { INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6 };

static int started, gpu;

#define DEVICE(d) do { if (!started || (d) != &gpu) return INVALID_ARGUMENT; } while (0)

int nvmlInit_v2(void) { started = 1; return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **device) {
    if (strcmp(id, "0000:3B:00.0")) return NOT_FOUND;
    *device = &gpu;
    return 0;
}
int nvmlDeviceGetUUID(void *device, char *uuid, unsigned length) {
    DEVICE(device);
    strncpy(uuid, "GPU-5f2c0d1e-0000-4000-8000-000000000001", length);
    return 0;
}
int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts) { DEVICE(device); *milliwatts = 312500; return 0; }
int nvmlDeviceGetUtilizationRates(void *device, unsigned *rates) { DEVICE(device); rates[0] = 87; rates[1] = 12; return 0; }
int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *memory) {
    DEVICE(device);
    memory[0] = 150754820096ull;
    memory[1] = 150754820096ull - 5000000000ull;
    memory[2] = 5000000000ull;
    return 0;
}
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius) {
    DEVICE(device);
    if (sensor) return INVALID_ARGUMENT;
    *celsius = 64;
    return 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules) { DEVICE(device); *millijoules = 7000000001500ull; return 0; }
int nvmlDeviceGetClockInfo(void *device, int clock, unsigned *megahertz) {
    DEVICE(device);
    *megahertz = clock == 1 ? 1980 : 2619;
    return 0;
}
int nvmlDeviceGetTotalEccErrors(void *device, int error, int counter, unsigned long long *count) {
    DEVICE(device);
    if (error || counter) return NOT_SUPPORTED;
    *count = 3;
    return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons) { DEVICE(device); *reasons = 0x44; return 0; }
