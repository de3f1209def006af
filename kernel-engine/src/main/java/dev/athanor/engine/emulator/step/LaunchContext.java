package dev.athanor.engine.emulator.step;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.memory.GlobalMemory;
import dev.athanor.engine.emulator.memory.Memory;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.ptx.Kernel;

/**
 * The part of a launch that its blocks see.
 *
 * @param kernel as executed
 * @param cluster the shape of a cluster in blocks
 * @param sharedBytes shared memory of a block, in bytes
 * @param constants the constant memory of the module
 * @param parameters the parameter memory, laid out as the kernel declares
 * @param memory the buffers that the launch may access
 * @param workspace the address of the memory in which the blocks of a cooperative launch
 *     synchronize; 0 = the launch is not cooperative
 * @param printed the output of the blocks
 */
public record LaunchContext(
    Kernel kernel,
    Dim3 grid,
    Dim3 block,
    Dim3 cluster,
    int sharedBytes,
    Memory constants,
    Memory parameters,
    GlobalMemory.Snapshot memory,
    EmulatorOptions options,
    long workspace,
    PrintBuffer printed) {}
