__global__ void invalid(float* x) { x[0] = missing; }
