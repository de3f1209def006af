package dev.athanor.ops;

import dev.athanor.engine.device.Buffer;

/**
 * A tensor in the memory of a device, from the first byte of a buffer that is at least as large.
 */
public record DeviceTensor(TensorType type, Buffer buffer) {}
