package dev.athanor.engine.device;

import dev.athanor.engine.ptx.Kernel;

/**
 * A kernel in machine code.
 *
 * @param cubin the module that contains it
 * @param kernel name, parameters and shared memory of the kernel; the body is empty
 */
@SuppressWarnings("ArrayRecordComponent") // read, never a key
public record KernelImage(byte[] cubin, Kernel kernel) {}
