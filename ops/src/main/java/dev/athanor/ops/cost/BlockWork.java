package dev.athanor.ops.cost;

/**
 * The resource demands of a block, from which {@link Machine} computes cycles.
 *
 * @param threads per block
 * @param registers estimated registers per thread
 * @param sharedBytes static and dynamic shared memory
 * @param busy cycles of the busiest unit: tensor cores, FMA units, warp schedulers or shared memory
 * @param stalls cycles in which the block is idle: barriers and the latency of the first bytes
 * @param bytes bytes transferred from and to L2 or device memory
 * @param bytesInFlight outstanding bytes while the block reads
 */
public record BlockWork(
    int threads,
    int registers,
    int sharedBytes,
    double busy,
    double stalls,
    double bytes,
    double bytesInFlight) {}
