package dev.athanor.ops.cost;

/**
 * The work of a block, in what a multiprocessor has to give. {@link Machine} computes the cycles.
 *
 * @param threads of the block
 * @param registers of a thread, estimated
 * @param sharedBytes static and dynamic shared memory
 * @param busy cycles for which its busiest unit works: tensor cores, lanes, warp schedulers or
 *     shared memory
 * @param stalls cycles in which the block itself computes nothing: barriers, and the wait for the
 *     first bytes
 * @param bytes that it reads and writes beyond shared memory
 * @param bytesInFlight bytes that it has requested and not yet received, while it reads
 */
public record BlockWork(
    int threads,
    int registers,
    int sharedBytes,
    double busy,
    double stalls,
    double bytes,
    double bytesInFlight) {}
